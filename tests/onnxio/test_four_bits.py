"""Weights of four bits: read packed, and kept so in the file that is written."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import primsplit as ps
from primsplit.errors import DtypeError

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


def test_an_input_of_four_bits_is_refused_where_python_cannot_give_it(tmp_path: Path) -> None:
    path = str(tmp_path / "model.onnx")
    onnx.save(model(READINGS["a cast"], TensorProto.INT4, is_input=True), path)
    program = ps.load(path)
    weights = WEIGHTS.astype(program.types[1].dtype)
    with pytest.raises(DtypeError, match="w is an array of int4"):
        program(np.ones((1, 4), np.float32), weights)
