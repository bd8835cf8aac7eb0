"""The incomplete gamma functions: a series and a continued fraction, in Loops that end where all have converged.

The derivative in the last argument is the density. That in the shape has no closed form: refused.
"""

import math

import numpy as np

from primsplit.array import Array
from primsplit.broadcasting import ones_like
from primsplit.numpy.dense.loop import until
from primsplit.numpy.incomplete import (
    EPS,
    MOST,
    STIRLINGS,
    TINY,
    all_settled,
    converged,
    held,
    in_float64,
    log_of_ratio,
    nothing,
    number,
    settled_factor,
    stirling_rest,
)
from primsplit.numpy.special import digamma, gamma_function
from primsplit.numpy.ufuncs import elementwise
from primsplit.numpy.units import unit
from primsplit.ops import op
from primsplit.passes.compositions.coefficients import LGAMMA
from primsplit.passes.compositions.exponential import expm1

SMALL = 1.1
"""Up to here a power series gives the upper function where it is small."""
SMALL_TERMS = 24


def _power(a: Array, x: Array) -> Array:
    """x**a exp(-x) / gamma(a + 1), each factor where it loses nothing: at once for small a, else about x = a."""
    small = op.Min(a, STIRLINGS)
    bounded = op.Min(x, 1e4)
    plain = op.Exp(-bounded) * op.Pow(bounded, small) / gamma_function(small + 1.0)
    large = op.Max(a, STIRLINGS)
    away = x - large
    exponent = large * log_of_ratio(x, large, away) - away - stirling_rest(large)
    about = op.Exp(exponent) / op.Sqrt(large) * math.sqrt(0.5 / math.pi)
    return op.Where(op.Equal(x, math.inf), 0.0, op.Where(a < STIRLINGS, plain, about))


def _gamma_series(a: Array, x: Array) -> Array:
    """The sum of x**n / ((a + 1) ... (a + n)) from n = 0 (NIST Digital Library of Mathematical Functions, 8.7.1)."""

    def step(n: Array, term: Array, total: Array) -> list[Array]:
        term = term * (x / (a + n))
        return [n + 1.0, term, total + term]

    def settled(n: Array, term: Array, total: Array) -> Array:
        return converged(term - total * (EPS / 4))

    ones = ones_like(x)
    _, term, total = until(settled, step, [number(1.0), ones, ones], MOST)
    return op.Where(term > total * EPS, math.nan, total)


def _gamma_fraction(a: Array, x: Array) -> Array:
    """The upper function over x**a exp(-x) (8.9.2, contracted), by Lentz's method in Thompson and Barnett's form."""
    first = x + 1.0 - a

    def step(n: Array, b: Array, c: Array, d: Array, value: Array, change: Array) -> list[Array]:
        numerator = n * (a - n)
        b = b + 2.0
        d = op.Reciprocal(numerator * d + b)
        c = b + numerator / c
        factor, change = settled_factor(c * d)
        return [n + 1.0, b, c, d, value * factor, change]

    start = op.Reciprocal(first)
    carries = [number(1.0), first, ones_like(x) * (1 / TINY), start, start, ones_like(x)]
    *_, value, change = until(all_settled, step, carries, MOST)
    return op.Where(change > 16 * EPS, math.nan, value)


def _small_upper(a: Array, x: Array) -> Array:
    """The upper function for x up to 1.1 and a small, which 1 less the lower one cancels to (8.7.3)."""
    logarithm = a * op.Log(x) - a * (a - 1.0) * LGAMMA(a + 1.0)
    total, factor = x * 0.0, ones_like(x)
    for n in range(1, SMALL_TERMS):
        factor = factor * (x * (-1.0 / n))
        total = total + factor / (a + float(n))
    return -expm1(logarithm) - a * op.Exp(logarithm) * total


def _gamma_parts(a: Array, x: Array) -> tuple[Array, Array]:
    """The lower and the upper function."""
    inside = op.And(op.And(a > 0.0, a < math.inf), op.And(x > 0.0, x < math.inf))
    by_fraction = op.And(inside, x > op.Max(a + 1.0, SMALL))
    by_series = op.And(inside, op.Not(by_fraction))
    power = _power(op.Where(inside, a, 1.0), op.Where(inside, x, 1.0))
    low = power * _gamma_series(op.Where(by_series, a, 1.0), op.Where(by_series, x, 0.0))
    shape = op.Where(by_fraction, a, 1.0)
    high = power * shape * _gamma_fraction(shape, op.Where(by_fraction, x, 3.0))
    near = op.Where(op.And(by_series, x <= SMALL), x, 0.5)
    border = op.Where(near <= 0.5, -0.4 / op.Log(op.Min(near, 0.5)), near * SMALL)
    is_small = op.And(op.And(by_series, x <= SMALL), a <= border)
    small = _small_upper(op.Where(is_small, a, 0.5), op.Where(is_small, x, 0.5))
    upper = op.Where(by_fraction, high, op.Where(is_small, small, 1.0 - low))
    return _at_ends(a, x, op.Where(by_fraction, 1.0 - high, low), 0.0), _at_ends(a, x, upper, 1.0)


def _at_ends(a: Array, x: Array, inside: Array, at_zero: float) -> Array:
    """What SciPy gives for 0 and infinity; NaN for negative numbers, and for two zeros or two infinities."""
    none, endless = op.Equal(x, 0.0), op.Equal(x, math.inf)
    point, wide = op.Equal(a, 0.0), op.Equal(a, math.inf)
    found = op.Where(op.Or(none, wide), np.asarray(at_zero), op.Where(op.Or(endless, point), 1.0 - at_zero, inside))
    undefined = op.Or(op.Or(a < 0.0, x < 0.0), op.Or(op.And(none, point), op.And(endless, wide)))
    undefined = op.Or(undefined, op.Or(op.IsNaN(a), op.IsNaN(x)))
    return op.Where(undefined, math.nan, found)


def _gamma_density(a: Array, x: Array) -> Array:
    """x**(a - 1) exp(-x) / gamma(a)."""
    none = op.Equal(x, 0.0)
    positive = op.Where(none, 1.0, x)
    at_zero = op.Where(op.Equal(a, 1.0), 1.0, op.Where(a < 1.0, math.inf, np.asarray(0.0)))
    return op.Where(none, at_zero, _power(a, positive) * a / positive)


gamma_density = unit(
    "gamma_density",
    in_float64(_gamma_density),
    lambda dz, a, x, z: dz * (z * (op.Log(x) - digamma(a))),
    lambda dz, a, x, z: dz * (z * (op.Where(op.Equal(a, 1.0), 0.0, (a - 1.0) / x) - 1.0)),
)

_lower = unit(
    "gammainc",
    in_float64(lambda a, x: _gamma_parts(a, x)[0]),
    lambda dz, a, x, z: nothing(dz),
    lambda dz, a, x, z: dz * gamma_density(a, x),
)
_upper = unit(
    "gammaincc",
    in_float64(lambda a, x: _gamma_parts(a, x)[1]),
    lambda dz, a, x, z: nothing(dz),
    lambda dz, a, x, z: -dz * gamma_density(a, x),
)
gamma_shape, upper_gamma_shape = held("gammainc", "a"), held("gammaincc", "a")


@elementwise("gammainc")
def gammainc(a: Array, x: Array) -> Array:
    """The regularized lower incomplete gamma function. About 6 sqrt(a) steps of 4 passes where x is near a."""
    return _lower(gamma_shape(a), x)


@elementwise("gammaincc")
def gammaincc(a: Array, x: Array) -> Array:
    """The regularized upper incomplete gamma function."""
    return _upper(upper_gamma_shape(a), x)
