"""A sparse initializer or constant is the tensor that it stands for, wherever in the model it is."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import primsplit as ps
from tests.onnx.edits import linear, node, with_nodes, written

X = np.array([[1.0, 2.0, 3.0]], np.float32)


def sparse(name: str, numbers: list[float], indices: object, dims: list[int]) -> onnx.SparseTensorProto:
    values = numpy_helper.from_array(np.array(numbers, np.float32), name)
    return helper.make_sparse_tensor(values, numpy_helper.from_array(np.array(indices)), dims)


@pytest.mark.parametrize("indices", [[1, 4], [[0, 1], [2, 0]]], ids=["counted", "by rows"])
def test_a_sparse_initializer_is_a_weight(indices: object, tmp_path: Path) -> None:
    model = linear()
    del model.graph.initializer[:]
    model.graph.sparse_initializer.append(sparse("W", [0.5, -0.25], indices, [3, 2]))
    program = ps.load(written(tmp_path, model))
    whole = np.array([[0, 0.5], [0, 0], [-0.25, 0]], np.float32)
    np.testing.assert_array_equal(np.asarray(program.params["W"]), whole)
    expected = onnxruntime.InferenceSession(str(tmp_path / "model.onnx")).run(None, {"x": X})[0]
    made = ps.split(program, wrt=["x", "W"], seed="ones").joint()
    y, d_x, d_w = made(X, whole)
    np.testing.assert_allclose(y, expected, rtol=1e-6)
    np.testing.assert_allclose(d_x, (1 - expected**2) @ whole.T, rtol=1e-6)
    np.testing.assert_allclose(d_w, X.T @ (1 - expected**2), rtol=1e-6)


def test_a_sparse_constant_may_lie_in_a_branch(tmp_path: Path) -> None:
    model = linear()
    constant = helper.make_node("Constant", [], ["c"], sparse_value=sparse("", [3.0], [1], [3]))
    result = [helper.make_tensor_value_info("r", 1, None)]
    branch = helper.make_graph([constant, node("Mul", "x c", "r")], "scaled", [], result)
    other = helper.make_graph([node("Neg", "x", "r")], "negative", [], result)
    with_nodes(
        node("ReduceSum", "x", "s", keepdims=0),
        node("Cast", "s", "b", to=onnx.TensorProto.BOOL),
        node("If", "b", "y", then_branch=branch, else_branch=other),
    )(model)
    gradient = ps.split(ps.load(written(tmp_path, model)), wrt="x", seed="ones").joint()
    np.testing.assert_array_equal(gradient(X)[1], [[0, 3, 0]])
    np.testing.assert_array_equal(gradient(0 * X)[1], [[-1, -1, -1]])
