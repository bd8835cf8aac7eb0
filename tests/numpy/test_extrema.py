"""np.max and np.min of floats: one call, one line of a listing, NumPy's values, evenly shared gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from tests.recording import kinds

ROWS = np.array(
    [[1.0, 3, 3], [2, 2, 2], [np.nan, 1, 2], [np.inf, np.inf, 0], [-np.inf] * 3, [-0.0, 0.0, -1.0], [5, 4, 3]]
)
FUNCTIONS: dict[str, Any] = {"max": np.max, "min": np.min}


def shares(which: str, x: Any, axis: Any) -> Any:
    """1 over how many elements are equal to the extremum, at each of them; 0 elsewhere. NaN where the extremum is."""
    best = FUNCTIONS[which](x, axis=axis, keepdims=True)
    is_best = x == best
    return np.where(np.isnan(best), np.nan, is_best / np.maximum(is_best.sum(axis=axis, keepdims=True), 1))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("axis", [0, 1, (0, 1), None])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("which", FUNCTIONS)
def test_values_are_numpys_and_equal_extrema_share_the_gradient(
    which: str, keepdims: bool, axis: Any, dtype: str
) -> None:
    rows = ROWS.astype(dtype)

    def f(x: Any) -> Any:
        return FUNCTIONS[which](x, axis=axis, keepdims=keepdims)

    found, pullback = ps.vjp(f, rows)
    expected = f(rows)
    np.testing.assert_array_equal(found, expected)
    assert (found.shape, found.dtype) == (np.shape(expected), rows.dtype)
    dy = np.full(expected.shape, 2.0, dtype)
    np.testing.assert_allclose(
        pullback(dy)[0], 2 * shares(which, rows, axis), rtol=1e-3 if dtype == "float16" else 1e-6
    )


@pytest.mark.parametrize("which", FUNCTIONS)
def test_a_maximum_of_nan_that_nobody_asks_for_has_the_slope_0(which: str) -> None:
    found, pullback = ps.vjp(lambda x: FUNCTIONS[which](x, axis=1), np.array([[np.nan, 1.0], [2.0, 2.0]]))
    np.testing.assert_array_equal(found, [np.nan, 2.0])
    np.testing.assert_array_equal(pullback(np.array([0.0, 1.0]))[0], [[0.0, 0.0], [0.5, 0.5]])
    np.testing.assert_array_equal(pullback(np.array([1.0, 1.0]))[0], [[np.nan, np.nan], [0.5, 0.5]])


@pytest.mark.parametrize("which", FUNCTIONS)
@pytest.mark.parametrize("sizes", [("N", 3), ("N", "M"), (7, 3)])
def test_tangents_are_the_mean_of_those_of_the_extrema(which: str, sizes: Any) -> None:
    rows, moved = ROWS[[0, 1, 3, 5, 6]], np.arange(15.0).reshape(5, 3)
    if sizes == (7, 3):
        rows, moved = np.concatenate([rows, rows[:2]]), np.arange(21.0).reshape(7, 3)

    def pushed(x: Any, t: Any) -> Any:
        return ps.jvp(lambda x: FUNCTIONS[which](x, axis=1), (x,), (t,))[1]

    found = ps.trace(pushed, *[ps.spec("float64", sizes)] * 2)(rows, moved)
    np.testing.assert_allclose(found, (shares(which, rows, 1) * moved).sum(axis=1), rtol=1e-12)


def test_a_second_derivative_goes_through_a_maximum() -> None:
    x = np.array([[1.0, 3.0, 2.0], [4.0, 4.0, 0.0]])
    found = ps.hessian(lambda x: np.sum(np.max(x, axis=1) ** 3))(x).reshape(6, 6)
    expected = np.zeros((6, 6))
    expected[1, 1] = 6 * 3.0
    expected[3:5, 3:5] = 6 * 4.0 / 4
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("f", "line"),
    [
        (lambda x: np.max(x, axis=1), "max(x, axis=1)"),
        (lambda x: x.min(), "min(x, axis=(0, 1))"),
        (lambda x: np.max(x, axis=-2, keepdims=True), "max(x, axis=0, keepdims=True)"),
    ],
)
def test_a_listing_shows_the_call_in_one_line(f: Callable[..., Any], line: str) -> None:
    shown = ps.trace(f, ps.spec("float32", [2, 3])).listing()
    assert f" = {line} " in shown
    assert "ReduceM" not in shown
    split = ps.split(lambda x: np.sum(f(x)), ps.spec("float32", [2, 3])).listing()
    assert f" = {line} " in split


def test_programs_with_the_same_maximum_are_the_same_program() -> None:
    first, second = (ps.trace(lambda x: np.max(x, axis=0), ps.spec("float64", [3, 2])).block for _ in range(2))
    assert first == second
    assert first != ps.trace(lambda x: np.max(x, axis=1), ps.spec("float64", [2, 2])).block


def test_the_sides_of_a_branch_share_the_maximum_after_it() -> None:
    def f(x: Any) -> Any:
        y = np.sin(x) if x[0] > 0 else np.cos(x)
        return np.max(y) ** 2

    block = ps.trace(f, ps.spec("float64", [3])).block
    assert [op.kind for op in block.ops if op.kind == "call::max"] == ["call::max"]


def test_whole_numbers_and_no_axes_make_no_call() -> None:
    assert "call::max" not in kinds(ps.trace(np.max, ps.spec("int64", [3])).block)
    assert "call::max" not in kinds(ps.trace(lambda x: np.max(x, axis=()), ps.spec("float64", [3])).block)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_maximum_from_an_initial_number_is_that_of_nothing(count: int) -> None:
    def f(x: Any) -> Any:
        return np.max(x, axis=0, initial=0.5)

    x = np.linspace(-1.0, 1.0, count)
    sizes = ps.spec("float64", ["N"])
    assert ps.trace(f, sizes)(x) == f(x)
    dx = ps.trace(lambda x, dy: ps.vjp(f, x)[1](dy)[0], sizes, ps.spec("float64", []))(x, 2.0)
    np.testing.assert_array_equal(dx, [2.0 * (e == 1.0) for e in x])


def test_a_maximum_of_no_elements_fails_in_the_run() -> None:
    made = ps.trace(lambda x: np.max(x, axis=0), ps.spec("float64", ["N", 2]))
    assert made(np.ones((1, 2))).tolist() == [1.0, 1.0]
    with pytest.raises(Exception, match="extremum"):
        made(np.ones((0, 2)))
