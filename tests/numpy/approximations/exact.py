"""Values of functions to many digits, to compare approximations with."""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

import primsplit as ps


def check(function: Any, exact: Callable[[Any], Any], x: np.ndarray, *, ulps: float) -> None:
    """Check a function of one traced float64 array against mpmath, in units in the last place."""
    found = ps.trace(function, x)(x)
    with mpmath.workdps(60):
        wanted = np.array([float(exact(mpmath.mpf(float(v)))) for v in x])
    np.testing.assert_allclose(found, wanted, rtol=ulps * 2.0**-52, atol=1e-320)
