"""Signs of zeros, odd integers, and sines of multiples of pi."""

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import primsplit as ps
from primsplit.numpy.approximations import signs
from tests.numpy.approximations.exact import check

ROWS: list[tuple[Callable[..., Any], Callable[[Any], Any], list[float], float]] = [
    (signs.sin_pi, mpmath.sinpi, [-2.5, -0.25, 1e-300, 0.3, 1.5, 100.75], 8),
    (signs.cos_pi, mpmath.cospi, [-2.0, -0.25, 0.0, 0.3, 1.25, 100.75], 8),
]


@pytest.mark.parametrize(("function", "exact", "points", "ulps"), ROWS, ids=lambda v: getattr(v, "__name__", ""))
def test_a_value_is_right_to_units_in_the_last_place(
    function: Callable[..., Any], exact: Callable[[Any], Any], points: list[float], ulps: float
) -> None:
    check(function, exact, np.array(points), ulps=ulps)


def test_the_sign_of_zero_is_seen() -> None:
    x = np.array([-0.0, 0.0, -1.0, 2.0, -np.inf, -1e-320])
    np.testing.assert_array_equal(ps.trace(signs.is_negative, x)(x), np.signbit(x))


def test_whole_numbers_are_odd_or_even() -> None:
    x = np.array([-3.0, -2.0, 0.0, 1.0, 2.0**53, 2.0**52 + 1])
    np.testing.assert_array_equal(ps.trace(signs.is_odd, x)(x), [True, False, False, True, False, True])


def test_an_odd_function_has_the_sign_of_its_argument() -> None:
    x = np.array([-2.0, -0.0, 0.0, 3.0])
    found = ps.trace(lambda x: signs.odd(x, np.sqrt(abs(x))), x)(x)
    np.testing.assert_array_equal(found, np.copysign(np.sqrt(abs(x)), x))
    np.testing.assert_array_equal(np.signbit(found), np.signbit(x))


def test_a_function_of_the_size_times_the_sign_is_odd() -> None:
    x = np.array([-2.0, -0.0, 0.0, 3.0, np.nan, -np.inf])
    sign, size = ps.trace(signs.sided, x)(x)
    np.testing.assert_array_equal(sign, [-1.0, 1.0, 1.0, 1.0, 1.0, -1.0])
    np.testing.assert_array_equal(np.copysign(1.0, size), [1.0, -1.0, 1.0, 1.0, np.copysign(1.0, size[4]), 1.0])
    np.testing.assert_array_equal(sign * size, x)


def test_a_limit_at_0_has_a_slope_of_nan() -> None:
    x = np.array([-1.0, 0.0, 2.0])

    def f(x: Any) -> Any:
        return signs.with_end(x, 5.0, x * x)

    np.testing.assert_array_equal(ps.trace(f, x)(x), [1.0, 5.0, 4.0])
    np.testing.assert_array_equal(ps.grad(lambda x: np.sum(f(x)))(x), [-2.0, np.nan, 4.0])


def test_an_end_that_is_a_limit_has_no_slope_in_sums_either() -> None:
    def difference(x: Any) -> Any:
        return signs.with_end(x, math.inf, x) - signs.with_end(x, -math.inf, x)

    assert ps.trace(difference, 0.0)(0.0) == np.inf
    assert np.isnan(ps.grad(difference)(0.0))
