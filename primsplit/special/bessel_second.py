"""The modified Bessel functions K0 and K1, also scaled, by fits. Coefficients: tools/fit_bessel.py.

NIST Digital Library of Mathematical Functions, 10.31.1 and 10.31.2 near 0, 10.40.2 far out; the derivatives are 10.29.3
and 10.29.4.
"""

import math

from primsplit.numpy.approximations.coefficients import FITS
from primsplit.numpy.approximations.error_function import in_float64
from primsplit.numpy.approximations.rational import Rational
from primsplit.numpy.approximations.signs import with_end
from primsplit.numpy.ufuncs import Elementwise, elementwise
from primsplit.numpy.units import unit
from primsplit.ops import op
from primsplit.special.bessel import bessel_quotient
from primsplit.special.incomplete import TINY
from primsplit.tracing.array import Array

TAILS: tuple[Rational, Rational] = (FITS["BESSEL_K0_TAIL"], FITS["BESSEL_K1_TAIL"])


def _near(x: Array, order: int) -> Array:
    """K0 or K1 for x up to 1."""
    first: Array = bessel_quotient(x, order)
    growing = op.Log(x * 0.5) * first
    if order == 0:
        return FITS["BESSEL_K0"](x * x) - growing
    return op.Reciprocal(x) + x * (FITS["BESSEL_K1"](x * x) + growing)


def _second(x: Array, order: int, *, scaled: bool) -> Array:
    """K of this order, or exp(x) K; infinite at 0, NaN below."""
    near, far = op.Clip(x, TINY, 1.0), op.Clip(x, 1.0, None)
    inverse = op.Reciprocal(far)
    tail = TAILS[order](inverse) * op.Sqrt(inverse)
    close = _near(near, order)
    value = op.Where(x > 1.0, tail if scaled else tail * op.Exp(-far), close * op.Exp(near) if scaled else close)
    value = with_end(x, math.inf, op.Where(op.Equal(x, math.inf), 0.0, value))
    return op.Where(op.Or(x < 0.0, op.IsNaN(x)), math.nan, value)


k0: Elementwise = elementwise("k0")(
    unit("k0", lambda x: in_float64(x, lambda w: _second(w, 0, scaled=False)), lambda dz, x, z: -dz * k1(x))
)
k1: Elementwise = elementwise("k1")(
    unit(
        "k1",
        lambda x: in_float64(x, lambda w: _second(w, 1, scaled=False)),
        lambda dz, x, z: -dz * (k0(x) + z / x),
    )
)
k0e: Elementwise = elementwise("k0e")(
    unit("k0e", lambda x: in_float64(x, lambda w: _second(w, 0, scaled=True)), lambda dz, x, z: dz * (z - k1e(x)))
)
k1e: Elementwise = elementwise("k1e")(
    unit(
        "k1e",
        lambda x: in_float64(x, lambda w: _second(w, 1, scaled=True)),
        lambda dz, x, z: dz * (z - k0e(x) - z / x),
    )
)
