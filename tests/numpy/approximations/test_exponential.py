"""Exponentials and logarithms near their zeros and far away."""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import primsplit as ps
from primsplit.numpy.approximations import exponential
from tests.numpy.approximations.exact import check

ROWS: list[tuple[Callable[..., Any], Callable[[Any], Any], list[float], float]] = [
    (exponential.log1p, mpmath.log1p, [-0.99999, -0.5, -1e-10, 1e-300, 1e-10, 0.3, 1e5, 1e300], 2),
    (
        exponential.expm1,
        mpmath.expm1,
        [-700.0, -30.0, -2.5, -0.4, -1e-10, 1e-300, 1e-10, 0.3, 1.0, 4.5, 30.0, 700.0],
        2,
    ),
    (exponential.exp2, lambda x: mpmath.mpf(2) ** x, [-1000.5, -3.2, 0.0, 1e-10, 0.7, 10.0, 1000.3], 4),
    (exponential.log2, lambda x: mpmath.log(x, 2), [1e-300, 0.3, 0.9999, 1.0001, 8.0, 1e300], 4),
    (exponential.log10, mpmath.log10, [1e-300, 0.3, 0.9999, 1.0001, 1000.0, 1e300], 4),
    (exponential.cbrt, lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), [-27.0, -1e-300, 1e-10, 2.0, 1e300], 3),
]


@pytest.mark.parametrize(("function", "exact", "points", "ulps"), ROWS, ids=lambda v: getattr(v, "__name__", ""))
def test_a_value_is_right_to_units_in_the_last_place(
    function: Callable[..., Any], exact: Callable[[Any], Any], points: list[float], ulps: float
) -> None:
    check(function, exact, np.array(points), ulps=ulps)


def test_sums_of_exponentials_and_lengths_neither_overflow_nor_vanish() -> None:
    x, y = np.array([1000.0, -1000.0, 3.0, -np.inf]), np.array([1000.0, -1001.0, -np.inf, -np.inf])
    found = ps.trace(exponential.logaddexp, x, y)(x, y)
    np.testing.assert_allclose(found, np.logaddexp(x, y), rtol=1e-15)
    a, b = np.array([3e200, 1e-200, 0.0, np.inf]), np.array([4e200, 1e-200, 0.0, np.nan])
    np.testing.assert_allclose(ps.trace(exponential.hypot, a, b)(a, b), np.hypot(a, b), rtol=1e-15)
