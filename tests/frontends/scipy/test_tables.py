"""scipy.interpolate.interp1d, in lines and in steps: SciPy's values of traced points, values and sites, and slopes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate as scipys
import scipy.interpolate as si

import primsplit as ps
from primsplit.testing import check_grads

SITES = np.array([0.0, 0.4, 1.0, 1.3, 2.0, 2.6])

VALUES = np.sin(3 * SITES)

SEVERAL = np.stack([VALUES, np.cos(SITES)], axis=1)

AT = np.array([[0.13, 1.71, 0.55], [2.31, 1.13, 0.77]])

Function = Callable[[Any], Any]

AT_POINTS: dict[str, Function] = {
    "interp1d": scipys.interp1d(SITES, VALUES),
    "interp1d of several values": scipys.interp1d(SITES, SEVERAL, axis=0, bounds_error=False, fill_value=(-1.0, 2.0)),
    "interp1d that goes on": lambda x: scipys.interp1d(SITES, SEVERAL.T, fill_value="extrapolate")(2 * x - 0.5),
    "interp1d cubic": scipys.interp1d(SITES, SEVERAL, kind="cubic", axis=0),
    "interp1d nearest": lambda x: x * scipys.interp1d(SITES, VALUES, kind="nearest")(x),
    "interp1d previous": lambda x: x * scipys.interp1d(SITES, VALUES, kind="previous")(x),
    "interp1d next": lambda x: x * scipys.interp1d(SITES, VALUES, kind="next")(x),
    "a fill value outside": lambda x: scipys.interp1d(SITES, VALUES, bounds_error=False, fill_value=0.5)(3 * x),
}

OF_VALUES: dict[str, Function] = {
    "interp1d": lambda y: scipys.interp1d(SITES, y)(AT) ** 2,
    "interp1d cubic": lambda y: scipys.interp1d(SITES, y, kind="cubic", fill_value="extrapolate")(AT),
    "interp1d with fill values": lambda y: scipys.interp1d(
        SITES, np.outer([1.0, 2.0], y), bounds_error=False, fill_value=(-1.0, y[0])
    )(AT * 2 - 1),
    "interp1d in steps": lambda y: sum(
        scipys.interp1d(SITES, y, kind=k)(AT) * (i + y[0])
        for i, k in enumerate(("nearest", "nearest-up", "previous", "next"))
    ),
}

OF_SITES: dict[str, Callable[[Any, Any], Any]] = {
    "interp1d": lambda x, y: scipys.interp1d(x, y)(AT),
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
