"""SciPy's special functions, found by their ufuncs' names: error function, normal distribution, gamma, entropies."""

import math
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.array import Array
from primsplit.calls.primitive import Function, primitive, rrule
from primsplit.numpy.exponential import unless_both_zero
from primsplit.numpy.incomplete import stirling_rest
from primsplit.numpy.trigonometric import hypot
from primsplit.numpy.ufuncs import ELEMENTWISE, elementwise
from primsplit.numpy.units import unit
from primsplit.ops import later, op
from primsplit.passes.compositions import error_function, gamma
from primsplit.passes.compositions.coefficients import STIRLING
from primsplit.passes.compositions.error_function import in_float64
from primsplit.passes.compositions.exponential import log1p as log1p_of
from primsplit.passes.compositions.rational import horner
from primsplit.passes.compositions.signs import cos_pi, sin_pi

ROOT_PI = math.sqrt(math.pi)

ELEMENTWISE["erf"] = later.Erf

# The error function and the normal distribution.


def gaussian(x: Array) -> Array:
    """exp(-x**2)."""
    return op.Exp(-(x * x))


erfc = elementwise("erfc")(unit("erfc", error_function.erfc, lambda dz, x, z: dz * (gaussian(x) * (-2.0 / ROOT_PI))))

FAR = 25.0
"""Beyond it the slope of erfcx is taken from its asymptotic series, which 2 x erfcx(x) - 2 / sqrt(pi) cancels to."""


def _erfcx_slope(x: Array, z: Array) -> Array:
    """NIST Digital Library of Mathematical Functions, 7.12.1, differentiated."""
    inverse = op.Reciprocal(op.Where(x > FAR, x, FAR))
    t = inverse * inverse * -0.5
    terms = [math.prod(range(1, 2 * k, 2)) * (2 * k + 1) for k in range(8)]
    series = horner(terms, t) * (inverse * inverse) * (-1.0 / ROOT_PI)
    return op.Where(x > FAR, series, 2.0 * (x * z) - 2.0 / ROOT_PI)


erfcx = elementwise("erfcx")(unit("erfcx", error_function.erfcx, lambda dz, x, z: dz * _erfcx_slope(x, z)))
erfinv = elementwise("erfinv")(
    unit("erfinv", error_function.erfinv, lambda dz, y, z: dz * (op.Exp(z * z) * (ROOT_PI / 2)))
)
erfcinv = elementwise("erfcinv")(
    unit("erfcinv", error_function.erfcinv, lambda dz, x, z: dz * (op.Exp(z * z) * (-ROOT_PI / 2)))
)
ndtri = elementwise("ndtri")(
    unit("ndtri", error_function.ndtri, lambda dz, p, z: dz * (op.Exp(z * z * 0.5) * math.sqrt(2 * math.pi)))
)
ndtr = elementwise("ndtr")(
    unit("ndtr", error_function.ndtr, lambda dz, x, z: dz * (op.Exp(x * x * -0.5) * math.sqrt(0.5 / math.pi)))
)
log_ndtr = elementwise("log_ndtr")(
    unit(
        "log_ndtr",
        error_function.log_ndtr,
        lambda dz, x, z: dz * (math.sqrt(2 / math.pi) / erfcx(x * -math.sqrt(0.5))),
    )
)

# The gamma function.


@primitive
def polygamma(x: Array, order: int) -> Array:
    """The derivative of this order of digamma."""
    if order == 0:
        return gamma.digamma(x)
    return gamma.trigamma(x) if order == 1 else in_float64(x, lambda wide: _polygamma(wide, order))


@rrule(polygamma)
def _polygamma_rule(x: Array, order: int) -> tuple[Array, Function]:
    """The next derivative."""
    return polygamma(x, order), lambda dz: (dz * polygamma(x, order + 1), None)


BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)
SERIES_START = 12


def _polygamma(x: Array, order: int) -> Array:
    """The recurrence up to x + 12 + order, the asymptotic series there, and reflection for negative x.

    NIST Digital Library of Mathematical Functions, 5.15.5, 5.15.6 and 5.15.8.
    """
    positive = op.Where(x < 0.0, 1.0 - x, x)
    steps = SERIES_START + order
    value = _polygamma_series(positive + float(steps), order)
    sign = -1.0 if order % 2 == 0 else 1.0
    for k in range(steps):
        value = value + op.Reciprocal(_whole_power(positive + float(k), order + 1)) * (sign * math.factorial(order))
    reflected = value * (-1.0) ** order - _cotangent_derivative(x, order)
    return op.Where(x < 0.0, reflected, value)


def _whole_power(x: Array, exponent: int) -> Array:
    result = x
    for _ in range(exponent - 1):
        result = op.Mul(result, x)
    return result


def _polygamma_series(x: Array, order: int) -> Array:
    n = order
    inverse = op.Reciprocal(x)
    square = inverse * inverse
    tail = [b * math.factorial(2 * k + n - 1) / math.factorial(2 * k) for k, b in enumerate(BERNOULLI, start=1)]
    lead = math.factorial(n - 1) + inverse * (math.factorial(n) / 2) + square * horner(tail, square)
    return _whole_power(inverse, n) * lead * (-1.0 if n % 2 == 0 else 1.0)


def _cotangent_derivative(x: Array, order: int) -> Array:
    """The derivative of pi cot(pi x): polynomials in c, each -(1 + c**2) times the last one's derivative."""
    polynomial = np.polynomial.Polynomial([0.0, 1.0])
    for _ in range(order):
        polynomial = polynomial.deriv() * np.polynomial.Polynomial([-1.0, 0.0, -1.0])
    cotangent = cos_pi(x) / sin_pi(x)
    return horner([float(c) for c in polynomial.coef], cotangent) * math.pi ** (order + 1)


@elementwise("psi")
def digamma(x: Array) -> Array:
    """The logarithmic derivative of gamma."""
    found: Array = polygamma(x, 0)
    return found


gammaln = elementwise("gammaln", "loggamma")(unit("gammaln", gamma.lgamma, lambda dz, x, z: dz * digamma(x)))


OVERFLOWN = 180.0
"""Gamma is infinite from here on, in float64."""


def _gamma(x: Array) -> Array:
    """Stirling's formula from 6 on, the power in two halves; exp(lgamma) from 1/2 to 6; reflection below 1/2."""
    reflected = x < 0.5
    z = op.Where(reflected, 1.0 - x, x)
    large = op.Clip(z, 6.0, OVERFLOWN)
    inverse = op.Reciprocal(large)
    half = op.Pow(large, large * 0.5 - 0.25)
    correction = op.Exp(STIRLING(inverse * inverse) * inverse) * math.sqrt(2 * math.pi)
    far = half * op.Exp(-large) * half * correction
    value = op.Where(z >= 6.0, far, op.Exp(gamma.lgamma(op.Min(z, 6.0))))
    value = op.Where(op.Equal(z, math.inf), math.inf, value)
    sine = sin_pi(x)
    pole = op.And(x < 0.0, op.Equal(sine, 0.0))
    below = op.Where(op.Equal(x, 0.0), op.Reciprocal(x), math.pi / (sine * value))
    return op.Where(pole, math.nan, op.Where(reflected, below, value))


gamma_function = elementwise("gamma")(
    unit("gamma", lambda x: in_float64(x, _gamma), lambda dz, x, z: dz * (z * digamma(x)))
)


@elementwise("gammasgn")
def gammasgn(x: Array) -> Array:
    """The sign of gamma, NaN at its poles; it has no gradient."""
    even = op.Equal(op.Floor(x * 0.5) * 2.0, op.Floor(x))
    sign = op.Where(op.Or(x > 0.0, even), np.ones((), x.dtype), -1.0)
    zero = op.Where(op.Reciprocal(x) < 0.0, -1.0, np.ones((), x.dtype))
    undefined = op.Or(op.IsNaN(x), op.And(x < 0.0, op.Equal(op.Floor(x), x)))
    return op.Where(undefined, math.nan, op.Where(op.Equal(x, 0.0), zero, sign))


def _betaln(a: Array, b: Array) -> Array:
    """Sums of lgamma; where one argument is over 6, its lgamma less that of the sum by Stirling's series at once."""
    large, small = op.Max(a, b), op.Min(a, b)
    plain = gamma.lgamma(large) + gamma.lgamma(small) - gamma.lgamma(large + small)
    safe = op.Max(large, 6.0)
    total = safe + op.Max(small, 0.0)
    drop = small - (total - 0.5) * log1p_of(small / safe) - small * op.Log(safe)
    far = gamma.lgamma(small) + drop + (stirling_rest(safe) - stirling_rest(total))
    value = op.Where(op.And(large >= 6.0, small > 0.0), far, plain)
    return op.Where(op.Or(op.Equal(a, 0.0), op.Equal(b, 0.0)), math.inf, value)


def _in_float64(x: Array, y: Array, function: Any) -> Array:
    if x.dtype == np.float64:
        found: Array = function(x, y)
        return found
    return op.Cast(function(op.Cast(x, to=np.float64), op.Cast(y, to=np.float64)), to=x.dtype)


betaln = elementwise("betaln")(
    unit(
        "betaln",
        lambda a, b: _in_float64(a, b, _betaln),
        lambda dz, a, b, z: dz * (digamma(a) - digamma(a + b)),
        lambda dz, a, b, z: dz * (digamma(b) - digamma(a + b)),
    )
)


def _beta(a: Array, b: Array) -> Array:
    sign: Array = gammasgn(a) * gammasgn(b) * gammasgn(a + b)
    return sign * op.Exp(_betaln(a, b))


beta = elementwise("beta")(
    unit(
        "beta",
        lambda a, b: _in_float64(a, b, _beta),
        lambda dz, a, b, z: dz * (z * (digamma(a) - digamma(a + b))),
        lambda dz, a, b, z: dz * (z * (digamma(b) - digamma(a + b))),
    )
)

# Entropies. Where x is 0 a term is 0, and its derivative in x infinite unless y is 0 too.


def _entr(x: Array) -> Array:
    inside = op.Where(op.Equal(x, 0.0), 0.0, -x * op.Log(x))
    return op.Where(x < 0.0, -math.inf, inside)


entr = elementwise("entr")(unit("entr", _entr, lambda dz, x, z: -dz * (op.Log(x) + 1.0)))


def _log_ratio(x: Array, y: Array) -> Array:
    """log(x / y), without cancellation where the two are close."""
    ratio = x / y
    close = op.And(ratio > 0.5, ratio < 2.0)
    return op.Where(close, log1p_of(op.Where(close, (x - y) / y, 0.0)), op.Log(x) - op.Log(y))


def _rel_entr(x: Array, y: Array) -> Array:
    inside = op.And(x > 0.0, y > 0.0)
    value = x * _log_ratio(op.Where(inside, x, 1.0), op.Where(inside, y, 1.0))
    boundary = op.Where(op.And(op.Equal(x, 0.0), y >= 0.0), np.zeros((), x.dtype), math.inf)
    undefined = op.Or(op.IsNaN(x), op.IsNaN(y))
    return op.Where(undefined, math.nan, op.Where(inside, value, boundary))


log_ratio = unit("log_ratio", _log_ratio, lambda dz, x, y, z: dz / x, lambda dz, x, y, z: -dz / y)

rel_entr = elementwise("rel_entr")(
    unit(
        "rel_entr",
        _rel_entr,
        lambda dz, x, y, z: dz * (log_ratio(x, unless_both_zero(x, y)) + 1.0),
        lambda dz, x, y, z: -dz * (x / unless_both_zero(x, y)),
    )
)


@elementwise("kl_div")
def kl_div(x: Array, y: Array) -> Array:
    """x log(x / y) - x + y; infinite outside x >= 0, y >= 0."""
    inside = op.And(x >= 0.0, y >= 0.0)
    return op.Where(op.Not(inside), rel_entr(x, y), rel_entr(x, y) - x + y)


# Robust losses.


@elementwise("huber")
def huber(delta: Array, r: Array) -> Array:
    """r**2 / 2 for |r| <= delta, delta (|r| - delta / 2) beyond; infinite for negative delta."""
    size = op.Abs(r)
    value = op.Where(size <= delta, r * r * 0.5, delta * (size - delta * 0.5))
    return op.Where(delta < 0.0, math.inf, value)


@elementwise("pseudo_huber")
def pseudo_huber(delta: Array, r: Array) -> Array:
    """delta**2 (sqrt(1 + v**2) - 1) with v = r / delta, as delta r v / (sqrt(1 + v**2) + 1), which does not cancel."""
    none = op.Equal(delta, 0.0)
    ratio = r / op.Where(none, 1.0, delta)
    value = delta * (r * (ratio / (hypot(ratio, Array(tracing.constant(np.ones((), r.dtype)))) + 1.0)))
    return op.Where(delta < 0.0, math.inf, op.Where(none, 0.0, value))
