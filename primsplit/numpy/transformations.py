"""The Box-Cox transformations and their inverses, and the two quotients they use.

(exp(u) - 1) / u and log(1 + u) / u are smooth at 0. Their derivatives of every order are correct there too, and so are
those of the transformations where the exponent is 0.
"""

import math
from typing import Any

import numpy as np

from primsplit.numpy.approximations.error_function import in_float64
from primsplit.numpy.approximations.exponential import expm1, log1p
from primsplit.numpy.approximations.rational import horner
from primsplit.numpy.exponential import log1p as log1p_of
from primsplit.numpy.ufuncs import elementwise
from primsplit.numpy.units import unit
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.calls.primitive import Function, primitive, rrule

NEAR = 4.0
TERMS = 32
"""At |u| = 4 the next term of the power series is below 1e-17 of the sum."""
CLOSE = 0.25
MANY = 34
"""At |u| = 1/4 the next term of the logarithm's series is below 1e-18 of the sum."""
SMALL = 1e-3
"""Up to it the quotients have short series, whose next term is below 1e-18 of the sum."""
EXPONENTIAL = tuple(1.0 / math.factorial(k + 1) for k in range(6))
"""(exp(u) - 1) / u in powers of u."""
LOGARITHM = tuple((-1.0) ** k / (k + 1) for k in range(6))
"""log(1 + u) / u in powers of u."""
NONE = 1e-19
"""An exponent of less, of either sign, counts as 0 for an infinite logarithm."""
LARGEST = float(np.finfo(np.float64).max)
OVERFLOWN = 709.78
"""exp is infinite from here on, in float64."""


@primitive
def exponential_quotient(u: Array, order: int) -> Array:
    """The derivative of this order of (exp(u) - 1) / u: the integral of t**order exp(u t) over t from 0 to 1."""
    return in_float64(u, lambda wide: _exponential_quotient(wide, order))


@rrule(exponential_quotient)
def _exponential_quotient_rule(u: Array, order: int) -> tuple[Array, Function]:
    """The next order."""
    return exponential_quotient(u, order), lambda dz: (dz * exponential_quotient(u, order + 1), None)


def _exponential_quotient(u: Array, order: int) -> Array:
    """Power series of positive terms near 0, for negative u by Kummer's transformation; else by parts, from order 0.

    NIST Digital Library of Mathematical Functions, 13.2.2, 13.2.39 and 13.4.1 for a = order + 1, b = order + 2.
    """
    small = op.Clip(u, -NEAR, NEAR)
    right = horner([1.0 / (math.factorial(j) * (j + order + 1)) for j in range(TERMS)], op.Clip(small, 0.0, None))
    left = horner([1.0 / math.prod(range(order + 1, order + j + 2)) for j in range(TERMS)], op.Clip(-small, 0.0, None))
    near = op.Where(u < 0.0, left * op.Exp(small), right)
    large = op.Where(op.Abs(u) > NEAR, u, NEAR)
    exponential = op.Exp(large)
    found = expm1(large) / large
    for k in range(1, order + 1):
        found = (exponential - found * float(k)) / large
    found = op.Where(op.IsInf(exponential), math.inf, found)
    found = op.Where(op.Equal(u, -math.inf), 0.0, found)
    return op.Where(op.Abs(u) > NEAR, found, op.Where(op.IsNaN(u), u, near))


@primitive
def logarithmic_quotient(u: Array, order: int) -> Array:
    """The derivative of this order of log(1 + u) / u. NaN for u < -1."""
    return in_float64(u, lambda wide: _logarithmic_quotient(wide, order))


@rrule(logarithmic_quotient)
def _logarithmic_quotient_rule(u: Array, order: int) -> tuple[Array, Function]:
    """The next order."""
    return logarithmic_quotient(u, order), lambda dz: (dz * logarithmic_quotient(u, order + 1), None)


def _logarithmic_quotient(u: Array, order: int) -> Array:
    """The power series near 0; else from u f = log(1 + u), differentiated."""
    terms = [(-1.0) ** (j + order) * math.perm(j + order, order) / (j + order + 1) for j in range(MANY)]
    near = horner(terms, op.Clip(u, -CLOSE, CLOSE))
    large = op.Where(op.Abs(u) > CLOSE, u, 1.0)
    inverse = op.Reciprocal(large + 1.0)
    found, power = log1p(large) / large, inverse
    for k in range(1, order + 1):
        found = (power - found * float(k)) / large
        power = power * inverse * -float(k)
    return op.Where(op.Abs(u) > CLOSE, found, op.Where(op.IsNaN(u), u, near))


@elementwise("exprel", is_total=True)
def exprel(x: Array) -> Array:
    """(exp(x) - 1) / x, 1 at 0."""
    found: Array = exponential_quotient(x, 0)
    return found


def _in_float64(function: Any) -> Any:
    """A function of two arrays, computed in float64."""

    def wide(x: Array, y: Array) -> Array:
        if x.dtype == np.float64:
            found: Array = function(x, y)
            return found
        return op.Cast(function(op.Cast(x, to=np.float64), op.Cast(y, to=np.float64)), to=x.dtype)

    return wide


def _transformed(logarithm: Array, exponent: Array) -> Array:
    """(exp(exponent logarithm) - 1) / exponent, by its series about an exponent of 0."""
    product = exponent * op.Clip(logarithm, -LARGEST, LARGEST)
    is_flat = op.Abs(product) < SMALL
    series = logarithm * horner(EXPONENTIAL, op.Where(is_flat, product, 0.0))
    is_small = op.Or(is_flat, op.Abs(exponent) < NONE)
    divisor = op.Where(is_small, 1.0, exponent)
    product = op.Where(is_small, 1.0, product)
    plain = expm1(op.Clip(product, None, OVERFLOWN)) / divisor
    size = op.Abs(divisor)
    huge = op.Exp(product - op.Log(size)) * op.Sign(divisor) - op.Reciprocal(divisor)
    found = op.Where(product > OVERFLOWN, huge, op.Where(op.IsNaN(product), product, plain))
    return op.Where(is_small, series, found)


def _exponent_slope(dz: Array, logarithm: Array, exponent: Array) -> Array:
    """The cotangent of the exponent, L**2 times a derivative of the quotient; at L = -inf that of -1 / exponent."""
    is_zero = op.Equal(logarithm, -math.inf)
    finite = op.Where(is_zero, 0.0, logarithm)
    inside = finite * finite * exponential_quotient(exponent * finite, 1)
    positive = op.Where(exponent > 0.0, exponent, math.nan)
    return dz * op.Where(is_zero, op.Reciprocal(positive * positive), inside)


boxcox = elementwise("boxcox")(
    unit(
        "boxcox",
        _in_float64(lambda x, power: _transformed(op.Log(x), power)),
        lambda dz, x, power, z: dz * op.Pow(x, power - 1.0),
        lambda dz, x, power, z: _exponent_slope(dz, op.Log(x), power),
    )
)

boxcox1p = elementwise("boxcox1p")(
    unit(
        "boxcox1p",
        _in_float64(lambda x, power: _transformed(log1p(x), power)),
        lambda dz, x, power, z: dz * op.Pow(x + 1.0, power - 1.0),
        lambda dz, x, power, z: _exponent_slope(dz, log1p_of(x), power),
    )
)


def _logarithm_back(y: Array, exponent: Array) -> Array:
    """log(1 + exponent y) / exponent, by its series about an exponent of 0."""
    product = exponent * op.Clip(y, -LARGEST, LARGEST)
    is_small = op.Abs(product) < SMALL
    series = y * horner(LOGARITHM, op.Where(is_small, product, 0.0))
    divisor = op.Where(is_small, 1.0, exponent)
    product = op.Where(is_small, 1.0, exponent * y)
    overflown = op.Equal(product, math.inf)
    logarithm = op.Where(
        overflown, op.Log(op.Abs(y)) + op.Log(op.Abs(divisor)), log1p(op.Where(overflown, 1.0, product))
    )
    return op.Where(is_small, series, logarithm / divisor)


def _back_slope(dz: Array, y: Array, exponent: Array, x: Array) -> Array:
    """The cotangent of the exponent where x is exp(log(1 + exponent y) / exponent)."""
    slope: Array = x * y * y * logarithmic_quotient(exponent * y, 1)
    return dz * slope


inv_boxcox = elementwise("inv_boxcox")(
    unit(
        "inv_boxcox",
        _in_float64(lambda y, power: op.Exp(_logarithm_back(y, power))),
        lambda dz, y, power, x: dz * (x / (power * y + 1.0)),
        _back_slope,
    )
)

inv_boxcox1p = elementwise("inv_boxcox1p")(
    unit(
        "inv_boxcox1p",
        _in_float64(lambda y, power: expm1(_logarithm_back(y, power))),
        lambda dz, y, power, x: dz * ((x + 1.0) / (power * y + 1.0)),
        lambda dz, y, power, x: _back_slope(dz, y, power, x + 1.0),
    )
)
