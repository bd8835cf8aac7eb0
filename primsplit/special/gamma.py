"""SciPy's gamma function, its logarithm, and the derivatives of that."""

import math

import numpy as np

from primsplit.numpy.approximations import gamma
from primsplit.numpy.approximations.coefficients import FITS
from primsplit.numpy.approximations.error_function import in_float64
from primsplit.numpy.approximations.rational import horner
from primsplit.numpy.approximations.signs import cos_pi, sin_pi
from primsplit.numpy.ufuncs import elementwise
from primsplit.numpy.units import unit
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.calls.primitive import Function, primitive, rrule


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


lgamma = elementwise("_lgamma", is_total=True)(unit("lgamma", gamma.lgamma, lambda dz, x, z: dz * digamma(x)))
"""The logarithm of |gamma|, infinite at both infinities, as Python's lgamma."""
gammaln = elementwise("gammaln", is_total=True)(
    unit(
        "gammaln",
        lambda x: op.Where(op.Equal(x, -math.inf), np.asarray(-math.inf, x.dtype), gamma.lgamma(x)),
        lambda dz, x, z: dz * digamma(x),
    )
)
"""SciPy's gammaln, which is -inf at -inf."""


@elementwise("loggamma")
def loggamma(x: Array) -> Array:
    """The principal branch, which is complex below 0: for a real number there the result is NaN, as in SciPy."""
    value: Array = gammaln(x)
    return op.Where(x < 0.0, np.asarray(np.nan, value.dtype), value)


OVERFLOWN = 180.0
"""Gamma is infinite from here on, in float64."""


def _gamma(x: Array) -> Array:
    """Stirling's formula from 6 on, the power in two halves; exp(lgamma) from 1/2 to 6; reflection below 1/2."""
    reflected = x < 0.5
    z = op.Where(reflected, 1.0 - x, x)
    large = op.Clip(z, 6.0, OVERFLOWN)
    inverse = op.Reciprocal(large)
    half = op.Pow(large, large * 0.5 - 0.25)
    correction = op.Exp(FITS["STIRLING"](inverse * inverse) * inverse) * math.sqrt(2 * math.pi)
    far = half * op.Exp(-large) * half * correction
    value = op.Where(z >= 6.0, far, op.Exp(gamma.lgamma(op.Clip(z, None, 6.0))))
    value = op.Where(op.Equal(z, math.inf), math.inf, value)
    sine = sin_pi(op.Where(reflected, x, 0.5))
    pole = op.And(x < 0.0, op.Equal(sine, 0.0))
    below = op.Where(op.Equal(x, 0.0), op.Reciprocal(x), math.pi / (sine * value))
    return op.Where(pole, math.nan, op.Where(reflected, below, value))


gamma_function = elementwise("gamma")(
    unit("gamma", lambda x: in_float64(x, _gamma), lambda dz, x, z: dz * (z * digamma(x)))
)


@elementwise("gammasgn", steps=(0,))
def gammasgn(x: Array) -> Array:
    """The sign of gamma, NaN at its poles; it has no gradient."""
    even = op.Equal(op.Floor(x * 0.5) * 2.0, op.Floor(x))
    sign = op.Where(op.Or(x > 0.0, even), np.ones((), x.dtype), -1.0)
    zero = op.Where(op.Reciprocal(x) < 0.0, -1.0, np.ones((), x.dtype))
    undefined = op.Or(op.IsNaN(x), op.And(x < 0.0, op.Equal(op.Floor(x), x)))
    return op.Where(undefined, math.nan, op.Where(op.Equal(x, 0.0), zero, sign))
