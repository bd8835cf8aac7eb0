"""Hyperbolic functions and their inverses in float64."""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from primsplit.numpy.approximations import hyperbolic
from tests.numpy.approximations.exact import check

ROWS: list[tuple[Callable[..., Any], Callable[[Any], Any], list[float], float]] = [
    (hyperbolic.sinh, mpmath.sinh, [-700.0, -30.0, -2.5, -0.4, -1e-10, 1e-300, 1e-10, 0.3, 1.0, 4.5, 30.0, 700.0], 4),
    (hyperbolic.cosh, mpmath.cosh, [-700.0, -30.0, -2.5, -0.4, -1e-10, 1e-300, 1e-10, 0.3, 1.0, 4.5, 30.0, 700.0], 4),
    (hyperbolic.asinh, mpmath.asinh, [-1e300, -2.0, -1e-10, 1e-300, 0.3, 5.0, 1e200], 4),
    (hyperbolic.acosh, mpmath.acosh, [1.0, 1.0000001, 1.5, 30.0, 1e200], 4),
    (hyperbolic.atanh, mpmath.atanh, [-0.9999999, -0.5, -1e-10, 1e-300, 0.3, 0.99], 4),
]


@pytest.mark.parametrize(("function", "exact", "points", "ulps"), ROWS, ids=lambda v: getattr(v, "__name__", ""))
def test_a_value_is_right_to_units_in_the_last_place(
    function: Callable[..., Any], exact: Callable[[Any], Any], points: list[float], ulps: float
) -> None:
    check(function, exact, np.array(points), ulps=ulps)
