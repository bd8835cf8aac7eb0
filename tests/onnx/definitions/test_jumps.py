"""A derivative through a model whose value jumps is refused by name, or 0 where that is taken for a constant."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.ir.errors import MissingRule
from tests.onnx.jumping import STEPS, TRANSFORMS, W, X, saved


@pytest.mark.parametrize("name", STEPS)
def test_a_gradient_through_it_is_refused_with_its_name_its_node_and_the_ways_out(name: str, tmp_path: Path) -> None:
    model = ps.load(saved(name, tmp_path))
    with pytest.raises(MissingRule) as caught:
        ps.split(model, wrt="x")
    told = str(caught.value)
    assert told.startswith(f"{name} has no derivative: its value is")
    assert STEPS[name][1] in told
    assert "at pipeline.onnx:2 in step" in told
    assert "because it depends on x" in told
    assert f'constant=["{name}"]' in told
    assert f"--constant {name}" in told


@pytest.mark.parametrize("name", TRANSFORMS)
def test_so_is_every_other_derivative(name: str, tmp_path: Path) -> None:
    model = ps.load(saved("TreeEnsembleRegressor", tmp_path))
    with pytest.raises(MissingRule, match="TreeEnsembleRegressor has no derivative"):
        TRANSFORMS[name](lambda x: model(x, W), X)


def test_what_does_not_go_through_it_is_differentiated(tmp_path: Path) -> None:
    model = ps.load(saved("TreeEnsembleRegressor", tmp_path))
    np.testing.assert_array_equal(model(X, W), [[6.0, 0.0], [0.0, 20.0]])
    slope = ps.split(model, wrt="w").joint()(X, W, np.ones((2, 2), np.float32))[1]
    np.testing.assert_array_equal(slope, [3.0, 5.0])
    slope = ps.grad(lambda x: np.sum(x**2) + np.sum(ps.stop_gradient(model(x, W))))(X)
    np.testing.assert_array_equal(slope, 2 * X)
    slope = ps.grad(lambda x: np.sum(x * model(ps.stop_gradient(x), W)))(X)
    np.testing.assert_array_equal(slope, model(X, W))


def test_the_sign_of_a_machine_of_one_class_is_refused_and_its_score_is_not(tmp_path: Path) -> None:
    text = """<ir_version: 10, opset_import: ["": 21, "ai.onnx.ml": 3]>
        machine (float[N, 2] x) => (float y) {
            scores = ai.onnx.ml.SVMRegressor<coefficients = [2.0, 3.0], rho = [1.0], one_class = %d>(x)
            y = ReduceSum<keepdims = 0>(scores)
        }"""
    slopes: dict[int, Any] = {}
    for one_class in (0, 1):
        onnx.save(onnx.parser.parse_model(text % one_class), tmp_path / "machine.onnx")
        slopes[one_class] = ps.grad(ps.load(tmp_path / "machine.onnx"))
    np.testing.assert_array_equal(slopes[0](X), [[2.0, 3.0], [2.0, 3.0]])
    with pytest.raises(MissingRule, match="SVMRegressor has no derivative: of one class, its value is a sign"):
        slopes[1](X)
