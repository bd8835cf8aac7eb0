"""scipy.interpolate's single polynomials: SciPy's values at traced points and of traced values, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate as scipys

from primsplit.testing import check_grads

SITES = np.array([0.0, 0.4, 1.0, 1.3, 2.0, 2.6])

VALUES = np.sin(3 * SITES)

SEVERAL = np.stack([VALUES, np.cos(SITES)], axis=1)

AT = np.array([[0.13, 1.71, 0.55], [2.31, 1.13, 0.77]])

Function = Callable[[Any], Any]

AT_POINTS: dict[str, Function] = {
    "BarycentricInterpolator": scipys.BarycentricInterpolator(SITES[:4], SEVERAL[:4].T, axis=1),
    "KroghInterpolator": scipys.KroghInterpolator(SITES[:4], SEVERAL[:4]),
    "KroghInterpolator with slopes": scipys.KroghInterpolator([0.0, 0.0, 1.0, 2.6], [1.0, 0.3, -0.4, 0.7]),
}

OF_VALUES: dict[str, Function] = {
    "one polynomial": lambda y: (
        scipys.BarycentricInterpolator(SITES, np.outer([1.0, 2.0], y), axis=1)(AT)
        * scipys.KroghInterpolator(SITES, y)(0.4)
    ),
    "one polynomial, called as a function": lambda y: (
        scipys.barycentric_interpolate(SITES, y, AT) * scipys.krogh_interpolate(SITES, y, y[:3] + 1.2)
    ),
}

OF_SITES: dict[str, Callable[[Any, Any], Any]] = {
    "one polynomial": lambda x, y: scipys.KroghInterpolator(x, y)(AT),
}


@pytest.mark.parametrize("name", AT_POINTS)
def test_an_interpolant_at_traced_points_is_scipys_with_gradients(name: str) -> None:
    check_grads(lambda x: AT_POINTS[name](x), AT, value_tolerance=1e-10, step=1e-3)


@pytest.mark.parametrize("name", OF_VALUES)
def test_a_spline_of_traced_values_is_scipys_with_gradients(name: str) -> None:
    check_grads(OF_VALUES[name], VALUES, order=2, symbolic=False, step=1e-3)


@pytest.mark.parametrize("name", OF_SITES)
def test_a_spline_of_traced_sites_is_scipys_with_gradients(name: str) -> None:
    check_grads(OF_SITES[name], SITES, VALUES, symbolic=False, step=1e-3)
