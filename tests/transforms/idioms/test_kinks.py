"""Files that hold a norm, a root or their derivatives, loaded and differentiated at 0: the true slope, or NaN."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from scipy.spatial.distance import cdist

import primsplit as ps
from primsplit.ir import Block, Op, Type, Var
from primsplit.ops import op
from primsplit.tracing import inline
from primsplit.tracing.array import Array
from primsplit.transforms.idioms.kinks import recognize_kinks
from tests.onnx.edits import remark

EYE = np.eye(2)
SPREAD = np.array([[0.5, -0.5], [-0.5, 0.5]])
ZERO = np.zeros((1, 2))
Function = Callable[[Any], Any]

SMOOTH: dict[str, tuple[Function, Any]] = {
    "the square of a norm": (lambda x: np.linalg.norm(x) ** 2, 2 * EYE),
    "the exponential of a squared norm": (lambda x: np.exp(-(np.linalg.norm(x) ** 2)), -2 * EYE),
    "the cosine of a norm": (lambda x: np.cos(np.linalg.norm(x)), -EYE),
    "the square of a distance": (lambda x: cdist(x[None], ZERO)[0, 0] ** 2, 2 * EYE),
    "the square of a hypotenuse": (lambda x: np.hypot(x[0], x[1]) ** 2, 2 * EYE),
    "the square of a standard deviation": (lambda x: np.std(x) ** 2, SPREAD),
    "squares of sizes": (lambda x: np.sum(np.abs(x) ** 2), 2 * EYE),
    "squares of the larger of both signs": (lambda x: np.sum(np.maximum(x, -x) ** 2), 2 * EYE),
    "squares of products with the sign": (lambda x: np.sum((np.sign(x) * x) ** 2), 2 * EYE),
    "products with the sign twice, one after the other": (lambda x: np.sum(np.sign(x) * x * np.sign(x) * x), 2 * EYE),
    "squares and squares of the sign": (lambda x: np.sum(3.0 * x * x * (np.sign(x) * np.sign(x))), 6 * EYE),
    "a size, and a product with the sign": (lambda x: np.sum(np.abs(x) * (x * 2.0) * np.sign(x)), 4 * EYE),
    "cubes of cube roots": (lambda x: np.sum(np.cbrt(x) ** 3 * x), 2 * EYE),
    "fourth powers of roots": (lambda x: np.sum(np.sqrt(x) ** 4), 2 * EYE),
}
"""Functions and their second derivatives at 0."""
KINKS: dict[str, Function] = {
    "a norm": np.linalg.norm,
    "a norm of order 3": lambda x: np.linalg.norm(x, 3),
    "the exponential of a norm": lambda x: np.exp(-np.linalg.norm(x)),
    "the exponential of sizes": lambda x: np.exp(-np.sum(np.abs(x))),
    "a standard deviation": np.std,
    "a distance": lambda x: cdist(x[None], ZERO)[0, 0],
    "the exponential of a distance": lambda x: np.exp(-cdist(x[None], ZERO)[0, 0]),
    "a hypotenuse": lambda x: np.hypot(x[0], x[1]),
    "roots of sizes": lambda x: np.sum(np.sqrt(np.abs(x))),
}
"""Functions that have no second derivative at 0."""
ALL = {**SMOOTH, **{name: (function, None) for name, function in KINKS.items()}}


def _loaded(function: Function, path: Path, dtype: Any = float) -> Any:
    """A file of the function, which says nothing of its nodes, as other programs leave it."""
    ps.trace(function, np.zeros(2, dtype)).save(path)
    model = onnx.load(path)
    remark(model.graph, None)
    onnx.save(model, path)
    return ps.load(path)


def _check(found: Any, wanted: Any) -> None:
    found = np.asarray(found)
    if wanted is None:
        assert not np.isfinite(found).all(), found
    else:
        assert np.all(np.isnan(found) | np.isclose(found, wanted)), found


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_gradient_in_a_file_has_the_true_derivative_at_0_or_nan(name: str, dtype: Any, tmp_path: Path) -> None:
    function, wanted = ALL[name]
    gradient = _loaded(lambda x: ps.grad(function)(x), tmp_path / "gradient.onnx", dtype)
    x, v = np.zeros(2, dtype), np.array([1, 2], dtype)
    along = None if wanted is None else wanted @ v
    _check(ps.jacobian(lambda x: gradient(x))(x), wanted)
    _check(ps.grad(lambda x: np.sum(gradient(x) * v))(x), along)
    _check(ps.jvp(lambda x: gradient(x), (x,), (v,))[1], along)


@pytest.mark.parametrize("name", ALL)
def test_a_function_in_a_file_has_the_true_second_derivative_at_0_or_nan(name: str, tmp_path: Path) -> None:
    function, wanted = ALL[name]
    loaded = _loaded(function, tmp_path / "function.onnx")
    _check(ps.hessian(lambda x: loaded(x))(np.zeros(2)), wanted)


@pytest.mark.parametrize("name", ["a norm", "a hypotenuse", "a standard deviation", "a distance"])
def test_a_function_in_a_file_keeps_the_first_derivative_at_0(name: str, tmp_path: Path) -> None:
    loaded = _loaded(KINKS[name], tmp_path / "function.onnx")
    np.testing.assert_array_equal(ps.grad(lambda x: loaded(x))(np.zeros(2)), [0, 0])


@pytest.mark.parametrize("name", ALL)
def test_what_is_recognized_has_the_same_derivatives_elsewhere(name: str, tmp_path: Path) -> None:
    """Against central differences of the gradient."""
    function, _ = ALL[name]
    gradient = _loaded(lambda x: ps.grad(function)(x), tmp_path / "gradient.onnx")
    x, h = np.array([0.3, 0.7]), 1e-5
    wanted = [(gradient(x + h * e) - gradient(x - h * e)) / (2 * h) for e in EYE]
    np.testing.assert_allclose(ps.jacobian(lambda x: gradient(x))(x), np.transpose(wanted), rtol=1e-6, atol=1e-8)


def test_a_division_that_a_user_guards_keeps_its_derivative_of_0(tmp_path: Path) -> None:
    def guarded(x: Any) -> Any:
        return np.sum(np.where(x == 0, 0.0, 2.0 / np.where(x == 0, 1.0, x)))

    loaded = _loaded(guarded, tmp_path / "guarded.onnx")
    np.testing.assert_array_equal(ps.grad(lambda x: loaded(x))(np.array([0.0, 1.0])), [0, -2])


def test_whole_numbers_are_divided_and_cut_as_they_are(tmp_path: Path) -> None:
    def whole(x: Any) -> Any:
        n = op.Cast(x, to=np.int64)
        return np.sum(
            x * op.Cast(op.Add(op.Div(n, op.Max(n, np.int64(1))), op.Clip(op.Mul(n, n), 0, 9)), to=np.float64)
        )

    loaded = _loaded(whole, tmp_path / "whole.onnx")
    np.testing.assert_array_equal(ps.grad(lambda x: loaded(x))(np.array([2.5, 4.5])), [5, 10])


def test_an_op_without_results_is_left_alone() -> None:
    """A batch has such calls where examples of different sizes are written to."""
    x, given, y = (Var(Type("float64", (3,))) for _ in range(3))
    nothing = Op("call::nothing", (x,), (), {"body": Block("nothing", (given,), (), ())})
    block = Block("f", (x,), (nothing, Op("Mul", (x, x), (y,), {})), (y,))
    assert recognize_kinks(block) is block


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: np.where(x > 0, y * y, -y * y),
        lambda x, y: np.where(x < 0, y - 1, 1 - y),
        lambda x, y: np.where(x <= 0, -2.0 * y, y * 2.0),
    ],
)
def test_a_value_or_its_negative_is_a_product_with_a_sign(function: Any) -> None:
    x, y = np.array([-1.0, -0.0, 0.0, 2.0, np.nan]), np.array([3.0, -4.0, 5.0, np.inf, 6.0])
    block = ps.trace(function, x, y).block
    found = recognize_kinks(block)
    assert found.ops[-1].kind == "Mul"
    rewritten = ps.trace(lambda x, y: Array(inline(found, [x.value, y.value])[0]), x, y)
    np.testing.assert_array_equal(rewritten(x, y), function(x, y))


def test_a_choice_by_another_number_stays() -> None:
    block = ps.trace(lambda x, y: np.where(x > 1, y, -y), 1.0, 1.0).block
    assert recognize_kinks(block) is block


def test_the_slope_of_a_size_is_1_for_the_smallest_numbers_of_float16(tmp_path: Path) -> None:
    """The sign of a number is the number times a large one, bounded: 65504 times 1e-6 is not enough."""
    x = np.arange(-1100, 1101).astype(np.int16)
    x = np.where(x < 0, -np.abs(x).view(np.float16), np.abs(x).view(np.float16)).astype(np.float16)
    gradient = ps.grad(lambda x: np.sum(np.abs(x)))(x)
    np.testing.assert_array_equal(gradient, np.sign(x))
    loaded = _loaded(lambda x: ps.grad(lambda x: np.sum(np.abs(x) * x[0]))(x), tmp_path / "gradient.onnx", np.float16)
    assert np.isnan(ps.grad(lambda x: loaded(x)[1])(np.array([1, 0], np.float16))).any()
