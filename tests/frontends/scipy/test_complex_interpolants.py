"""scipy.interpolate of complex values: SciPy's values by its own names, and gradients by both parts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate as si

import primsplit as ps
from primsplit.testing import check_grads

RANDOM = np.random.default_rng(4)
VALUES = RANDOM.standard_normal(7) + 1j * RANDOM.standard_normal(7)
SITES = np.array([0.0, 0.3, 0.5, 1.1, 1.4, 2.0, 2.3])
PLACES = np.array([0.1, 0.77, 1.95])

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "CubicSpline": lambda z, x: si.CubicSpline(SITES, z, bc_type="natural")(x),
    "CubicSpline, its slope and integral": lambda z, x: (
        si.CubicSpline(SITES, z)(x, 1) * si.CubicSpline(SITES, z).integrate(0.1, 2.0)
    ),
    "make_interp_spline": lambda z, x: si.make_interp_spline(SITES, z, k=2)(x),
    "interp1d": lambda z, x: si.interp1d(SITES, z)(x) * si.interp1d(SITES, z, kind="cubic")(x),
    "interp1d nearest": lambda z, x: si.interp1d(SITES, z, kind="nearest", fill_value="extrapolate")(x),
    "CubicHermiteSpline": lambda z, x: si.CubicHermiteSpline(SITES, z, 1j * z)(x),
    "BSpline": lambda z, x: si.BSpline(np.arange(10.0), z[:6], 3)(x + 3),
    "RegularGridInterpolator": lambda z, x: si.RegularGridInterpolator((SITES,), z)(x[:, None]),
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    def f(x: Any, y: Any, places: Any) -> Any:
        found = FUNCTIONS[name](x + 1j * y, places)
        return found.real, found.imag

    check_grads(f, VALUES.real, VALUES.imag, PLACES, symbolic=False, value_tolerance=1e-11)


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if "slope" not in n])
def test_of_known_complex_values_it_is_scipys_at_traced_places(name: str) -> None:
    found = ps.trace(lambda x: FUNCTIONS[name](VALUES, x), PLACES)(PLACES)
    wanted = FUNCTIONS[name](VALUES, PLACES)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-11)


def test_splines_through_traced_sites_take_complex_values() -> None:
    def f(x: Any, z: Any) -> Any:
        return si.CubicSpline(x, z)(PLACES)

    np.testing.assert_allclose(ps.trace(f, SITES, VALUES)(SITES, VALUES), f(SITES, VALUES), rtol=1e-11)
