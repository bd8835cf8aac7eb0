"""An error of Python's numbers that the user's code catches is a branch; an uncaught one is NaN or infinite."""

import math
from collections.abc import Callable

import numpy as np
import pytest

import primsplit as ps

Scalar = Callable[..., float]


def caught(function: Callable[..., float], *errors: type[Exception]) -> Scalar:
    """The function, with an answer to the error that it raises."""

    def answered(*numbers: float) -> float:
        try:
            return function(*numbers)
        except errors:
            return 3.0 * numbers[0]

    answered.__name__ = f"{getattr(function, '__name__', 'function')}"
    return answered


BOTH = (ValueError, OverflowError)
WITHIN_AND_OUTSIDE: list[tuple[Scalar, list[tuple[float, ...]]]] = [
    (caught(math.log, ValueError), [(2.0,), (-1.0,), (0.0,)]),
    (caught(math.log, *BOTH), [(2.0, 3.0), (2.0, -3.0), (-2.0, 3.0)]),
    (caught(math.log2, ValueError), [(2.0,), (0.0,)]),
    (caught(math.log10, Exception), [(2.0,), (-2.0,)]),
    (caught(math.log1p, ValueError), [(2.0,), (-1.0,)]),
    (caught(math.sqrt, ValueError), [(2.0,), (-1.0,)]),
    (caught(math.asin, ValueError), [(0.5,), (1.5,)]),
    (caught(math.acos, ValueError), [(0.5,), (-1.5,)]),
    (caught(math.acosh, ValueError), [(2.5,), (0.5,)]),
    (caught(math.atanh, ValueError), [(0.5,), (1.0,), (-1.5,)]),
    (caught(math.fmod, ValueError), [(7.5, 2.0), (7.5, 0.0)]),
    (caught(math.pow, *BOTH), [(2.0, 0.5), (-2.0, 3.0), (-2.0, 0.5), (0.0, -1.0), (3.0, 700.0)]),
    (caught(math.exp, OverflowError), [(2.0,), (710.0,), (-800.0,)]),
    (caught(math.cosh, OverflowError), [(2.0,), (711.0,), (-711.0,)]),
    (caught(math.gamma, *BOTH), [(2.5,), (-2.0,), (-2.5,), (172.0,)]),
    (caught(lambda x: x - math.floor(x), *BOTH), [(2.5,), (math.inf,), (math.nan,)]),
    (caught(lambda x: 1 / x, ZeroDivisionError), [(2.0,), (0.0,)]),
    (caught(lambda x, y: x / y, ArithmeticError), [(2.0, 0.5), (2.0, 0.0)]),
    (caught(lambda x, y: x % y, ZeroDivisionError), [(7.5, 2.0), (2.0, 0.0)]),
    (caught(lambda x: x**-1.5, ZeroDivisionError), [(2.0,), (0.0,)]),
]


@pytest.mark.parametrize(
    ("function", "points"), WITHIN_AND_OUTSIDE, ids=[f"{k}-{f.__name__}" for k, (f, _) in enumerate(WITHIN_AND_OUTSIDE)]
)
def test_a_caught_error_of_pythons_numbers_is_a_branch(function: Scalar, points: list[tuple[float, ...]]) -> None:
    differentiated = ps.value_and_grad(function)
    for point in points:
        value, slope = differentiated(*point)
        np.testing.assert_allclose(value, function(*point), rtol=1e-12)
        ahead, behind = (function(point[0] + s, *point[1:]) for s in (1e-6, -1e-6))
        if abs(ahead - behind) < 1e-2:
            np.testing.assert_allclose(slope, (ahead - behind) / 2e-6, rtol=1e-5, atol=1e-8)
        else:  # at the edge, where the answer to the error is given
            assert slope == 3.0


def test_what_nobody_catches_is_no_branch() -> None:
    def logarithm(x: float) -> float:
        try:
            return math.log(x) / x
        except KeyError:
            return x

    program = ps.trace(logarithm, 2.0)
    assert "If" not in [op.kind for op in program.block.ops]
    assert np.isnan(program(-1.0))


def test_numpys_numbers_raise_for_nothing() -> None:
    def reciprocal(x: np.float64) -> np.float64:
        try:
            return 1 / x
        except ZeroDivisionError:
            return x

    assert ps.trace(reciprocal, ps.spec("float64", []))(np.float64(0.0)) == np.inf


def test_an_error_is_not_caught_around_a_function_that_is_recorded_on_its_own() -> None:
    def chosen(x: float) -> float:
        try:
            return ps.cond(x > -1, lambda: math.log(x), lambda: x)
        except ValueError:
            return x

    with pytest.raises(ps.PrimsplitError, match="recorded on its own") as refused:
        ps.grad(chosen)(2.0)
    assert "math.log(x)" in str(refused.value)


def test_a_branch_that_may_raise_is_not_joined() -> None:
    def summed(x: np.ndarray) -> float:
        total = 0.0
        for k in range(4):
            try:
                if x[k] > 0:
                    total = total + math.sqrt(x[k] - 1)
            except ValueError:
                total = total + 10 * x[k]
        return total

    x = np.array([2.0, 0.5, -1.0, 3.0])
    value, slope = ps.value_and_grad(summed)(x)
    np.testing.assert_allclose(value, summed(x), rtol=1e-12)
    ahead = [summed(x + 1e-6 * e) - summed(x - 1e-6 * e) for e in np.eye(4)]
    np.testing.assert_allclose(slope, np.array(ahead) / 2e-6, rtol=1e-6)
