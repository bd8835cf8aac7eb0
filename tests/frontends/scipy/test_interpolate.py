"""scipy.interpolate's piecewise polynomials and grids at traced points: SciPy's values, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate as scipys

import primsplit as ps
from primsplit.testing import check_grads

SITES = np.array([0.0, 0.4, 1.0, 1.3, 2.0, 2.6])
VALUES = np.sin(3 * SITES)
SEVERAL = np.stack([VALUES, np.cos(SITES)], axis=1)
AT = np.array([[0.13, 1.71, 0.55], [2.31, 1.13, 0.77]])
GRID = (np.array([0.0, 0.5, 1.0, 2.0]), np.array([0.0, 1.0, 3.0]))
FIELD = np.random.default_rng(0).standard_normal((4, 3))
POINTS = np.array([[0.3, 0.6], [1.4, 2.2], [0.7, 1.7]])
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
}
OF_VALUES: dict[str, Function] = {
    "PPoly": lambda y: scipys.PPoly(y.reshape(3, 2), [0.0, 1.0, 2.5])(AT),
    "PPoly without ends": lambda y: np.nan_to_num(
        scipys.PPoly(y.reshape(3, 2), [0.0, 1.0, 1.5], extrapolate=False)(AT)
    ),
    "a grid": lambda y: scipys.RegularGridInterpolator((GRID[1], SITES[:2]), y.reshape(3, 2))(POINTS * [1.0, 0.1]),
    "a grid at traced points": lambda y: scipys.RegularGridInterpolator(
        (GRID[1], SITES[:2]), y.reshape(3, 2), bounds_error=False, fill_value=None
    )((y[:3] + 1.2, y[3:])),
    "make_smoothing_spline": lambda y: scipys.make_smoothing_spline(SITES, y, lam=0.1)(AT) * y[0],
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


@pytest.mark.sweep(2)
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


def test_points_outside_are_not_a_number_where_scipy_says_so() -> None:
    x = np.array([-1.0, 1.0, 9.0])
    closed = scipys.CubicSpline(SITES, VALUES, extrapolate=False)
    table = scipys.interp1d(SITES, VALUES, bounds_error=False)
    found = ps.trace(lambda x: (closed(x), table(x)), x)(x)
    for values in found:
        np.testing.assert_array_equal(np.isnan(values), [True, False, True])


def test_a_table_at_one_point_is_a_number_with_a_slope() -> None:
    for table in (scipys.interp1d(SITES, VALUES), scipys.interp1d(SITES, VALUES, bounds_error=False, fill_value=2.0)):
        value, slope = ps.value_and_grad(lambda x, table=table: table(x))(0.5 * (SITES[1] + SITES[2]))
        assert value.shape == ()
        np.testing.assert_allclose(slope, (VALUES[2] - VALUES[1]) / (SITES[2] - SITES[1]))
