"""scipy.interpolate: plain tables at traced points, and splines of traced values; SciPy's values, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate as scipys

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from primsplit.testing import check_grads

SITES = np.array([0.0, 0.4, 1.0, 1.3, 2.0, 2.6])
VALUES = np.sin(3 * SITES)
SEVERAL = np.stack([VALUES, np.cos(SITES)], axis=1)
AT = np.array([[0.13, 1.71, 0.55], [2.31, 1.13, 0.77]])
GRID = (np.array([0.0, 0.5, 1.0, 2.0]), np.array([0.0, 1.0, 3.0]))
FIELD = np.random.default_rng(0).standard_normal((4, 3))
POINTS = np.array([[0.3, 0.6], [1.4, 2.2], [0.7, 1.7]])
KNOTS = np.array([0.0, 0.0, 0.0, 0.6, 0.9, 1.4, 2.6, 2.6, 2.6])
CORNERS = np.array([[0.0, 0.0], [0.1, 1.0], [1.0, 0.2], [1.1, 1.0], [0.5, 0.6], [0.3, 0.2]])
SURFACE = scipys.RectBivariateSpline(*GRID, FIELD, kx=3, ky=2)
Function = Callable[[Any], Any]

KNOTS_OF_FOUR = np.array([0.0, 0.0, 0.0, 0.4, 1.5, 1.5, 1.5])
"""Of four basis functions of order 2."""

AT_POINTS: dict[str, Function] = {
    "CubicSpline": scipys.CubicSpline(SITES, VALUES),
    "CubicSpline of several values": scipys.CubicSpline(SITES, SEVERAL),
    "CubicSpline along the last axis": scipys.CubicSpline(SITES, SEVERAL.T, axis=1, bc_type="natural"),
    "CubicSpline's derivative": lambda x: scipys.CubicSpline(SITES, VALUES)(x, 1),
    "CubicSpline repeated": lambda x: scipys.CubicSpline(
        SITES, VALUES * (SITES < 2.6) * (SITES > 0), bc_type="periodic"
    )(x * 3),
    "PchipInterpolator": scipys.PchipInterpolator(SITES, VALUES),
    "Akima1DInterpolator": scipys.Akima1DInterpolator(SITES, VALUES),
    "PPoly's antiderivative": scipys.CubicSpline(SITES, VALUES).antiderivative(),
    "BSpline": scipys.make_interp_spline(SITES, SEVERAL, k=3),
    "BSpline's derivative": lambda x: scipys.make_interp_spline(SITES, VALUES, k=5)(x, nu=2),
    "CubicSpline's integral": lambda x: scipys.CubicSpline(SITES, SEVERAL).integrate(0.2, x[0, 0]),
    "CubicSpline's integral backwards": lambda x: scipys.CubicSpline(SITES, VALUES).integrate(3 * x[0, 0], x[1, 0]),
    "a periodic CubicSpline's integral": lambda x: scipys.CubicSpline(
        SITES, SITES * (2.6 - SITES), bc_type="periodic"
    ).integrate(0.4 - x[0, 0], 5 * x[1, 0]),
    "BSpline's integral": lambda x: scipys.make_interp_spline(SITES, VALUES, k=2).integrate(x[0, 0], 3.5),
    "BSpline's integral where it is 0 outside": lambda x: (
        x[0, 1]
        * scipys.BSpline([0.0, 0.0, 0.5, 1.0, 2.0, 2.0], [0.3, 1.0, -0.5, 0.2], 1, extrapolate=False).integrate(
            x[0, 0], 3 * x[1, 0]
        )
    ),
    "BSpline's design matrix": lambda x: (
        scipys.BSpline.design_matrix(x[0] / 2, KNOTS_OF_FOUR, 2).toarray() @ VALUES[:4]
    ),
    "BSpline's design matrix that goes on": lambda x: (
        scipys.BSpline.design_matrix(3 * x[0] - 1, KNOTS_OF_FOUR, k=2, extrapolate=True) @ SEVERAL[:4]
    ),
    "UnivariateSpline's integral": lambda x: scipys.UnivariateSpline(SITES, VALUES, s=0.1).integral(x[0, 0], 9.0),
    "UnivariateSpline": scipys.UnivariateSpline(SITES, VALUES, s=0.1),
    "InterpolatedUnivariateSpline": scipys.InterpolatedUnivariateSpline(SITES, VALUES, k=2),
    "UnivariateSpline's ends": lambda x: (
        x * scipys.InterpolatedUnivariateSpline(SITES, VALUES, ext=1)(2 * x - 1),
        x * scipys.UnivariateSpline(SITES, VALUES, s=0.1, ext="const")(2 * x - 1),
        x * scipys.UnivariateSpline(SITES, VALUES, ext=3).derivative()(2 * x - 1),
        x * scipys.UnivariateSpline(SITES, VALUES, s=0.1)(2 * x - 1, 1, "zeros"),
    ),
    "interp1d": scipys.interp1d(SITES, VALUES),
    "interp1d of several values": scipys.interp1d(SITES, SEVERAL, axis=0, bounds_error=False, fill_value=(-1.0, 2.0)),
    "interp1d that goes on": lambda x: scipys.interp1d(SITES, SEVERAL.T, fill_value="extrapolate")(2 * x - 0.5),
    "interp1d cubic": scipys.interp1d(SITES, SEVERAL, kind="cubic", axis=0),
    "BarycentricInterpolator": scipys.BarycentricInterpolator(SITES[:4], SEVERAL[:4].T, axis=1),
    "KroghInterpolator": scipys.KroghInterpolator(SITES[:4], SEVERAL[:4]),
    "KroghInterpolator with slopes": scipys.KroghInterpolator([0.0, 0.0, 1.0, 2.6], [1.0, 0.3, -0.4, 0.7]),
    "interp1d nearest": lambda x: x * scipys.interp1d(SITES, VALUES, kind="nearest")(x),
    "interp1d previous": lambda x: x * scipys.interp1d(SITES, VALUES, kind="previous")(x),
    "interp1d next": lambda x: x * scipys.interp1d(SITES, VALUES, kind="next")(x),
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
    "LinearNDInterpolator": lambda x: scipys.LinearNDInterpolator(CORNERS, SEVERAL, 0.3)(x / 3, x[0] / 3),
    "a fill value outside": lambda x: scipys.interp1d(SITES, VALUES, bounds_error=False, fill_value=0.5)(3 * x),
}
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
    "make_interp_spline's integral": lambda y: scipys.make_interp_spline(SITES, y, k=3).integrate(-0.5, 2),
    "make_interp_spline": lambda y: scipys.make_interp_spline(SITES, y, k=2)(AT),
    "interp1d": lambda y: scipys.interp1d(SITES, y)(AT) ** 2,
    "BSpline of coefficients": lambda y: scipys.BSpline(KNOTS, y, 2)(AT) * scipys.BSpline(KNOTS, y, 2).derivative()(AT),
    "BSpline of several coefficients": lambda y: scipys.BSpline(KNOTS, np.outer([1.0, 2.0], y), 2, axis=1)(AT),
    "BSpline's integral": lambda y: scipys.BSpline(KNOTS, np.append(y, 0.0), 2).integrate(0.3, 1.9) * y,
    "PPoly": lambda y: scipys.PPoly(y.reshape(3, 2), [0.0, 1.0, 2.5])(AT),
    "PPoly without ends": lambda y: np.nan_to_num(
        scipys.PPoly(y.reshape(3, 2), [0.0, 1.0, 1.5], extrapolate=False)(AT)
    ),
    "a grid": lambda y: scipys.RegularGridInterpolator((GRID[1], SITES[:2]), y.reshape(3, 2))(POINTS * [1.0, 0.1]),
    "a grid at traced points": lambda y: scipys.RegularGridInterpolator(
        (GRID[1], SITES[:2]), y.reshape(3, 2), bounds_error=False, fill_value=None
    )((y[:3] + 1.2, y[3:])),
    "interp1d cubic": lambda y: scipys.interp1d(SITES, y, kind="cubic", fill_value="extrapolate")(AT),
    "one polynomial": lambda y: (
        scipys.BarycentricInterpolator(SITES, np.outer([1.0, 2.0], y), axis=1)(AT)
        * scipys.KroghInterpolator(SITES, y)(0.4)
    ),
    "one polynomial, called as a function": lambda y: (
        scipys.barycentric_interpolate(SITES, y, AT) * scipys.krogh_interpolate(SITES, y, y[:3] + 1.2)
    ),
    "interp1d with fill values": lambda y: scipys.interp1d(
        SITES, np.outer([1.0, 2.0], y), bounds_error=False, fill_value=(-1.0, y[0])
    )(AT * 2 - 1),
    "interp1d in steps": lambda y: sum(
        scipys.interp1d(SITES, y, kind=k)(AT) * (i + y[0])
        for i, k in enumerate(("nearest", "nearest-up", "previous", "next"))
    ),
    "CubicSpline that repeats": lambda y: scipys.CubicSpline(SITES, np.append(y[:5], y[0]), bc_type="periodic")(3 * AT),
    "CubicSpline of known ends": lambda y: scipys.CubicSpline(SITES, y, bc_type=((1, y[0]), (2, 0.3)))(AT),
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
    "make_smoothing_spline": lambda y: scipys.make_smoothing_spline(SITES, y, lam=0.1)(AT) * y[0],
    "interpn": lambda y: scipys.interpn((GRID[1], SITES[:2]), y.reshape(3, 2), POINTS * [1.0, 0.1]) * y[0],
    "griddata": lambda y: scipys.griddata(CORNERS, y, (y[:2] + 0.4, y[2:4] + 0.6), fill_value=0.5),
    "griddata of the nearest": lambda y: scipys.griddata(CORNERS, y, POINTS / 3, method="nearest") * y[:3],
    "LinearNDInterpolator": lambda y: scipys.LinearNDInterpolator(CORNERS, np.outer(y, [1.0, 2.0]))(POINTS / 3) * y[0],
    "NearestNDInterpolator": lambda y: scipys.NearestNDInterpolator(CORNERS, y)(0.2, 0.4) * y,
    "pchip_interpolate": lambda y: scipys.pchip_interpolate(SITES, y, AT[0], der=1),
}
OF_SITES: dict[str, Callable[[Any, Any], Any]] = {
    "CubicSpline": lambda x, y: scipys.CubicSpline(x, y)(AT),
    "CubicSpline of three sites": lambda x, y: scipys.CubicSpline(x[:3], y[:3])(AT),
    "CubicSpline of two sites": lambda x, y: scipys.CubicSpline(x[:2], y[:2])(AT),
    "a free end of three sites": lambda x, y: scipys.CubicSpline(x[:3], y[:3], bc_type=("not-a-knot", "natural"))(AT),
    "CubicSpline of ends": lambda x, y: scipys.CubicSpline(x, y, bc_type=((2, 0.3), "clamped"))(AT, 1),
    "CubicSpline that repeats": lambda x, y: scipys.CubicSpline(x, np.append(y[:5], y[0]), bc_type="periodic")(3 * AT),
    "several values": lambda x, y: scipys.CubicSpline(x[:4], np.outer([1.0, 2.0], y[:4]), axis=1).integrate(0.2, 2.2),
    "make_interp_spline": lambda x, y: scipys.make_interp_spline(x, y)(AT) * scipys.make_interp_spline(x, y, k=1)(AT),
    "interp1d": lambda x, y: scipys.interp1d(x, y)(AT),
    "one polynomial": lambda x, y: scipys.KroghInterpolator(x, y)(AT),
}


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", AT_POINTS)
def test_an_interpolant_at_traced_points_is_scipys_with_gradients(name: str) -> None:

    def f(x: Any) -> Any:
        return AT_POINTS[name](x)

    check_grads(f, AT, value_tolerance=1e-10, step=1e-3)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", OF_VALUES)
def test_a_spline_of_traced_values_is_scipys_with_gradients(name: str) -> None:
    check_grads(OF_VALUES[name], VALUES, order=2, symbolic=False, step=1e-3)


@pytest.mark.parametrize("name", OF_SITES)
def test_a_spline_of_traced_sites_is_scipys_with_gradients(name: str) -> None:
    check_grads(OF_SITES[name], SITES, VALUES, symbolic=False, step=1e-3)


@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_a_grid_at_traced_points_is_scipys_with_gradients(method: str) -> None:
    closed = scipys.RegularGridInterpolator(GRID, FIELD, method=method)
    filled = scipys.RegularGridInterpolator(
        GRID, np.stack([FIELD, 2 * FIELD], 2), method=method, bounds_error=False, fill_value=0.25
    )
    going_on = scipys.RegularGridInterpolator(GRID, FIELD, method=method, bounds_error=False, fill_value=None)

    def f(x: Any) -> Any:
        return np.sum(x) * closed(x), filled(2 * x), going_on(3 * x - 1), closed((x[:, 0], x[:, 1]))

    for found, wanted in zip(ps.trace(f, POINTS)(POINTS), f(POINTS), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)
    check_grads(lambda x: sum(np.sum(v) for v in f(x)), POINTS, order=2, symbolic=False, step=1e-3)


@pytest.mark.parametrize("size", [0, 1, 3])
def test_one_file_serves_any_number_of_points(size: int) -> None:
    spline, table = scipys.CubicSpline(SITES, VALUES), scipys.interp1d(SITES, VALUES)
    program = ps.trace(lambda x: spline(x) + table(x), ps.spec("float64", ["N"]))
    x = AT[0, :size]
    np.testing.assert_allclose(program(x), spline(x) + table(x), rtol=1e-11)


def test_points_outside_are_not_a_number_where_scipy_raises_or_says_so() -> None:
    x = np.array([-1.0, 1.0, 9.0])
    closed, table = scipys.CubicSpline(SITES, VALUES, extrapolate=False), scipys.interp1d(SITES, VALUES)
    found = ps.trace(lambda x: (closed(x), table(x)), x)(x)
    for values in found:
        np.testing.assert_array_equal(np.isnan(values), [True, False, True])


def test_what_has_no_form_is_told_at_the_users_line() -> None:
    for function in (
        lambda y: scipys.make_interp_spline(SITES, y, bc_type="periodic")(AT),
        lambda y: scipys.splrep(SITES, y, s=1.0),
        lambda y: scipys.UnivariateSpline(SITES, y),
        lambda y: scipys.griddata(CORNERS, y, POINTS, method="cubic"),
        lambda y: scipys.griddata(y.reshape(3, 2), SITES[:3], POINTS),
        lambda y: scipys.CloughTocher2DInterpolator(CORNERS, VALUES)(y, y),
        lambda y: scipys.BSpline(KNOTS, y, 2, extrapolate=False)(AT),
        lambda y: scipys.BSpline.design_matrix(AT, np.sort(y), 1),
        lambda y: scipys.BSpline.design_matrix(y.reshape(3, 2), KNOTS, 2),
        lambda y: scipys.PPoly(y.reshape(3, 2), [2.0, 1.0, 0.0])(AT),
        lambda y: scipys.krogh_interpolate(SITES, y, AT, der=1),
        lambda y: scipys.RegularGridInterpolator((SITES,), VALUES, method="pchip")(y[:, None]),
    ):
        with pytest.raises(UnsupportedFunction) as caught:
            ps.trace(function, VALUES)
        assert caught.value.place is not None
        assert caught.value.place.filename == __file__
