"""The points at which 0 / 0 in a derivative is 0, and those at which it is NaN."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps

norm = np.linalg.norm
Function = Callable[[Any], Any]


def matern(r: Any) -> Any:
    return (1 + r) * np.exp(-r)


UNKNOWN_SLOPES: dict[str, Function] = {
    "two roots": lambda x: np.sqrt(2 * x) * np.sqrt(3 * x),
    "a root in a loop": lambda x: ps.scan(lambda c, a: (c + np.sqrt(a), None), 0.0, x + np.zeros(2))[0] ** 2,
    "a fractional power": lambda x: (x ** (1 / 3)) ** 3,
    "a root with the sign of x": lambda x: np.sign(x) * np.sqrt(np.abs(x)),
    "a complex root": lambda x: (np.sqrt(x + 0j) ** 2).real,
}


@pytest.mark.parametrize("name", UNKNOWN_SLOPES)
def test_a_slope_that_the_composition_does_not_tell_is_nan(name: str) -> None:
    assert np.isnan(ps.grad(UNKNOWN_SLOPES[name])(0.0))


UNKNOWN: dict[str, Function] = {
    "norm": norm,
    "hypot": lambda x: np.hypot(x[0], x[1]),
    "arctan2": lambda x: np.arctan2(x[0], x[1]),
    "std": np.std,
    "norm of order 3": lambda x: norm(x, 3) ** 2,
    "norm of order 1.5": lambda x: norm(x, 1.5),
    "norm of order 1, squared": lambda x: norm(x, 1) ** 2,
    "largest size, squared": lambda x: norm(x, np.inf) ** 2,
    "Fair's loss": lambda x: np.sum(np.abs(x) - np.log1p(np.abs(x))),
    "exp(-|x|)": lambda x: np.sum(np.exp(-np.abs(x))),
    "a written softplus": lambda x: np.sum(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))),
    "a cached norm": lambda x: CACHED(x) ** 2,
    "norms of a scan": lambda x: np.sum(ps.scan(lambda c, r: (c, norm(r)), 0.0, x[None])[1] ** 2),
}
CACHED = ps.cached(lambda x: norm(x))


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_second_derivative_that_the_composition_does_not_tell_is_nan(name: str) -> None:
    function, x, v = UNKNOWN[name], np.zeros(2), np.array([1.0, 2.0])
    assert np.isnan(np.diag(ps.hessian(function)(x))).all()
    assert np.isnan(ps.hvp(function, (x,), v)).all()
    assert np.isnan(ps.grad(lambda x: np.sum(ps.grad(function)(x) * v))(x)).all()
    assert np.isfinite(ps.grad(function)(x)).all()


SMOOTH_SIZES: dict[str, Function] = {
    "a nonnegative value": lambda x: np.sum(np.abs(1 - np.cos(x))),
    "a product that is not negative": lambda x: np.sum(np.abs(x * np.sin(x))),
    "a square": lambda x: np.abs(x @ x),
    "a square in a loop": lambda x: ps.fori_loop(0, 1, lambda k, s: s + np.abs(x @ x), 0.0),
}


@pytest.mark.parametrize("name", SMOOTH_SIZES)
def test_the_size_of_what_touches_zero_has_no_second_derivative_of_zero(name: str) -> None:
    """Its slope is 0 there by chance: the true one is 1 or 2, which the slope's convention does not tell."""
    function, x, v = SMOOTH_SIZES[name], np.zeros(2), np.array([1.0, 2.0])
    assert np.isnan(np.diag(ps.hessian(function)(x))).all()
    assert np.isnan(ps.jvp(ps.grad(function), (x,), (v,))[1]).all()
    assert np.isnan(ps.grad(lambda x: ps.jvp(function, (x,), (v,))[1])(x)).all()


SIZES_IN_PRODUCTS: dict[str, Function] = {
    "a product of two sizes": lambda x: np.abs(x) @ np.abs(x),
    "an even function": lambda x: np.sum(np.abs(x) * np.tanh(np.abs(x))),
    "sinc": lambda x: np.sum(np.sinc(np.abs(x))),
    "the norm of order 1, squared": lambda x: norm(x, 1) ** 2,
}


@pytest.mark.parametrize("name", SIZES_IN_PRODUCTS)
def test_the_gradient_of_a_tangent_of_a_product_with_a_size_is_unknown(name: str) -> None:
    function, x, v = SIZES_IN_PRODUCTS[name], np.zeros(2), np.array([1.0, 2.0])
    assert np.isnan(ps.grad(lambda x: ps.jvp(function, (x,), (v,))[1])(x)).all()


def test_a_kink_whose_slope_varies_has_a_second_derivative_of_zero() -> None:
    """|tanh(W x)| at 0: its sides have slopes that are not 0, and curvatures that are."""
    weights = np.array([[1.0, 2.0], [3.0, 4.0]])
    found = ps.hessian(lambda x: np.sum(np.abs(np.tanh(weights @ x))))(np.zeros(2))
    np.testing.assert_array_equal(found, np.zeros((2, 2)))


ROWS = np.array([[0.0, 0.0], [3.0, 4.0]])
KEPT = np.array([False, True])
OF_SECOND_ROW = np.array([[1.744, 0.192], [0.192, 1.856]])
"""The second derivative of (norm - 1)**2 at (3, 4): 2 u u' + 2 (1 - 1 / 5) (I - u u') with u = (3, 4) / 5."""
MASKED: dict[str, Function] = {
    "a choice": lambda x: np.sum(np.where(KEPT, (norm(x, axis=1) - 1) ** 2, 0)),
    "a factor": lambda x: np.sum(KEPT * (norm(x, axis=1) - 1) ** 2),
    "a choice before": lambda x: np.sum(KEPT * (np.where(KEPT, norm(x, axis=1), 2.0) - 1) ** 2),
    "elements taken": lambda x: np.sum((norm(x, axis=1)[1:] - 1) ** 2),
    "a choice of a written root": lambda x: np.sum(np.where(KEPT, (np.sqrt(np.sum(x**2, axis=1)) - 1) ** 2, 0)),
}


@pytest.mark.parametrize("name", MASKED)
def test_rows_that_are_left_out_have_a_second_derivative_of_zero(name: str) -> None:
    expected = np.zeros((2, 2, 2, 2))
    expected[1, :, 1] = OF_SECOND_ROW
    np.testing.assert_allclose(ps.hessian(MASKED[name])(ROWS), expected, atol=1e-12)


def test_one_zero_row_leaves_the_second_derivatives_of_others_as_they_are() -> None:
    found = ps.hessian(lambda x: np.sum(norm(x, axis=1)))(ROWS)
    assert np.isnan(found[0, :, 0]).all()
    np.testing.assert_array_equal(found[0, :, 1], 0.0)
    np.testing.assert_allclose(found[1, :, 1], [[0.128, -0.096], [-0.096, 0.072]], atol=1e-15)


def test_pairwise_springs_with_a_masked_diagonal_have_their_hessian() -> None:
    """That of two points at (0, 0) and (3, 4), each of the pairs counted twice."""
    eye = np.eye(2, dtype=bool)

    def energy(x: Any) -> Any:
        return np.sum(np.where(eye, 0.0, (norm(x[:, None] - x[None], axis=-1) - 1) ** 2))

    found = ps.hessian(energy)(ROWS)
    signs = np.array([[1.0, -1.0], [-1.0, 1.0]])
    np.testing.assert_allclose(found, 2 * np.einsum("ab,ij->aibj", signs, OF_SECOND_ROW), atol=1e-12)


FIRST: dict[str, tuple[Function, Any]] = {
    "a norm": (lambda x: np.sum(norm(x, axis=1)), [[0, 0], [0.6, 0.8]]),
    "a reciprocal that is masked": (
        lambda x: np.sum(np.where(KEPT, 1 / norm(x, axis=1), 0)),
        [[0, 0], [-0.024, -0.032]],
    ),
    "a masked root": (lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0)), [[0, 0], [0.5 / 3**0.5, 0.25]]),
    "a root times 0": (lambda x: np.sum(KEPT[:, None] * np.sqrt(x)), [[0, 0], [0.5 / 3**0.5, 0.25]]),
    "a masked square of a root": (
        lambda x: np.sum(np.where(KEPT[:, None], (np.sqrt(x) - 1) ** 2, 0)),
        [[0, 0], [1 - 3**-0.5, 0.5]],
    ),
    "Matern's kernel of a written root": (
        lambda x: np.sum(matern(np.sqrt(np.sum(x**2, axis=1)))),
        [[0, 0], [-3 * np.exp(-5.0), -4 * np.exp(-5.0)]],
    ),
    "steps of Adam": (lambda x: np.sum(x / (np.sqrt(x * x) + 1.0)), [[1, 1], [1 / 16, 1 / 25]]),
}


@pytest.mark.parametrize("name", FIRST)
def test_first_derivatives_keep_their_conventions(name: str) -> None:
    function, expected = FIRST[name]
    np.testing.assert_allclose(ps.grad(function)(ROWS), expected, rtol=1e-12)


def test_a_sum_of_sizes_has_a_second_derivative_of_zero() -> None:
    """|x| is a straight line on both sides, as relu is."""
    np.testing.assert_array_equal(ps.hessian(lambda x: np.sum(np.abs(x)))(np.array([0.0, 1.0])), np.zeros((2, 2)))


def test_a_gradient_penalty_keeps_the_slope_of_a_norm() -> None:
    def penalty(w: Any) -> Any:
        return (norm(ps.grad(lambda x: np.sum(w * x**2))(np.zeros(2))) - 1) ** 2

    np.testing.assert_array_equal(ps.grad(penalty)(np.ones(2)), [0.0, 0.0])


X = np.array([0.0, 1.0, 4.0])
HALF = np.array([0.0, 0.5, 0.25])
"""The slopes of sqrt at X, 0 where a mask leaves it out."""
CLOSED: dict[str, Function] = {
    "a checkpoint": lambda x: ps.checkpoint(np.sqrt)(x),
    "a checkpoint in a checkpoint": lambda x: ps.checkpoint(lambda x: 1.0 * ps.checkpoint(np.sqrt)(x))(x),
    "a cached function": lambda x: ps.cached(np.sqrt)(x),
    "a primitive that stays a call": lambda x: ps.primitive(np.sqrt, inline=False, name="root")(x),
    "a map": lambda x: ps.map(np.sqrt, x),
    "a map of a checkpoint": lambda x: ps.map(ps.checkpoint(np.sqrt), x),
    "a checkpoint of a map": lambda x: ps.checkpoint(lambda x: ps.map(np.sqrt, x))(x),
    "a map from the end": lambda x: ps.scan(lambda c, k: (c, np.sqrt(k)), 0.0, x[::-1])[1][::-1],
    "a scan": lambda x: ps.scan(lambda c, k: (c + k, np.sqrt(k)), 0.0, x)[1],
    "a batch": lambda x: ps.vmap(ps.checkpoint(np.sqrt))(x),
}


@pytest.mark.parametrize("name", CLOSED)
def test_a_mask_is_seen_from_inside_of_a_call_and_of_a_loop(name: str) -> None:
    roots = CLOSED[name]
    np.testing.assert_array_equal(ps.grad(lambda x: np.sum(np.where(x > 0, roots(x), 0)))(X), HALF)
    np.testing.assert_array_equal(ps.grad(lambda x: np.sum(roots(x)[1:]))(X), HALF)
    np.testing.assert_array_equal(ps.grad(lambda x: np.sum((x > 0) * roots(x)))(X), HALF)


@pytest.mark.parametrize("name", CLOSED)
def test_a_square_outside_of_a_call_or_a_loop_has_its_slope_or_nan(name: str) -> None:
    slopes = ps.grad(lambda x: np.sum(CLOSED[name](x) ** 2))(X)
    assert np.isnan(slopes[0]) or slopes[0] == 1.0
    np.testing.assert_allclose(slopes[1:], 1.0)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x[0] * np.sqrt(x[1]), [0.0, 0.0]),
        (lambda x: x[0] ** 2 * np.sqrt(x[-1]), [0.0, 0.0]),
        (lambda x: x[0] * np.cbrt(x[1]), [0.0, 0.0]),
        (lambda x: x[1] * np.sqrt(x[1]), [0.0, np.nan]),
        (lambda x: np.sum(x) * np.sqrt(x[1]), [0.0, np.nan]),
    ],
)
def test_a_root_times_another_element_is_0_where_that_is(function: Function, expected: list[float]) -> None:
    """The product is 0 along the axis of the root, and so is its partial derivative."""
    np.testing.assert_array_equal(ps.grad(function)(np.zeros(2)), expected)
