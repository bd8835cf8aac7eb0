"""Interpolation, phase unwrapping and piecewise functions: values against NumPy, gradients against differences."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError, RunError, ShapeError
from tests.numpy.agreement import check_agrees, check_grads

POINTS = np.array([0.1, 0.8, 1.9, 2.5, 4.0])
VALUES = np.array([1.0, -0.4, 2.2, 0.3, 1.7])
AT = np.array([[-0.7, 0.3, 1.1], [2.2, 3.9, 5.1]])
LONG = np.sort(np.random.default_rng(0).uniform(0, 9, 100))


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    "options",
    [{}, {"left": -3.0}, {"right": 7.0}, {"left": -1.0, "right": 1.0}, {"period": 3.3}, {"period": -2.7}],
    ids=str,
)
def test_an_interpolation_has_numpys_value_and_gradients_in_all_arguments(options: dict[str, float]) -> None:
    check_grads(lambda x, xp, fp: np.interp(x, xp, fp, **options), AT, POINTS, VALUES)


def test_the_values_beyond_the_ends_and_the_period_have_gradients() -> None:
    check_grads(lambda x, a, b: np.interp(x, POINTS, VALUES, left=a, right=b), AT, np.array(2.0), np.array(3.0))
    check_grads(lambda x, p: np.interp(x, POINTS, VALUES, period=p), AT + 5.03, np.array(4.7))


@pytest.mark.parametrize("count", [1, 2, 5, 100])
def test_sample_points_ends_and_nan_are_numpys(count: int) -> None:
    points = LONG[:count]
    x = np.concatenate([points[:3], points[-2:], [-np.inf, np.inf, 3.3], [np.nan] * (count > 1)])
    check_agrees(lambda x, xp, fp: np.interp(x, xp, fp), x, points, np.cos(points))


def test_repeated_sample_points_make_a_step() -> None:
    points, values = np.array([0.0, 1.0, 1.0, 2.0, 2.0]), np.array([0.0, 1.0, 5.0, 6.0, 8.0])
    check_agrees(np.interp, np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.5]), points, values)


def test_single_precision_and_integers_are_interpolated_in_float64() -> None:
    check_agrees(np.interp, AT.astype(np.float32), np.arange(5), VALUES.astype(np.float32))


def test_the_derivative_at_a_sample_point_is_the_slope_to_its_right_and_0_beyond_the_ends() -> None:
    slope = ps.grad(lambda x: np.sum(np.interp(x, [0.0, 1.0, 3.0], [0.0, 1.0, 7.0])))
    np.testing.assert_array_equal(slope(np.array([-1.0, 0.0, 1.0, 3.0, 4.0])), [0, 1, 3, 3, 0])


@pytest.mark.parametrize("n", [0, 1])
def test_a_program_interpolates_any_number_of_points(n: int) -> None:
    sizes = [ps.spec("float64", [s]) for s in ("N", "M", "M")]
    found = ps.trace(np.interp, *sizes)(AT.ravel()[:n], POINTS[:1], VALUES[:1])
    np.testing.assert_array_equal(found, np.full(n, VALUES[0]))


def test_sample_points_that_cannot_be_are_refused_at_the_users_line() -> None:
    for points, values in ((POINTS, VALUES[:3]), (AT, AT), (POINTS[:0], VALUES[:0])):
        with pytest.raises(ShapeError, match=r"test_interpolation\.py"):
            ps.trace(np.interp, AT, points, values)
    with pytest.raises(ShapeError, match="non-zero"):
        ps.trace(lambda x: np.interp(x, POINTS, VALUES, period=0), AT)


PHASES = np.cumsum(np.random.default_rng(1).uniform(-1, 5, (3, 8)), axis=1) % (2 * np.pi)


@pytest.mark.parametrize(
    "options", [{}, {"axis": 0}, {"period": 3.0}, {"discont": 4.0}, {"discont": 0.1, "period": 4.0}], ids=str
)
def test_unwrapped_phases_and_their_gradients_are_numpys(options: dict[str, Any]) -> None:
    check_agrees(lambda p: np.unwrap(p, **options), PHASES)
    check_grads(lambda p: np.unwrap(p, **options), PHASES)


def test_unwrapping_keeps_numpys_dtype_and_its_answer_to_half_a_period() -> None:
    check_agrees(lambda p: np.unwrap(p, period=4), np.array([0, 1, 2, -1, 0, 2, 0, 2]))
    check_agrees(lambda p: np.unwrap(p, period=5), np.array([0, 1, 3, -1, 0, 2, 4, 1]))
    check_agrees(lambda p: np.unwrap(p, period=4), np.array([0.0, 2.0, 0.0, 1.0, -1.0, 3.0, np.nan, 1.0]))
    check_agrees(np.unwrap, PHASES.astype(np.float32))
    check_agrees(np.unwrap, np.array([1, 5, 250, 3, 120], np.uint8))  # whose differences wrap
    with pytest.raises(DtypeError, match="which uint8 cannot hold"):
        ps.trace(lambda p: np.unwrap(p, period=4), np.zeros(3, np.uint8))
    for n in (0, 1):
        np.testing.assert_array_equal(ps.trace(np.unwrap, ps.spec("float64", ["N"]))(np.ones(n)), np.ones(n))


def test_a_period_has_a_gradient() -> None:
    check_grads(lambda p, t: np.unwrap(p, period=t), PHASES[0], np.array(6.2))


PIECES: dict[str, Callable[[Any], Any]] = {
    "two and otherwise": lambda x: np.piecewise(x, [x < -0.5, x > 1.0], [lambda v: v**2, np.sqrt, np.sin]),
    "numbers": lambda x: np.piecewise(x, [x < 0, x >= 0], [-1.0, 1.0]) * x,
    "one condition": lambda x: np.piecewise(x[0], x[0] < 0, [np.exp, np.cos]),
    "overlapping": lambda x: np.piecewise(x, [x > -1, x > 0.5], [np.exp, lambda v: v * v]),
    "outside of its domain": lambda x: np.piecewise(x, [x > 0], [np.log, 0.0]),
    "reductions": lambda x: np.piecewise(x, [x > 0], [lambda v: v * np.sum(v), lambda v: v - np.mean(v)]),
    "arguments": lambda x: np.piecewise(x, [x > 0], [lambda v, a, b: a * v + b] * 2, 3.0, b=2.0),
}
X = np.array([[-1.2, 0.4, 1.7], [0.9, -0.3, 2.1]])


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", PIECES)
def test_a_piecewise_function_and_its_gradients_are_numpys(name: str) -> None:
    check_grads(PIECES[name], X)


def test_a_piecewise_function_takes_numbers_integers_and_nan() -> None:
    pieces = PIECES["two and otherwise"]
    check_agrees(pieces, np.array(0.3))
    check_agrees(pieces, np.array([np.nan, 1.0, -3.0]))
    check_agrees(lambda x: np.piecewise(x, [x < 2, x > 4], [lambda v: v * 2, 7]), np.arange(6))
    with pytest.raises(ShapeError, match="2 or 3 functions"):
        ps.trace(lambda x: np.piecewise(x, [x < 0, x > 1], [1.0]), X)


@pytest.mark.parametrize("count", [0, 2])
def test_no_points_are_interpolated_where_there_are_no_sample_points(count: int) -> None:
    program = ps.trace(np.interp, *(ps.spec("float64", [n]) for n in "NMM"))
    at, none = np.zeros(count), np.zeros(0)
    with pytest.raises(ValueError, match="array of sample points is empty"):
        np.interp(at, none, none)
    with pytest.raises(RunError):
        program(at, none, none)


@pytest.mark.parametrize(
    "fp", [[1.0, 2.0, np.inf, 3.0], [-np.inf, np.inf, np.inf, np.nan], [np.inf, -np.inf, 2.0, 5.0]]
)
def test_infinite_values_are_numpys_and_have_no_slope(fp: list[float]) -> None:
    at = np.array([-1.0, 0.0, 0.3, 1.0, 1.4, 2.0, 2.5, 3.0, 4.0])
    check_agrees(lambda x, v: np.interp(x, np.arange(4.0), v), at, np.array(fp))
    slopes = ps.grad(lambda x: np.sum(np.interp(x, np.arange(4.0), [1.0, 3.0, np.inf, 3.0])))(at)
    np.testing.assert_array_equal(slopes, [0, 2, 2, 0, 0, 0, 0, 0, 0])


@pytest.mark.parametrize("argument", range(3))
def test_the_gradients_of_what_is_interpolated_to_nan_are_nan(argument: int) -> None:
    at, values = np.array([0.5, 1.5, np.nan, 9.0]), np.array([1.0, 3.0, np.nan, 3.0])

    def picked(place: int) -> Callable[..., Any]:
        return lambda x, xp, fp: np.interp(x, xp, fp)[place]

    whole = ps.trace(np.interp, at, np.arange(4.0), values)
    np.testing.assert_array_equal(whole(at, np.arange(4.0), values), np.interp(at, np.arange(4.0), values))
    for place, is_missing in enumerate([False, True, True, False]):
        gradient = ps.grad(picked(place), wrt=argument)(at, np.arange(4.0), values)
        missing = np.isnan(gradient)
        assert (missing[place] if argument == 0 else missing.all()) if is_missing else not missing.any()


def test_what_is_beyond_the_ends_and_missing_spoils_no_other_slope() -> None:
    slopes = ps.grad(lambda x: np.nansum(np.interp(x, [0.0, 1.0], [0.0, 5.0], left=np.nan)))(np.array([-1.0, 0.5]))
    np.testing.assert_array_equal(slopes, [0.0, 5.0])


KNOTS, HEIGHTS = np.array([0.0, 1.0, 2.0]), np.array([2.0, 3.0, 5.0])


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda v: np.interp(-1.0, KNOTS, HEIGHTS, left=v), 1.0),
        (lambda v: np.interp(-1.0, KNOTS, HEIGHTS, v), 1.0),
        (lambda v: np.interp(9.0, KNOTS, HEIGHTS, right=v), 1.0),
        (lambda v: np.interp(0.5, KNOTS, HEIGHTS, left=v, right=v), 0.0),
        (lambda v: np.sum(np.interp([-1.0, 0.5, 9.0], KNOTS, HEIGHTS, left=v, right=v**2)), 1.0 + 2 * 0.7),
    ],
)
def test_the_values_beyond_the_ends_may_be_traced_alone(function: Any, wanted: float) -> None:
    assert float(ps.grad(function)(0.7)) == pytest.approx(wanted)
