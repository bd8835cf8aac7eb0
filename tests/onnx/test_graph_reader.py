"""The nodes of a graph are recorded by the definitions of their version, or named where there is none."""

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnx.parser
import onnx.reference
import pytest
from onnx import helper

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from tests.onnx.layers import layer, saved

rng = np.random.default_rng(11)


@pytest.mark.parametrize("kind", ["Sin", "Softplus", "Celu", "Round"])
def test_a_bfloat16_that_only_a_newer_opset_admits_goes_through_float32(kind: str, tmp_path: Path) -> None:
    inputs = [helper.make_tensor_value_info("x", onnx.TensorProto.BFLOAT16, ["N"])]
    outputs = [helper.make_tensor_value_info("y", onnx.TensorProto.BFLOAT16, ["N"])]
    path = saved(tmp_path, [helper.make_node(kind, ["x"], ["y"])], opset=28, inputs=inputs, outputs=outputs)
    x = np.array([-1.5, 0.25, 2.0]).astype(ml_dtypes.bfloat16)
    (expected,) = onnx.reference.ReferenceEvaluator(path).run(None, {"x": x.astype(np.float32)})
    found = ps.load(path)(x)
    assert found.dtype == x.dtype
    np.testing.assert_allclose(found.astype(np.float32), expected, rtol=1e-2)


def test_nodes_inside_a_branch_of_a_newer_opset_are_read_by_definitions(tmp_path: Path) -> None:
    def branch(kind: str) -> onnx.GraphProto:
        nodes = [helper.make_node(kind, ["x"], ["s"]), helper.make_node("ReduceSum", ["s"], ["r"], keepdims=0)]
        return helper.make_graph(nodes, kind, [], [helper.make_tensor_value_info("r", 1, [])])

    nodes = [helper.make_node("If", ["c"], ["y"], then_branch=branch("Swish"), else_branch=branch("Tanh"))]
    inputs = [helper.make_tensor_value_info("x", 1, ["N", 3]), helper.make_tensor_value_info("c", 9, [])]
    program = ps.load(saved(tmp_path, nodes, opset=26, inputs=inputs))
    x = rng.standard_normal((2, 3)).astype(np.float32)
    np.testing.assert_allclose(program(x, np.array(True)), np.sum(x / (1 + np.exp(-x))), rtol=1e-5)
    np.testing.assert_allclose(program(x, np.array(False)), np.sum(np.tanh(x)), rtol=1e-5)


def test_an_operator_that_became_another_is_named_with_its_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("primsplit.onnx.graph_reader.definition_of", lambda *_: None)
    nodes = [helper.make_node("Cast", ["x"], ["c"], to=1, name="cast_3"), *layer()]
    with pytest.raises(UnsupportedFunction, match="node cast_3 is Cast of opset 28, which is another operator"):
        ps.load(saved(tmp_path, nodes, opset=28))


def test_an_operator_outside_the_standard_is_named_with_its_node(tmp_path: Path) -> None:
    nodes = [helper.make_node("FusedThing", ["x"], ["f"], name="fuse_7", domain="com.example"), *layer()]
    model = onnx.load(saved(tmp_path, nodes))
    model.opset_import.append(helper.make_opsetid("com.example", 1))
    path = tmp_path / "foreign.onnx"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(UnsupportedFunction, match=r"node fuse_7 is com\.example::FusedThing"):
        ps.load(str(path))


@pytest.mark.parametrize("rounding", ["floor", "ceil"])
def test_tensorflows_nearest_neighbours_are_those_of_its_formula(rounding: str, tmp_path: Path) -> None:
    """Place i of n reads (i + 1/2) old / n, rounded; tf2onnx writes this mode at every opset."""
    how = {"coordinate_transformation_mode": "tf_half_pixel_for_nn", "mode": "nearest", "nearest_mode": rounding}
    nodes = [
        helper.make_node("Constant", [], ["sizes"], value_ints=[1, 7]),
        helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], **how),
    ]
    ends = [helper.make_tensor_value_info(name, 11, None) for name in "xy"]
    model = ps.load(saved(tmp_path, nodes, inputs=ends[:1], outputs=ends[1:]), specs={"x": "f64[1,4]"})
    places = [min(int(getattr(np, rounding)((i + 0.5) * 4 / 7)), 3) for i in range(7)]
    x, dy = np.array([[1.0, 2.0, 4.0, 8.0]]), np.arange(7.0)[None]
    value, gradient = ps.split(model).joint()(x, dy)
    np.testing.assert_array_equal(value, x[:, places])
    np.testing.assert_array_equal(gradient[0], np.bincount(places, dy[0], 4))
