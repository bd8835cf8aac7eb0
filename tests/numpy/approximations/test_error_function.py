"""The error function and the normal distribution, in both tails."""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import primsplit as ps
from primsplit.numpy.approximations import error_function
from tests.numpy.approximations.exact import check

ROWS: list[tuple[Callable[..., Any], Callable[[Any], Any], list[float], float]] = [
    (error_function.erf, mpmath.erf, [-3.0, -0.5, -1e-10, 1e-300, 0.3, 1.0, 5.0], 8),
    (error_function.erfc, mpmath.erfc, [-3.0, -0.5, 1e-10, 0.3, 1.0, 5.0, 20.0], 16),
    (error_function.erfcx, lambda x: mpmath.exp(x * x) * mpmath.erfc(x), [-3.0, -0.5, 0.3, 5.0, 20.0], 16),
    (error_function.ndtr, lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2, [-30.0, -3.0, -0.5, 0.3, 5.0], 32),
    (
        error_function.log_ndtr,
        lambda x: mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2),
        [-300.0, -30.0, -3.0, 0.3, 5.0],
        64,
    ),
    (error_function.erfinv, mpmath.erfinv, [-0.999, -0.5, -1e-10, 0.3, 0.9], 16),
]


@pytest.mark.parametrize(("function", "exact", "points", "ulps"), ROWS, ids=lambda v: getattr(v, "__name__", ""))
def test_a_value_is_right_to_units_in_the_last_place(
    function: Callable[..., Any], exact: Callable[[Any], Any], points: list[float], ulps: float
) -> None:
    check(function, exact, np.array(points), ulps=ulps)


def test_quantiles_are_inverses() -> None:
    x = np.array([-6.0, -1.0, 0.2, 3.0])
    found = ps.trace(lambda x: error_function.ndtri(error_function.ndtr(x)), x)(x)
    np.testing.assert_allclose(found, x, rtol=1e-12)
    p = np.array([1e-300, 0.01, 0.7, 1.5])
    found = ps.trace(lambda p: error_function.erfc(error_function.erfcinv(p)), p)(p)
    np.testing.assert_allclose(found, p, rtol=1e-12)


def test_a_square_is_the_sum_of_an_exact_number_and_a_small_one() -> None:
    a = np.array([1.0 + 2.0**-30, 3.3, 0.01, 39.9])
    high, low = ps.trace(error_function.exact_square, a)(a)
    for x, h, r in zip(a, high, low, strict=True):
        with mpmath.workdps(40):
            square = mpmath.mpf(float(x)) ** 2
            assert abs(mpmath.mpf(float(h)) + mpmath.mpf(float(r)) - square) <= square * mpmath.mpf(2) ** -60
