"""FITPACK's splines of scipy.interpolate: SciPy's values at traced points and of traced values, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate as scipys

from primsplit.testing import check_grads

SITES = np.array([0.0, 0.4, 1.0, 1.3, 2.0, 2.6])

VALUES = np.sin(3 * SITES)

AT = np.array([[0.13, 1.71, 0.55], [2.31, 1.13, 0.77]])

GRID = (np.array([0.0, 0.5, 1.0, 2.0]), np.array([0.0, 1.0, 3.0]))

FIELD = np.random.default_rng(0).standard_normal((4, 3))

KNOTS = np.array([0.0, 0.0, 0.0, 0.6, 0.9, 1.4, 2.6, 2.6, 2.6])

SURFACE = scipys.RectBivariateSpline(*GRID, FIELD, kx=3, ky=2)

Function = Callable[[Any], Any]

AT_POINTS: dict[str, Function] = {
    "UnivariateSpline's integral": lambda x: scipys.UnivariateSpline(SITES, VALUES, s=0.1).integral(x[0, 0], 9.0),
    "UnivariateSpline": scipys.UnivariateSpline(SITES, VALUES, s=0.1),
    "InterpolatedUnivariateSpline": scipys.InterpolatedUnivariateSpline(SITES, VALUES, k=2),
    "UnivariateSpline's ends": lambda x: (
        x * scipys.InterpolatedUnivariateSpline(SITES, VALUES, ext=1)(2 * x - 1),
        x * scipys.UnivariateSpline(SITES, VALUES, s=0.1, ext="const")(2 * x - 1),
        x * scipys.UnivariateSpline(SITES, VALUES, ext=3).derivative()(2 * x - 1),
        x * scipys.UnivariateSpline(SITES, VALUES, s=0.1)(2 * x - 1, 1, "zeros"),
    ),
    "splev": lambda x: scipys.splev(x, scipys.splrep(SITES, VALUES), der=1),
    "splev's ends": lambda x: (
        x * scipys.splev(2 * x - 1, scipys.splrep(SITES, VALUES), ext=3),
        x * scipys.splev(2 * x - 1, scipys.splrep(SITES, VALUES, k=2), ext=1),
    ),
    "RectBivariateSpline": lambda x: SURFACE.ev(x[0] * 0.8, x[1]) * SURFACE.ev(x[0] * 0.8, x[1] * 3 - 2, dx=1),
    "RectBivariateSpline of values": lambda x: scipys.RectBivariateSpline(
        SITES, SITES, np.outer(np.sin(x[0, 0] * SITES), SITES**2 + x[1, 0]), kx=3, ky=2
    )(x[0, :3] * 0.1 + [0.3, 0.9, 1.2], SITES[1:3], dx=1),
    "RectBivariateSpline of values at pairs": lambda x: scipys.RectBivariateSpline(
        SITES, SITES, np.outer(np.cos(x[0, 0] * SITES), SITES), kx=1, ky=1
    ).ev(x[0] * 0.1 + 0.3, x[1] * 0.1 + 0.4),
    "RectBivariateSpline's grid": lambda x: SURFACE(np.sort(x[0]) * 0.9, np.sort(x[1])),
}

OF_VALUES: dict[str, Function] = {
    "splrep": lambda y: (
        scipys.splev(AT[0], scipys.splrep(SITES, y), der=1) * scipys.splev(1.1, scipys.splrep(SITES, y))
    ),
    "splint": lambda y: scipys.splint(-0.3, y[0] + 2.0, scipys.splrep(SITES, y, k=2)),
    "UnivariateSpline": lambda y: scipys.UnivariateSpline(SITES, y, s=0)(AT) * y[0],
    "InterpolatedUnivariateSpline": lambda y: scipys.InterpolatedUnivariateSpline(SITES, y).integral(0.4, 9.0) * y,
    "UnivariateSpline's ends": lambda y: [
        scipys.InterpolatedUnivariateSpline(SITES, y, ext="zeros")(3 * AT - 1) * y[0],
        scipys.UnivariateSpline(SITES, y, s=0, ext=3)(3 * AT - 1) * y[0],
        scipys.UnivariateSpline(SITES, y, s=0, ext=3).derivative()(3 * AT - 1) * y[0],
        scipys.UnivariateSpline(SITES, y, s=0)(3 * AT - 1, 0, 1) * y[0],
        scipys.LSQUnivariateSpline(SITES, y, [1.1], k=2, ext=1).antiderivative()(3 * AT - 1) * y[0],
    ],
    "LSQUnivariateSpline": lambda y: scipys.LSQUnivariateSpline(SITES, y, [1.1], k=2)(AT) * y[0],
    "make_lsq_spline": lambda y: scipys.make_lsq_spline(SITES, y, KNOTS[[0, 1, 2, 4, 6, 7, 8]], 2)(AT) * y[0],
}


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", AT_POINTS)
def test_an_interpolant_at_traced_points_is_scipys_with_gradients(name: str) -> None:
    check_grads(lambda x: AT_POINTS[name](x), AT, value_tolerance=1e-10, step=1e-3)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", OF_VALUES)
def test_a_spline_of_traced_values_is_scipys_with_gradients(name: str) -> None:
    check_grads(OF_VALUES[name], VALUES, order=2, symbolic=False, step=1e-3)
