"""Incomplete gamma functions and their inverses: SciPy's values, and slopes that are those of differences."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from tests.special.agreement import check

ROWS: list[tuple[Any, tuple[Any, ...], tuple[int, ...]]] = [
    (sp.gammainc, (np.array([0.5, 3.0, 20.0]), np.array([0.3, 4.0, 15.0])), (0, 1)),
    (sp.gammaincc, (np.array([0.5, 3.0, 20.0]), np.array([0.3, 4.0, 15.0])), (0, 1)),
    (sp.gammaincinv, (np.array([0.5, 3.0, 20.0]), np.array([0.3, 0.5, 0.9])), (0, 1)),
    (sp.gammainccinv, (np.array([0.5, 3.0, 20.0]), np.array([0.3, 0.5, 0.9])), (0, 1)),
]


@pytest.mark.sweep(6)
@pytest.mark.parametrize(("function", "args", "wrt"), ROWS, ids=lambda v: getattr(v, "__name__", ""))
def test_values_are_scipys_and_slopes_those_of_differences(function: Any, args: Any, wrt: tuple[int, ...]) -> None:
    check(function, *args, wrt=wrt)


@pytest.mark.sweep(2)
@pytest.mark.parametrize(("function", "sign"), [(sp.gammainc, 1.0), (sp.gammaincc, -1.0)])
def test_second_derivatives_in_the_shape_are_those_of_differences(function: Any, sign: float) -> None:
    """In both, that of the density x**(a - 1) exp(-x) / gamma(a) in `a`."""
    a, x, step = np.array([0.7, 3.0, 20.0]), np.array([0.3, 4.0, 15.0]), 1e-3
    slope = ps.grad(lambda a, x: np.sum(function(a, x)))
    of_shape, of_place = ps.grad(lambda a, x: np.sum(slope(a, x)), wrt=(0, 1))(a, x)
    wanted = (function(a + step, x) - 2 * function(a, x) + function(a - step, x)) / step**2
    np.testing.assert_allclose(of_shape, wanted, rtol=1e-4)
    density = np.exp((a - 1) * np.log(x) - x - sp.gammaln(a))
    np.testing.assert_allclose(of_place, sign * density * (np.log(x) - sp.digamma(a)), rtol=1e-9)
