"""Dawson's, Fresnel's, sine and cosine integrals, the hyperbolic ones, erfi, and the dilogarithm.

Fits near 0, and fits of the factors of the waves far out. Coefficients: tools/fit_integrals.py. Equations are those of
the NIST Digital Library of Mathematical Functions, chapters 6, 7 and 25.12.
"""

import math
from collections.abc import Callable

import numpy as np

from primsplit.numpy.approximations.coefficients import FITS
from primsplit.numpy.approximations.error_function import in_float64
from primsplit.numpy.approximations.exponential import log1p
from primsplit.numpy.approximations.rational import horner
from primsplit.numpy.approximations.signs import cos_pi, sided, sin_pi
from primsplit.numpy.transformations import logarithmic_quotient
from primsplit.numpy.ufuncs import Elementwise, elementwise
from primsplit.numpy.units import Slope, Unit, unit
from primsplit.ops import op
from primsplit.special.integrals import EULER, exp1, expi
from primsplit.tracing.array import Array

FINITE = 1e150
"""Beyond it the square of a number is infinite."""


def _smooth(name: str, body: Callable[[Array], Array], slope: Slope) -> Unit:
    """A function as one op, computed in float64, with this slope."""
    return unit(name, lambda x: in_float64(x, body), slope)


# Dawson's integral D, and erfi.

DAWSON_ENDS = (2.0, 5.0)
FLAT = 12.0
"""Beyond it the slope of D comes from its asymptotic series, because 1 - 2 x D cancels."""


def _dawson(x: Array) -> Array:
    near, far = DAWSON_ENDS
    sign, size = sided(x)
    inverse = op.Reciprocal(op.Clip(size, near, None))
    square = inverse * inverse
    close = op.Clip(size, None, near)
    fitted = op.Where(size > far, FITS["DAWSON_FAR"](square), FITS["DAWSON_MIDDLE"](square)) * inverse
    value = op.Where(size > near, fitted, close * FITS["DAWSON"](close * close))
    return sign * op.Where(op.Equal(size, math.inf), 0.0, value)


def _dawson_slope(x: Array, z: Array) -> Array:
    """Equation 7.10.4 for D, and 7.12.1 on the imaginary axis, differentiated."""
    is_flat = op.Abs(x) > FLAT
    inverse = op.Reciprocal(op.Where(is_flat, op.Clip(x, -FINITE, FINITE), FLAT))
    t = inverse * inverse * 0.5
    series = -t * horner([float(math.prod(range(1, 2 * k + 2, 2))) for k in range(13)], t)
    return op.Where(is_flat, series, 1.0 - 2.0 * (x * z))


dawsn = elementwise("dawsn", is_total=True)(_smooth("dawsn", _dawson, lambda dz, x, z: dz * _dawson_slope(x, z)))


def _erfi(x: Array) -> Array:
    """The exponential is applied in two parts, a rounded square and its rest: in one step it overflows too early."""
    sign, whole = sided(x)
    size = op.Clip(whole, None, 30.0)
    coarse = op.Round(size * 1048576.0) * (1.0 / 1048576.0)
    half = op.Exp(coarse * coarse * 0.5) * op.Exp((size - coarse) * (size + coarse) * 0.5)
    return sign * (half * (_dawson(size) * (2.0 / math.sqrt(math.pi))) * half)


erfi = elementwise("erfi", is_total=True)(
    _smooth("erfi", _erfi, lambda dz, x, z: dz * (op.Exp(x * x) * (2.0 / math.sqrt(math.pi)))),
)

# Fresnel's integrals.

FRESNEL_FROM = 1.6


def _fresnel(x: Array, near: Callable[[Array], Array], far: Callable[[Array, Array, Array, Array], Array]) -> Array:
    sign, size = sided(x)
    close, away = op.Clip(size, None, FRESNEL_FROM), op.Clip(size, FRESNEL_FROM, FINITE)
    inverse = op.Reciprocal(away)
    square = inverse * inverse
    f = FITS["FRESNEL_F"](square * square) * (inverse * (1 / math.pi))
    g = FITS["FRESNEL_G"](square * square) * (inverse * square * (1 / math.pi**2))
    turn = op.Where(size > FINITE, 0.0, away * away * 0.5)
    return sign * op.Where(size > FRESNEL_FROM, 0.5 + far(f, g, cos_pi(turn), sin_pi(turn)), near(close))


def _fresnel_s(x: Array) -> Array:
    """Equations 7.5.4 and 7.5.3."""
    return _fresnel(x, lambda c: c * c * c * FITS["FRESNEL_S"](_fourth(c)), lambda f, g, cos, sin: -f * cos - g * sin)


def _fresnel_c(x: Array) -> Array:
    return _fresnel(x, lambda c: c * FITS["FRESNEL_C"](_fourth(c)), lambda f, g, cos, sin: f * sin - g * cos)


def _fourth(x: Array) -> Array:
    square = x * x
    return square * square


fresnel_s = _smooth("fresnel_s", _fresnel_s, lambda dz, x, z: dz * sin_pi(x * x * 0.5))
fresnel_c = _smooth("fresnel_c", _fresnel_c, lambda dz, x, z: dz * cos_pi(x * x * 0.5))


@elementwise("fresnel")
def fresnel(x: Array) -> tuple[Array, Array]:
    """S and C."""
    return fresnel_s(x), fresnel_c(x)


# Sine and cosine integrals.

WAVE_FROM = 4.0


def divided_by_argument(x: Array, function: Elementwise, sign: float) -> Array:
    """sin(x) / x (with the sign -1) or sinh(x) / x, smooth at 0."""
    is_near = op.Abs(x) < 1.0
    near, far = op.Where(is_near, x, 0.0), op.Where(is_near, 1.0, x)
    series = horner([sign**k / math.factorial(2 * k + 1) for k in range(10)], near * near)
    return op.Where(is_near, series, function(far) / far)


def _auxiliary(size: Array) -> tuple[Array, Array, Array]:
    """f and g of equations 6.5.5 to 6.5.8 far out, and the points where they are evaluated."""
    far = op.Clip(size, WAVE_FROM, FINITE)
    inverse = op.Reciprocal(far)
    square = inverse * inverse
    return FITS["SINE_FAR"](square) * inverse, FITS["COSINE_FAR"](square) * square, far


def _sine_integral(x: Array) -> Array:
    sign, size = sided(x)
    f, g, far = _auxiliary(size)
    near = op.Clip(size, None, WAVE_FROM)
    wave = (math.pi / 2) - f * op.Cos(far) - g * op.Sin(far)
    return sign * op.Where(size > WAVE_FROM, wave, near * FITS["SINE"](near * near))


def _cosine_integral(x: Array) -> Array:
    """Of |x|, as in SciPy; -infinity at 0."""
    size = op.Abs(x)
    f, g, far = _auxiliary(size)
    near = op.Clip(size, None, WAVE_FROM)
    square = near * near
    sums = op.Log(near) + EULER + square * FITS["COSINE"](square)
    value = op.Where(size > WAVE_FROM, f * op.Sin(far) - g * op.Cos(far), sums)
    value = op.Where(op.Equal(x, math.inf), 0.0, value)
    return op.Where(op.Or(op.IsNaN(x), op.Equal(x, -math.inf)), math.nan, value)


sine_integral = _smooth("sine_integral", _sine_integral, lambda dz, x, z: dz * divided_by_argument(x, op.Sin, -1.0))
cosine_integral = _smooth("cosine_integral", _cosine_integral, lambda dz, x, z: dz * (op.Cos(x) / x))


@elementwise("sici")
def sici(x: Array) -> tuple[Array, Array]:
    """Si and Ci."""
    return sine_integral(x), cosine_integral(x)


SUMMED = 2.0
"""Up to it the hyperbolic integrals are power series; beyond, half the sum and difference of Ei and E1."""
TERMS = 14


def _hyperbolic_sine_integral(x: Array) -> Array:
    """Equation 6.6.5 with hyperbolic signs."""
    sign, size = sided(x)
    near, far = op.Clip(size, None, SUMMED), op.Clip(size, SUMMED, None)
    series = horner([1.0 / ((2 * k + 1) * math.factorial(2 * k + 1)) for k in range(TERMS)], near * near)
    return sign * op.Where(size > SUMMED, (expi(far) + exp1(far)) * 0.5, near * series)


def _hyperbolic_cosine_integral(x: Array) -> Array:
    """Equation 6.6.6 with hyperbolic signs, of |x|, as in SciPy; -infinity at 0."""
    size = op.Abs(x)
    near, far = op.Clip(size, None, SUMMED), op.Clip(size, SUMMED, None)
    square = near * near
    series = horner([1.0 / (2 * k * math.factorial(2 * k)) for k in range(1, TERMS)], square) * square
    value = op.Where(size > SUMMED, (expi(far) - exp1(far)) * 0.5, op.Log(near) + EULER + series)
    return op.Where(op.IsNaN(x), x, value)


shi = _smooth("shi", _hyperbolic_sine_integral, lambda dz, x, z: dz * divided_by_argument(x, op.Sinh, 1.0))
chi = _smooth("chi", _hyperbolic_cosine_integral, lambda dz, x, z: dz * (op.Cosh(x) / x))


@elementwise("shichi")
def shichi(x: Array) -> tuple[Array, Array]:
    """Shi and Chi."""
    return shi(x), chi(x)


# The dilogarithm.


def _spence(z: Array) -> Array:
    """Li2(1 - z), by the fit for 1/2 <= z <= 3/2 and equations 25.12.4 and 25.12.6 elsewhere; NaN below 0."""
    is_large = z > 1.5
    inner = op.Where(is_large, op.Reciprocal(op.Where(is_large, z, 2.0)), z)
    is_small = inner < 0.5
    t = op.Where(is_small, inner, 1.0 - inner)
    lowest = op.Clip(t, -0.5, None)
    fitted = lowest * FITS["DILOGARITHM"](lowest)
    safe = op.Where(op.And(is_small, inner > 0.0), inner, 0.25)
    product = op.Where(inner > 0.0, op.Log(safe) * log1p(-safe), 0.0)
    value = op.Where(is_small, math.pi**2 / 6 - product - fitted, fitted)
    logarithm = op.Log(op.Where(is_large, z, 1.0))
    value = op.Where(is_large, -0.5 * logarithm * logarithm - value, value)
    return op.Where(op.Or(z < 0.0, op.Or(op.IsNaN(z), op.Equal(z, math.inf))), np.asarray(math.nan), value)


def _spence_slope(z: Array) -> Array:
    """log(z) / (1 - z): below 1/2 with z itself, because z - 1 would round z away."""
    is_small = z < 0.5
    near = -logarithmic_quotient(op.Where(is_small, 1.0, z) - 1.0, 0)
    small = op.Where(is_small, z, 0.5)
    return op.Where(is_small, op.Log(small) / (1.0 - small), near)


spence = elementwise("spence")(_smooth("spence", _spence, lambda dz, x, z: dz * _spence_slope(x)))
