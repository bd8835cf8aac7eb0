"""The logarithm of the gamma function and its derivatives."""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from primsplit.numpy.approximations import gamma
from tests.numpy.approximations.exact import check

ROWS: list[tuple[Callable[..., Any], Callable[[Any], Any], list[float], float]] = [
    (gamma.lgamma, lambda x: mpmath.re(mpmath.loggamma(x)), [0.1, 0.5, 3.3, 20.0, 1e5, -0.5, -3.4], 32),
    (gamma.digamma, mpmath.digamma, [0.1, 0.5, 3.3, 20.0, 1e5, -0.7, -3.4], 32),
    (gamma.trigamma, lambda x: mpmath.polygamma(1, x), [0.1, 0.5, 3.3, 20.0, 1e5], 32),
]


@pytest.mark.parametrize(("function", "exact", "points", "ulps"), ROWS, ids=lambda v: getattr(v, "__name__", ""))
def test_a_value_is_right_to_units_in_the_last_place(
    function: Callable[..., Any], exact: Callable[[Any], Any], points: list[float], ulps: float
) -> None:
    check(function, exact, np.array(points), ulps=ulps)
