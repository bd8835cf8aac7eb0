"""PCHIP, Akima's and Hermite's interpolants of traced values and sites: SciPy's values, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate as scipys

import primsplit as ps
from primsplit.ir.errors import ShapeError, UnsupportedFunction
from primsplit.testing import check_grads

SITES = np.array([0.0, 0.4, 1.0, 1.3, 2.0, 2.6, 3.1])
VALUES = np.array([0.1, 0.9, 1.34, 1.1, -0.4, -0.5, 0.3])
SEVERAL = np.stack([VALUES, np.cos(SITES)], axis=1)
AT = np.array([[0.13, 1.71, 0.55], [2.31, 1.13, 2.87]])

FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "pchip": lambda x, y, at: scipys.PchipInterpolator(x, y[:, 0])(at),
    "pchip of several values": lambda x, y, at: scipys.PchipInterpolator(x, y)(at),
    "pchip along the last axis": lambda x, y, at: scipys.PchipInterpolator(x, y.T, axis=1)(at),
    "pchip of two sites": lambda x, y, at: scipys.PchipInterpolator(x[:2], y[:2])(at / 9),
    "pchip of steep ends": lambda x, y, at: scipys.PchipInterpolator(x[:4], y[:4, 0] * [4.0, 1.0, 1.0, -9.0])(at / 3),
    "pchip's derivative": lambda x, y, at: scipys.PchipInterpolator(x, y[:, 0]).derivative()(at),
    "pchip's integral": lambda x, y, at: scipys.PchipInterpolator(x, y[:, 0]).integrate(at[0, 0], at[1, 0]),
    "pchip beyond its ends": lambda x, y, at: scipys.PchipInterpolator(x, y[:, 0])(2 * at - 1),
    "akima": lambda x, y, at: scipys.Akima1DInterpolator(x, y[:, 0])(at),
    "akima of several values": lambda x, y, at: scipys.Akima1DInterpolator(x, y)(at, nu=1),
    "akima, modified": lambda x, y, at: scipys.Akima1DInterpolator(x, y, method="makima")(at),
    "akima of two sites": lambda x, y, at: scipys.Akima1DInterpolator(x[:2], y[:2])(at / 9),
    "akima of three sites": lambda x, y, at: scipys.Akima1DInterpolator(x[:3], y[:3])(at / 3.3),
    "akima beyond its ends": lambda x, y, at: scipys.Akima1DInterpolator(x, y[:, 0], extrapolate=True)(2 * at - 1),
    "hermite": lambda x, y, at: scipys.CubicHermiteSpline(x, y[:, 0], y[:, 1])(at),
    "known sites": lambda x, y, at: scipys.PchipInterpolator(SITES, y[:, 0])(0.5) * at,
    "known values": lambda x, y, at: scipys.Akima1DInterpolator(x, VALUES)(AT) * at,
}  # fmt: skip


@pytest.mark.sweep(24)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_interpolants_are_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name], (SITES, SEVERAL, AT)
    single = tuple(x.astype(np.float32) for x in given)
    np.testing.assert_allclose(ps.trace(function, *single)(*single), function(*single), rtol=1e-11, atol=1e-12)
    check_grads(function, *given, symbolic=False, step=1e-5)


@pytest.mark.parametrize("name", ["pchip", "akima", "hermite"])
def test_one_file_serves_every_number_of_sites(name: str) -> None:
    program = ps.trace(FUNCTIONS[name], ps.spec("float64", ["N"]), ps.spec("float64", ["N", 2]), AT)
    for count in (7, 5, 3):
        at = AT * SITES[count - 1] / 3.1
        wanted = FUNCTIONS[name](SITES[:count], SEVERAL[:count], at)
        np.testing.assert_allclose(program(SITES[:count], SEVERAL[:count], at), wanted, rtol=1e-12, atol=1e-13)


def test_values_without_a_slope_have_none() -> None:
    flat = np.array([1.0, 1.0, 1.0, 2.0, 3.0, 3.0, 3.0])
    for maker in (scipys.PchipInterpolator, scipys.Akima1DInterpolator):

        def f(y: Any, maker: Any = maker) -> Any:
            return maker(SITES, y)(AT)

        np.testing.assert_allclose(ps.trace(f, flat)(flat), f(flat), rtol=1e-12, atol=1e-13)
        assert np.isfinite(ps.grad(lambda y, f=f: np.sum(f(y)))(flat)).all()


def test_another_number_of_sites_is_told_at_the_users_line() -> None:
    with pytest.raises(ShapeError, match="sites of shape") as caught:
        ps.trace(lambda y: scipys.PchipInterpolator(SITES[:3], np.sin(y))(0.5), VALUES)
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__


def test_a_method_that_akimas_interpolator_has_not_is_told_at_the_users_line() -> None:
    with pytest.raises(UnsupportedFunction, match="no method 'linear'") as caught:
        ps.trace(lambda y: scipys.Akima1DInterpolator(SITES, y, method="linear")(0.5), VALUES)
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__
    assert "makima" in str(caught.value)
