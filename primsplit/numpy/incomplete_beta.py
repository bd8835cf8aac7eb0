"""The incomplete beta functions: a continued fraction, in a Loop that ends where all elements have converged.

The derivative in the last argument is the density. Those in the shapes have no closed form: refused.
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
    held,
    in_float64,
    log_of_ratio,
    nothing,
    number,
    settled_factor,
    stirling_rest,
)
from primsplit.numpy.special import betaln, digamma
from primsplit.numpy.ufuncs import elementwise
from primsplit.numpy.units import Unit, unit
from primsplit.ops import op
from primsplit.passes.compositions.exponential import log1p


def _beta_fraction(a: Array, b: Array, x: Array) -> Array:
    """The fraction of NIST Digital Library of Mathematical Functions, 8.17.22, two terms a step, by Lentz's method."""

    def step(m: Array, c: Array, d: Array, value: Array, change: Array) -> list[Array]:
        twice = m * 2.0
        even = m * (b - m) * x / ((a - 1.0 + twice) * (a + twice))
        odd = -(a + m) * (a + b + m) * x / ((a + twice) * (a + 1.0 + twice))
        for numerator in (even, odd):
            d = op.Reciprocal(_nonzero(numerator * d + 1.0))
            c = _nonzero(numerator / c + 1.0)
            factor, change = settled_factor(c * d)
            value = value * factor
        return [m + 1.0, c, d, value, change]

    start = op.Reciprocal(_nonzero(1.0 - (a + b) * x / (a + 1.0)))
    *_, value, change = until(all_settled, step, [number(1.0), ones_like(x), start, start, ones_like(x)], MOST)
    return op.Where(change > 16 * EPS, math.nan, value)


def _nonzero(x: Array) -> Array:
    return op.Where(op.Abs(x) < TINY, TINY, x)


def _beta_parts(a: Array, b: Array, x: Array) -> tuple[Array, Array]:
    """The lower and the upper function: the fraction from the nearer end."""
    shaped = op.And(op.And(a > 0.0, a < math.inf), op.And(b > 0.0, b < math.inf))
    inside = op.And(shaped, op.And(x > 0.0, x < 1.0))
    first_is_none = op.And(op.Equal(a, 0.0), op.And(b > 0.0, b < math.inf))
    second_is_none = op.And(op.Equal(b, 0.0), op.And(a > 0.0, a < math.inf))
    a, b = op.Where(shaped, a, 1.0), op.Where(shaped, b, 1.0)
    from_above = x > (a + 1.0) / (a + b + 2.0)
    first, second = op.Where(from_above, b, a), op.Where(from_above, a, b)
    safe = op.Where(inside, x, 0.5)
    place = op.Where(inside, op.Where(from_above, 1.0 - x, x), 0.0)
    near = _beta_power(a, b, safe) / first * _beta_fraction(first, second, place)
    far = 1.0 - near
    below = op.Or(op.Equal(x, 0.0), second_is_none)
    above = op.Or(op.Equal(x, 1.0), first_is_none)
    defined = op.Or(shaped, op.Or(first_is_none, second_is_none))
    undefined = op.Not(op.And(defined, op.And(x >= 0.0, x <= 1.0)))
    parts = (op.Where(from_above, far, near), op.Where(from_above, near, far))
    lower, upper = (
        op.Where(undefined, math.nan, op.Where(below, at, op.Where(above, 1.0 - at, part)))
        for at, part in ((np.asarray(0.0), parts[0]), (np.asarray(1.0), parts[1]))
    )
    return lower, upper


def _beta_power(a: Array, b: Array, x: Array) -> Array:
    """x**a (1 - x)**b / B(a, b), for two large shapes about x = a / (a + b), where the three powers would cancel."""
    plain = op.Exp(a * op.Log(x) + b * log1p(-x) - betaln(a, b))
    return op.Where(op.Min(a, b) >= STIRLINGS, _beta_about(a, b, x), plain)


def _beta_about(a: Array, b: Array, x: Array) -> Array:
    a, b = op.Max(a, STIRLINGS), op.Max(b, STIRLINGS)
    total = a + b
    first, second = a / total, b / total
    away = x - first
    exponent = a * log_of_ratio(x, first, away) + b * log_of_ratio(1.0 - x, second, -away)
    exponent = exponent + stirling_rest(total) - stirling_rest(a) - stirling_rest(b)
    return op.Exp(exponent) * op.Sqrt(a * second * (0.5 / math.pi))


def _beta_density(a: Array, b: Array, x: Array) -> Array:
    """x**(a - 1) (1 - x)**(b - 1) / B(a, b)."""
    plain = op.Exp(_scaled_log(a, op.Log(x)) + _scaled_log(b, log1p(-x)) - betaln(a, b))
    return op.Where(op.Min(a, b) >= STIRLINGS, _beta_about(a, b, x) / _nonzero(x * (1.0 - x)), plain)


def _scaled_log(shape: Array, logarithm: Array) -> Array:
    """(shape - 1) logarithm, 0 for a shape of 1 at -inf too."""
    return op.Where(op.Equal(shape, 1.0), 0.0, (shape - 1.0) * logarithm)


def _over(shape: Array, x: Array) -> Array:
    """(shape - 1) / x, 0 for a shape of 1."""
    return op.Where(op.Equal(shape, 1.0), 0.0, (shape - 1.0) / x)


beta_density = unit(
    "beta_density",
    in_float64(_beta_density),
    lambda dz, a, b, x, z: dz * (z * (op.Log(x) - digamma(a) + digamma(a + b))),
    lambda dz, a, b, x, z: dz * (z * (op.Log(1.0 - x) - digamma(b) + digamma(a + b))),
    lambda dz, a, b, x, z: dz * (z * (_over(a, x) - _over(b, 1.0 - x))),
)


def _beta_unit(name: str, part: int) -> Unit:
    sign = 1.0 - 2.0 * part
    return unit(
        name,
        in_float64(lambda a, b, x: _beta_parts(a, b, x)[part]),
        lambda dz, a, b, x, z: nothing(dz),
        lambda dz, a, b, x, z: nothing(dz),
        lambda dz, a, b, x, z: dz * (beta_density(a, b, x) * sign),
    )


_lower_beta, _upper_beta = _beta_unit("betainc", 0), _beta_unit("betaincc", 1)
beta_first, beta_second = held("betainc", "a"), held("betainc", "b")
upper_beta_first, upper_beta_second = held("betaincc", "a"), held("betaincc", "b")


@elementwise("betainc")
def betainc(a: Array, b: Array, x: Array) -> Array:
    """The regularized incomplete beta function. About 2 sqrt(a + b) steps of 30 passes at worst."""
    return _lower_beta(beta_first(a), beta_second(b), x)


@elementwise("betaincc")
def betaincc(a: Array, b: Array, x: Array) -> Array:
    """1 less betainc, accurate where that is near 1."""
    return _upper_beta(upper_beta_first(a), upper_beta_second(b), x)
