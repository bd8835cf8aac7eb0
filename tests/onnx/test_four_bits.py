"""Weights and inputs of four and eight bits: read packed, and kept so in the file that is written."""

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import primsplit as ps

WEIGHTS = np.array([[1, 2], [3, 4], [5, 6], [7, 0]], np.float32)
READINGS = {
    "a cast": [helper.make_node("Cast", ["w"], ["f"], to=TensorProto.FLOAT)],
    "a cast to float16": [
        helper.make_node("Cast", ["w"], ["half"], to=TensorProto.FLOAT16),
        helper.make_node("Cast", ["half"], ["f"], to=TensorProto.FLOAT),
    ],
    "one scale": [helper.make_node("DequantizeLinear", ["w", "one"], ["f"])],
    "a scale a block": [helper.make_node("DequantizeLinear", ["w", "blocks"], ["f"], axis=0, block_size=2)],
    "transposed": [
        helper.make_node("Transpose", ["w"], ["t"]),
        helper.make_node("DequantizeLinear", ["t", "one"], ["g"]),
        helper.make_node("Transpose", ["g"], ["f"]),
    ],
}


def model(nodes: list[onnx.NodeProto], dtype: int, *, is_input: bool = False) -> onnx.ModelProto:
    """x @ w, the weights read by these nodes."""
    weights = helper.make_tensor("w", dtype, [4, 2], WEIGHTS.ravel())
    scales = [
        helper.make_tensor("one", TensorProto.FLOAT, [], [1.0]),
        helper.make_tensor("blocks", TensorProto.FLOAT, [2, 2], np.ones(4)),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])]
    inputs += [helper.make_tensor_value_info("w", dtype, [4, 2])] if is_input else []
    graph = helper.make_graph(
        [*nodes, helper.make_node("MatMul", ["x", "f"], ["y"])],
        "g",
        inputs,
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 2])],
        scales if is_input else [*scales, weights],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize("dtype", [TensorProto.INT4, TensorProto.UINT4])
@pytest.mark.parametrize("reading", READINGS)
def test_weights_of_four_bits_are_read(reading: str, dtype: int, tmp_path: Path) -> None:
    path, out = str(tmp_path / "model.onnx"), str(tmp_path / "gradient.onnx")
    onnx.save(model(READINGS[reading], dtype), path)
    made = ps.split(ps.load(path), wrt="x")
    made.save(out)
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    value, gradient = made.joint()(x, np.ones((2, 2), np.float32))
    np.testing.assert_array_equal(value, x @ WEIGHTS)
    np.testing.assert_array_equal(gradient, np.ones((2, 2)) @ WEIGHTS.T)
    assert dtype in {t.data_type for t in onnx.load(out).graph.initializer}


NARROW = ("int4", "uint4", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("reading", ["a cast", "one scale", "a scale a block"])
def test_an_input_of_four_or_eight_bits_is_given_from_python(reading: str, name: str, tmp_path: Path) -> None:
    path = str(tmp_path / "model.onnx")
    dtype = np.dtype(getattr(ml_dtypes, name))
    onnx.save(model(READINGS[reading], helper.np_dtype_to_tensor_dtype(dtype), is_input=True), path)
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    joint = ps.split(ps.load(path), wrt="x").joint()
    value, gradient = joint(x, WEIGHTS.astype(dtype), np.ones((2, 2), np.float32))
    np.testing.assert_array_equal(value, x @ WEIGHTS)
    np.testing.assert_array_equal(gradient, np.ones((2, 2)) @ WEIGHTS.T)


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("size", [0, 1, 5])
def test_a_result_of_four_or_eight_bits_is_an_array_of_its_dtype(size: int, name: str, tmp_path: Path) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name))
    number = helper.np_dtype_to_tensor_dtype(dtype)
    graph = helper.make_graph(
        [helper.make_node("Cast", ["x"], ["y"], to=number)],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N"])],
        [helper.make_tensor_value_info("y", number, ["N"])],
    )
    path = str(tmp_path / "model.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    x = np.array([1, 0, 3, 7, 2], np.float32)[:size] * (1 if name == "uint4" else -1)
    found = ps.load(path)(x)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.astype(np.float32), x)


@pytest.mark.parametrize("name", ["int4", "float8_e4m3fn"])
def test_the_gradient_of_a_scale_of_few_bits_is_the_sum_of_what_it_scales(name: str, tmp_path: Path) -> None:
    path = str(tmp_path / "model.onnx")
    dtype = np.dtype(getattr(ml_dtypes, name))
    onnx.save(model(READINGS["one scale"], helper.np_dtype_to_tensor_dtype(dtype), is_input=True), path)
    program = ps.load(path)
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    joint = ps.split(program, wrt="one").joint()
    feeds = {"x": x, "w": WEIGHTS.astype(dtype), "d_y": np.ones((2, 2), np.float32)}
    session = joint.session()
    gradient = session.run({name: feeds[name] for name in session.inputs if name in feeds})[-1]
    np.testing.assert_allclose(gradient, (np.ones((2, 2)) * (x @ WEIGHTS)).sum())
