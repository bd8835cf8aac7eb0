"""scipy.interpolate's B-splines of traced values and between traced knots: SciPy's values, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate as scipys
from scipy.interpolate import BSpline

import primsplit as ps
from primsplit.frontends.scipy.knots import Knotted, splines_at
from primsplit.testing import check_grads

SITES = np.array([0.0, 0.4, 1.0, 1.3, 2.0, 2.6])

VALUES = np.sin(3 * SITES)

AT = np.array([[0.13, 1.71, 0.55], [2.31, 1.13, 0.77]])

KNOTS = np.array([0.0, 0.0, 0.0, 0.6, 0.9, 1.4, 2.6, 2.6, 2.6])

Function = Callable[[Any], Any]

OF_VALUES: dict[str, Function] = {
    "make_interp_spline's integral": lambda y: scipys.make_interp_spline(SITES, y, k=3).integrate(-0.5, 2),
    "make_interp_spline": lambda y: scipys.make_interp_spline(SITES, y, k=2)(AT),
    "BSpline of coefficients": lambda y: scipys.BSpline(KNOTS, y, 2)(AT) * scipys.BSpline(KNOTS, y, 2).derivative()(AT),
    "BSpline of several coefficients": lambda y: scipys.BSpline(KNOTS, np.outer([1.0, 2.0], y), 2, axis=1)(AT),
    "BSpline's integral": lambda y: scipys.BSpline(KNOTS, np.append(y, 0.0), 2).integrate(0.3, 1.9) * y,
}

OF_SITES: dict[str, Callable[[Any, Any], Any]] = {
    "make_interp_spline": lambda x, y: scipys.make_interp_spline(x, y)(AT) * scipys.make_interp_spline(x, y, k=1)(AT),
}


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", OF_VALUES)
def test_a_spline_of_traced_values_is_scipys_with_gradients(name: str) -> None:
    check_grads(OF_VALUES[name], VALUES, order=2, symbolic=False, step=1e-3)


@pytest.mark.parametrize("name", OF_SITES)
def test_a_spline_of_traced_sites_is_scipys_with_gradients(name: str) -> None:
    check_grads(OF_SITES[name], SITES, VALUES, symbolic=False, step=1e-3)


KNOT = np.array([0.0, 0.0, 0.0, 0.7, 1.5, 1.5, 2.0, 2.0, 2.0])
PLACES = np.array([0.0, 0.3, 0.7, 1.5, 1.9, 2.0])
COEFFICIENTS = np.array([0.5, -1.0, 2.0, 0.3, 1.1, -0.4])


@pytest.mark.parametrize("order", [0, 1, 2])
def test_the_splines_that_are_not_zero_at_a_point_are_scipys(order: int) -> None:
    knots = KNOT[2 - order : len(KNOT) - 2 + order]
    first, shares = ps.trace(lambda t, x: splines_at(t, x, order), knots, PLACES)(knots, PLACES)
    wanted = BSpline.design_matrix(PLACES, knots, order).toarray()
    for i, row in enumerate(wanted):
        np.testing.assert_allclose(row[first[i] : first[i] + order + 1], [s[i] for s in shares], atol=1e-15)
        np.testing.assert_allclose(sum(s[i] for s in shares), 1.0)


@pytest.mark.parametrize("extrapolate", [True, False, "periodic"])
def test_a_spline_between_traced_knots_is_scipys_beyond_its_ends(extrapolate: Any) -> None:
    places, made = np.array([-0.5, 0.3, 2.7]), BSpline(KNOT, COEFFICIENTS, 2, extrapolate)

    def values(t: Any) -> Any:
        knotted = Knotted(t, COEFFICIENTS, 2, extrapolate)
        return knotted(places), knotted(places, 1), knotted(places, 3)

    for order, found in zip((0, 1, 3), ps.trace(values, KNOT)(KNOT), strict=True):
        np.testing.assert_allclose(found, made(places, order), rtol=1e-12, atol=1e-12)


def test_integrals_and_derivatives_of_rows_of_coefficients_are_scipys() -> None:
    rows = np.stack([COEFFICIENTS, COEFFICIENTS[::-1] ** 2], axis=0)

    def values(t: Any) -> Any:
        made = Knotted(t, rows, 2, axis=1)
        return made.integrate(-0.5, 1.2), made.antiderivative(2)(1.2), made.derivative(1)(1.2), made.integral(-3, 1.2)

    made = BSpline(KNOT, rows, 2, axis=1)
    wanted = (
        made.integrate(-0.5, 1.2), made.antiderivative(2)(1.2), made.derivative(1)(1.2), made.integrate(0.0, 1.2)
    )  # fmt: skip
    for found, one in zip(ps.trace(values, KNOT)(KNOT), wanted, strict=True):
        np.testing.assert_allclose(found, one, rtol=1e-12)
