"""The tangent and the inverses of trigonometric functions in float64."""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import primsplit as ps
from primsplit.numpy.approximations import trigonometric
from tests.numpy.approximations.exact import check

ROWS: list[tuple[Callable[..., Any], Callable[[Any], Any], list[float], float]] = [
    (trigonometric.tan, mpmath.tan, [-1.5, -1e-10, 1e-300, 0.7, 1.57, 3.0, 100.0], 4),
    (trigonometric.atan, mpmath.atan, [-1e300, -2.0, -1e-10, 1e-300, 0.4, 1.0, 7.0], 4),
    (trigonometric.asin, mpmath.asin, [-1.0, -0.7, -1e-10, 1e-300, 0.4, 0.9999999], 4),
    (trigonometric.acos, mpmath.acos, [-1.0, -0.7, -1e-10, 0.4, 0.9999999, 1.0], 4),
    (trigonometric.sinc, lambda x: mpmath.sincpi(x), [-2.3, -1e-10, 1e-300, 0.4, 5.7], 16),
]


@pytest.mark.parametrize(("function", "exact", "points", "ulps"), ROWS, ids=lambda v: getattr(v, "__name__", ""))
def test_a_value_is_right_to_units_in_the_last_place(
    function: Callable[..., Any], exact: Callable[[Any], Any], points: list[float], ulps: float
) -> None:
    check(function, exact, np.array(points), ulps=ulps)


def test_an_angle_is_in_the_quadrant_of_its_point() -> None:
    y = np.array([0.0, -0.0, 0.0, -0.0, 1.0, -1.0, 2.0, -2.0, np.inf, 1e-300])
    x = np.array([1.0, 1.0, -1.0, -1.0, 0.0, 0.0, -3.0, -3.0, -np.inf, 1e300])
    found = ps.trace(trigonometric.atan2, y, x)(y, x)
    np.testing.assert_allclose(found, np.arctan2(y, x), rtol=1e-15, atol=0)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(np.arctan2(y, x)))
