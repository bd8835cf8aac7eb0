"""scipy.special's spherical Bessel functions and harmonics, of known whole orders."""

from typing import Any

import numpy as np

from primsplit.frontends.scipy.operands import double, floating
from primsplit.special.bessel_orders import of_orders
from primsplit.special.bessel_spherical import slope, spherical
from primsplit.special.legendre import normalized, of_degrees
from primsplit.tracing.array import unsupported
from primsplit.tracing.asarray import array_like

__all__ = ["sph_harm_y", "spherical_in", "spherical_jn", "spherical_kn", "spherical_yn"]


def _of_kind(kind: str, n: Any, z: Any, derivative: bool) -> Any:
    """The function in float64, but the last kind in the dtype of z.

    Raises UnsupportedFunction for an order that is traced, negative or too large.
    """
    name = f"spherical_{kind}n"
    order, function = array_like(n), slope if derivative else spherical
    known = order.known()
    if known is None or np.any(known < 0):
        raise unsupported(f"scipy.special.{name}, but of known orders,")
    given = array_like(floating(z) if kind == "k" else double(z))
    return of_orders(name, lambda x, v: function(x, kind, int(v)))(order, given)


def spherical_jn(n: Any, z: Any, derivative: bool = False) -> Any:
    """The spherical Bessel function of the first kind, or its derivative."""
    return _of_kind("j", n, z, derivative)


def spherical_yn(n: Any, z: Any, derivative: bool = False) -> Any:
    """The spherical Bessel function of the second kind, or its derivative."""
    return _of_kind("y", n, z, derivative)


def spherical_in(n: Any, z: Any, derivative: bool = False) -> Any:
    """The modified spherical Bessel function of the first kind, or its derivative."""
    return _of_kind("i", n, z, derivative)


def spherical_kn(n: Any, z: Any, derivative: bool = False) -> Any:
    """The modified spherical Bessel function of the second kind, or its derivative."""
    return _of_kind("k", n, z, derivative)


def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    """The harmonic of degree n and order m at polar angle theta and longitude phi, complex128."""
    if diff_n:
        raise unsupported("scipy.special.sph_harm_y with diff_n")
    degree, order, polar, longitude = array_like(n), array_like(m), array_like(double(theta)), array_like(double(phi))
    size = of_degrees("sph_harm_y", degree, order, lambda n, m: normalized(n, m, polar))
    turn = order * longitude
    return size * np.cos(turn) + 1j * (size * np.sin(turn))
