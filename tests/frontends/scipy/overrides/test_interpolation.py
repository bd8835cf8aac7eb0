"""Interpolants of scipy.interpolate by its own names: grids of any direction, and what has no form."""

from typing import Any

import numpy as np
import pytest
import scipy.interpolate as scipys
import scipy.interpolate as si

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction

GRID, TABLE = (np.array([3.0, 2.0, 0.5]), np.array([0.0, 1.0, 1.7, 2.0])), np.arange(12.0).reshape(3, 4) ** 1.5

PLACES = np.array([[0.7, 1.5], [2.5, 0.2], [2.0, 1.7]])


@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("known", ["grid", "nothing"])
def test_an_axis_of_a_grid_may_descend(method: str, known: str) -> None:
    def f(first: Any, values: Any) -> Any:
        grid = GRID if known == "grid" else (first, GRID[1])
        made = si.RegularGridInterpolator(grid, values, method=method)
        return made(PLACES), si.interpn(grid, values, PLACES, method=method)

    for one, wanted in zip(ps.trace(f, GRID[0], TABLE)(GRID[0], TABLE), f(GRID[0], TABLE), strict=True):
        np.testing.assert_allclose(one, wanted, rtol=1e-12)
    turned = np.flip(TABLE, 0)
    there = ps.grad(lambda v: np.sum(f(GRID[0], v)[0]))(TABLE)
    back = ps.grad(lambda v: np.sum(si.RegularGridInterpolator((GRID[0][::-1], GRID[1]), v, method=method)(PLACES)))
    np.testing.assert_allclose(there, np.flip(back(turned), 0), atol=1e-12)


def test_a_grid_in_no_order_is_refused() -> None:
    def f(first: Any, values: Any) -> Any:
        return si.RegularGridInterpolator((first, GRID[1]), values)(PLACES)

    made = ps.trace(f, GRID[0], TABLE)
    with pytest.raises(Exception, match="strictly ascending or descending"):
        made(np.array([3.0, 0.5, 2.0]), TABLE)


SITES = np.array([0.0, 0.4, 1.0, 1.3, 2.0, 2.6])

VALUES = np.sin(3 * SITES)

AT = np.array([[0.13, 1.71, 0.55], [2.31, 1.13, 0.77]])

POINTS = np.array([[0.3, 0.6], [1.4, 2.2], [0.7, 1.7]])

KNOTS = np.array([0.0, 0.0, 0.0, 0.6, 0.9, 1.4, 2.6, 2.6, 2.6])

CORNERS = np.array([[0.0, 0.0], [0.1, 1.0], [1.0, 0.2], [1.1, 1.0], [0.5, 0.6], [0.3, 0.2]])


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
