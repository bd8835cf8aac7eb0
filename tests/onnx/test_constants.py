"""Nodes, or operators, of a model that are taken for constants: no derivative goes through them."""

from pathlib import Path

import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.ir.errors import SpecError
from tests.onnx.jumping import TRANSFORMS, W, X, saved


@pytest.mark.parametrize("name", TRANSFORMS)
def test_what_is_taken_for_a_constant_has_none_in_any(name: str, tmp_path: Path) -> None:
    model = ps.load(saved("TreeEnsembleRegressor", tmp_path), constant=["step"])
    found = TRANSFORMS[name](lambda x: model(x, W), X)
    *_, derivative = found if isinstance(found, tuple) else (found,)
    assert not np.any(derivative)


@pytest.mark.parametrize("name", ["step", "TreeEnsembleRegressor", "ai.onnx.ml::TreeEnsembleRegressor"])
def test_a_constant_is_named_by_its_node_or_its_operator(name: str, tmp_path: Path) -> None:
    made = ps.split(ps.load(saved("TreeEnsembleRegressor", tmp_path), constant=[name]), wrt=["x", "w"])
    _, by_x, by_w = made.joint()(X, W, np.ones((2, 2), np.float32))
    np.testing.assert_array_equal(by_x, np.zeros_like(X))
    np.testing.assert_array_equal(by_w, [3.0, 5.0])
    (row,) = made.zero_table()
    assert row["through"] == ["stop_gradient at pipeline.onnx:2 in step"]


def test_a_differentiable_node_may_be_a_constant_too(tmp_path: Path) -> None:
    model = ps.load(saved("TreeEnsembleRegressor", tmp_path), constant=["Scaler"])
    assert not np.any(ps.split(model, wrt="x").joint()(X, W, np.ones((2, 2), np.float32))[1])


def test_the_tensors_of_a_sequence_are_constants_where_its_node_is(tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["": 18]>
        listed (float[2] x) => (float y) {
            [pair] both = SequenceConstruct(x, x)
            one = Constant<value = int64 {1}>()
            second = SequenceAt(both, one)
            product = Mul(second, x)
            y = ReduceSum<keepdims = 0>(product)
        }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "listed.onnx")
    x = np.array([2.0, 3.0], np.float32)
    np.testing.assert_array_equal(ps.grad(ps.load(tmp_path / "listed.onnx"))(x), 2 * x)
    np.testing.assert_array_equal(ps.grad(ps.load(tmp_path / "listed.onnx", constant=["pair"]))(x), x)


def test_a_constant_that_no_node_is_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no node and no operator Floor"):
        ps.load(saved("TreeEnsembleRegressor", tmp_path), constant=["step", "Floor"])
