"""Complex numbers at which special functions are compared with SciPy's, and the checks of each function."""

from typing import Any

import numpy as np
import scipy.special as sp

import primsplit as ps
from tests.numpy.agreement import check_grads

N = ps.spec("complex128", ["N"])
RANDOM = np.random.default_rng(3)
PLANE = np.concatenate([
    scale * (RANDOM.standard_normal(300) + 1j * RANDOM.standard_normal(300)) for scale in (1e-8, 0.1, 0.5, 2, 4, 12)
])  # fmt: skip
"""Near 0, where series are, and on both sides of where they end."""


def check_values(name: str) -> None:
    """Values on the plane are SciPy's."""
    function = getattr(sp, name)
    with np.errstate(all="ignore"):
        wanted = function(PLANE)
    found = ps.trace(lambda z: function(z), N)(PLANE)
    usual = np.isfinite(wanted) & (np.abs(wanted) > 1e-290)
    assert np.sum(usual) > 1500
    np.testing.assert_array_less(np.abs(found[usual] - wanted[usual]), 3e-13 * np.abs(wanted)[usual])


def check_narrow(name: str) -> None:
    """Values in complex64, and of no elements, are SciPy's."""
    function = getattr(sp, name)
    z = PLANE[900:910].astype(np.complex64)
    found, wanted = ps.trace(lambda z: function(z), z)(z), function(z)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=2e-5)
    assert ps.trace(lambda z: function(z), N)(PLANE[:0]).shape == (0,)


def check_slopes(name: str, places: list[complex]) -> None:
    """Derivatives by both parts are central differences."""

    def f(x: Any, y: Any) -> Any:
        found = getattr(sp, name)(x + 1j * y)
        return found.real, found.imag

    z = np.array(places, complex)
    check_grads(f, z.real, z.imag, symbolic=False, modes=("reverse", "forward"))
