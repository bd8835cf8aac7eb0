"""scipy.interpolate's cubic splines of traced values and sites: SciPy's values, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate as scipys

from primsplit.testing import check_grads

SITES = np.array([0.0, 0.4, 1.0, 1.3, 2.0, 2.6])

VALUES = np.sin(3 * SITES)

AT = np.array([[0.13, 1.71, 0.55], [2.31, 1.13, 0.77]])

Function = Callable[[Any], Any]

OF_VALUES: dict[str, Function] = {
    "CubicSpline": lambda y: scipys.CubicSpline(SITES, y)(AT) * scipys.CubicSpline(SITES, y, bc_type="clamped")(AT, 1),
    "CubicSpline's derivative": lambda y: scipys.CubicSpline(SITES, y, bc_type="natural").derivative(2)(AT),
    "CubicSpline along the last axis": lambda y: scipys.CubicSpline(SITES, np.outer([1.0, 2.0], y), axis=1)(AT),
    "CubicSpline at traced points": lambda y: scipys.CubicSpline(SITES, y)(y[0] + 0.5),
    "CubicSpline's integral": lambda y: scipys.CubicSpline(SITES, y).integrate(0.2, 2.9),
    "integral of several values": lambda y: scipys.CubicSpline(SITES, np.outer([1.0, 2.0], y), axis=1).integrate(
        0.2, 2
    ),
    "integral to a traced end": lambda y: (
        scipys.PchipInterpolator(SITES, VALUES).integrate(0, y[0] + 1.1)
        + scipys.CubicSpline(SITES, y).integrate(0, y[0] + 1.1)
    ),
    "CubicSpline's second antiderivative": lambda y: scipys.CubicSpline(SITES, y).antiderivative(2)(AT),
    "CubicSpline that repeats": lambda y: scipys.CubicSpline(SITES, np.append(y[:5], y[0]), bc_type="periodic")(3 * AT),
    "CubicSpline of known ends": lambda y: scipys.CubicSpline(SITES, y, bc_type=((1, y[0]), (2, 0.3)))(AT),
}

OF_SITES: dict[str, Callable[[Any, Any], Any]] = {
    "CubicSpline": lambda x, y: scipys.CubicSpline(x, y)(AT),
    "CubicSpline of three sites": lambda x, y: scipys.CubicSpline(x[:3], y[:3])(AT),
    "CubicSpline of two sites": lambda x, y: scipys.CubicSpline(x[:2], y[:2])(AT),
    "a free end of three sites": lambda x, y: scipys.CubicSpline(x[:3], y[:3], bc_type=("not-a-knot", "natural"))(AT),
    "CubicSpline of ends": lambda x, y: scipys.CubicSpline(x, y, bc_type=((2, 0.3), "clamped"))(AT, 1),
    "CubicSpline that repeats": lambda x, y: scipys.CubicSpline(x, np.append(y[:5], y[0]), bc_type="periodic")(3 * AT),
    "several values": lambda x, y: scipys.CubicSpline(x[:4], np.outer([1.0, 2.0], y[:4]), axis=1).integrate(0.2, 2.2),
}


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", OF_VALUES)
def test_a_spline_of_traced_values_is_scipys_with_gradients(name: str) -> None:
    check_grads(OF_VALUES[name], VALUES, order=2, symbolic=False, step=1e-3)


@pytest.mark.sweep(12)
@pytest.mark.parametrize("name", OF_SITES)
def test_a_spline_of_traced_sites_is_scipys_with_gradients(name: str) -> None:
    check_grads(OF_SITES[name], SITES, VALUES, symbolic=False, step=1e-3)
