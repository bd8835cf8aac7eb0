"""Data that SciPy sorts, flips or leaves out before it interpolates or integrates, where only the run knows it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate as si

import primsplit as ps

X, Y = np.array([0.0, 2.0, 1.0, 3.0, 2.5]), np.array([1.0, 2.0, 0.0, 1.0, 0.5])
ASKED = np.array([0.4, 1.5, 2.7, 2.2])
KINDS = ("linear", "nearest", "nearest-up", "previous", "next", "zero", "slinear", "quadratic", "cubic")


@pytest.mark.parametrize("kind", KINDS)
def test_interp1d_sorts_its_sites(kind: str) -> None:
    def f(x: Any, y: Any, q: Any) -> Any:
        return si.interp1d(x, y, kind=kind)(q)

    np.testing.assert_allclose(ps.trace(f, X, Y, ASKED)(X, Y, ASKED), f(X, Y, ASKED), rtol=1e-12)
    order = np.argsort(X)
    sorted_first = ps.grad(lambda y: np.sum(f(X[order], y, ASKED)))(Y[order])
    np.testing.assert_allclose(ps.grad(lambda y: np.sum(f(X, y, ASKED)))(Y)[order], sorted_first, atol=1e-12)
    if kind in {"linear", "slinear", "quadratic", "cubic"}:
        steps = 1e-6 * np.eye(5)
        slopes = [np.sum(f(X + s, Y, ASKED) - f(X - s, Y, ASKED)) / 2e-6 for s in steps]
        np.testing.assert_allclose(ps.grad(lambda x: np.sum(f(x, Y, ASKED)))(X), slopes, atol=1e-5)


def test_interp1d_sorts_along_an_axis_and_beside_fill_values() -> None:
    y = np.stack([Y, Y**2, -Y])

    def f(x: Any, y: Any) -> Any:
        open_ended = si.interp1d(x, y, axis=1, fill_value="extrapolate")(np.array([-1.0, 0.3, 7.0]))
        return open_ended, si.interp1d(x, y[0], bounds_error=False, fill_value=(-1.0, 9.0))(np.array([-1.0, 0.3, 7.0]))

    for one, wanted in zip(ps.trace(f, X, y)(X, y), f(X, y), strict=True):
        np.testing.assert_allclose(one, wanted, rtol=1e-12)


def test_interp1d_of_unknown_size_sorts_and_one_that_is_said_to_be_sorted_does_not() -> None:
    made = ps.trace(lambda x, y: si.interp1d(x, y)(0.7), ps.spec("float64", ["N"]), ps.spec("float64", ["N"]))
    np.testing.assert_allclose(made(X, Y), si.interp1d(X, Y)(0.7), rtol=1e-12)
    kept = ps.trace(lambda x, y: si.interp1d(x, y, assume_sorted=True)(0.7), X, Y)
    assert "TopK" not in str(kept)


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


@pytest.mark.parametrize(
    "x", [[0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 2.0], [0.0, 1.0, 2.0, 2.0], [2.0, 2.0, 2.0, 2.0]]
)
def test_simpson_takes_a_site_twice(x: list[float]) -> None:
    sites, y = np.array(x), np.arange(1.0, len(x) + 1) ** 2

    def f(x: Any, y: Any) -> Any:
        return scipy.integrate.simpson(y, x=x)

    np.testing.assert_allclose(ps.trace(f, sites, y)(sites, y), f(sites, y), rtol=1e-12)
    size = ps.spec("float64", ["N"])
    np.testing.assert_allclose(ps.trace(f, size, size)(sites, y), f(sites, y), rtol=1e-12)
    gradient: Callable[..., Any] = ps.grad(f, wrt=(0, 1))
    in_x, in_y = gradient(sites, y)
    assert np.isfinite(in_x).all()
    wanted = [f(sites, unit) for unit in np.eye(len(x))]
    np.testing.assert_allclose(in_y, wanted, atol=1e-12)
