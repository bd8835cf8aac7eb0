"""Functions of scipy.special that are not ufuncs: combinatorial counts, derivatives of digamma, Lambert's W."""

from typing import Any

import numpy as np

from primsplit.frontends.scipy.operands import double, floating
from primsplit.numpy.complex.lambert import lambert
from primsplit.numpy.complex.operands import holds_complex, operand
from primsplit.numpy.ufuncs import ELEMENTWISE, cast_to
from primsplit.ops import op
from primsplit.special.gamma import polygamma as polygamma_of
from primsplit.special.zeta import lambert_lower, lambert_principal
from primsplit.tracing.array import Array, unsupported
from primsplit.tracing.asarray import array_like, holds_traced

__all__ = ["comb", "factorial", "lambertw", "perm", "polygamma"]


def polygamma(n: Any, x: Any) -> Any:
    """The derivative of order `n` of digamma, a whole number, in float64. Raises UnsupportedFunction for another."""
    x = array_like(floating(x))
    known = array_like(n).known()
    if known is None or known.size != 1 or known.item() < 0 or known.item() % 1:
        raise unsupported("scipy.special.polygamma of an order that is no known whole number")
    return polygamma_of(cast_to(x, np.float64), int(known.item()))


def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    """The number of ways to choose k of N; 0 where k is not between 0 and N, but with `repetition`.

    Raises UnsupportedFunction for `exact`.
    """
    if exact:
        raise unsupported("scipy.special.comb with exact=True")
    n, k = array_like(floating(N)), array_like(floating(k))
    if repetition:
        is_none = (k == 0.0) & (n >= 0.0)
        return np.where(is_none, 1.0, ELEMENTWISE["binom"](np.where(is_none, 1.0, n + k - 1.0), k))
    inside = (n >= 0.0) & (k >= 0.0) & (k <= n)
    return np.where(inside, ELEMENTWISE["binom"](np.where(inside, n, 1.0), _kept(inside, k)), 0.0)


def _kept(inside: Array, k: Array) -> Array:
    """k where it is known, for which there is a product, else a harmless one where it is not inside."""
    return k if k.known() is not None and k.shape == () else op.Where(inside, k, 1.0)


def perm(N: Any, k: Any, exact: bool = False) -> Any:
    """The number of ways to order k of N; 0 where k is not between 0 and N. Raises UnsupportedFunction for `exact`."""
    if exact:
        raise unsupported("scipy.special.perm with exact=True")
    n, k = array_like(floating(N)), array_like(floating(k))
    inside = (n >= 0.0) & (k >= 0.0) & (k <= n)
    start = np.where(inside, n - k + 1.0, 1.0)
    return np.where(inside, ELEMENTWISE["poch"](start, np.where(inside, k, 1.0)), 0.0)


def factorial(n: Any, exact: bool = False, extend: str = "zero") -> Any:
    """gamma(n + 1) in float64, 0 for negative n.

    Raises UnsupportedFunction for `exact`, and where complex numbers are meant.
    """
    if exact or extend != "zero":
        raise unsupported("scipy.special.factorial with exact=True or extend")
    n = array_like(double(n))
    return np.where(n < 0.0, 0.0, ELEMENTWISE["gamma"](np.where(n < 0.0, 0.0, n) + 1.0))


def lambertw(z: Any, k: Any = 0, tol: float = 1e-8) -> Any:
    """W of a complex number in any known branch; of a real one in 0 or -1, NaN where it is not real: pass z + 0j.

    Complex as in SciPy, also without an imaginary part. Raises UnsupportedFunction for other branches.
    """
    if holds_traced(k) or np.ndim(k) or not (holds_complex(z) or k in {0, -1}):
        raise unsupported("scipy.special.lambertw of branches that are not one known number, of real ones 0 or -1,")
    if holds_complex(z):
        return lambert(operand(z), int(k))
    x = cast_to(array_like(z), np.float64)
    return (lambert_lower if k else lambert_principal)(x) + 0j
