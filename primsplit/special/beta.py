"""SciPy's beta function and its logarithm, whose derivatives are differences of digamma."""

import math
from collections.abc import Iterator

import numpy as np

from primsplit.numpy.approximations import gamma
from primsplit.numpy.exponential import log1p
from primsplit.numpy.ufuncs import elementwise
from primsplit.numpy.units import unit
from primsplit.ops import op
from primsplit.special.gamma import BERNOULLI, digamma, gammasgn, polygamma
from primsplit.special.incomplete import in_float64, stirling_rest
from primsplit.tracing.array import Array

STIRLING = 6.0
"""From here on Stirling's formula is used, with the rest that it leaves."""
SHIFT = 10
SERIES = 7
"""Number of terms of digamma's asymptotic series; from SHIFT on, the next is below 1e-15 of the logarithmic term."""


def _betaln(a: Array, b: Array) -> Array:
    """Sums of lgamma.

    If one argument and the sum are above 6, Stirling's formula gives its lgamma less that of the sum in one step.
    """
    large, small = op.Max(a, b), op.Min(a, b)
    value = gamma.lgamma(small) - _gammaln_rise(large, small)
    is_endless = op.And(op.Equal(large, math.inf), op.And(small > 0.0, small < math.inf))
    value = op.Where(is_endless, np.asarray(-math.inf), value)
    return op.Where(_is_pole(a, b), math.inf, op.Where(_is_finite_at_poles(a, b), _log_of_choices(a, b), value))


def _stirling_rise(x: Array, by: Array) -> Array:
    """lgamma(x + by) - lgamma(x) by Stirling's formula, where both arguments are at least STIRLING."""
    total = x + by
    lead: Array = (total - 0.5) * log1p(by / x) + by * op.Log(x) - by
    rise: Array = lead + (stirling_rest(total) - stirling_rest(x))
    return rise


def _gammaln_rise(x: Array, by: Array) -> Array:
    is_far = op.And(x >= STIRLING, x + by >= STIRLING)
    far = _stirling_rise(op.Where(is_far, x, STIRLING), op.Where(is_far, by, 0.0))
    return op.Where(is_far, far, gamma.lgamma(x + by) - gamma.lgamma(x))


WHOLE = 2.0**31
"""SciPy treats whole numbers as poles of the gamma function only within the range of a C int."""


def _is_whole(x: Array) -> Array:
    return op.Equal(op.Floor(x), x)


def _is_pole(a: Array, b: Array) -> Array:
    """Return where one of the numbers is a pole of the gamma function that the sum does not cancel."""
    has_pole = op.Or(op.And(a <= 0.0, _is_whole(a)), op.And(b <= 0.0, _is_whole(b)))
    return op.And(has_pole, op.Not(_is_finite_at_poles(a, b)))


def _is_finite_at_poles(a: Array, b: Array) -> Array:
    """Return where one number is a pole, the other a positive whole number, and the sum a pole too."""
    low, high = op.Min(a, b), op.Max(a, b)
    whole = op.And(op.And(_is_whole(low), low > -WHOLE), op.And(_is_whole(high), high >= 1.0))
    return op.And(op.And(whole, low < 0.0), low + high < 1.0)


def _log_of_choices(a: Array, b: Array) -> Array:
    """The logarithm of B(1 - a - b, b) for such numbers, b the positive one: B(a, b) up to the sign of (-1)**b."""
    held = _is_finite_at_poles(a, b)
    low, high = op.Where(held, op.Min(a, b), -2.0), op.Where(held, op.Max(a, b), 1.0)
    rest = 1.0 - low - high
    return gamma.lgamma(rest) + gamma.lgamma(high) - gamma.lgamma(1.0 - low)


def _digamma_rise(x: Array, by: Array) -> Array:
    total = by * 0.0
    for k in range(SHIFT):
        total = total + by / (x + float(k)) / (x + by + float(k))
    low, high = op.Reciprocal(x + float(SHIFT)), op.Reciprocal(x + by + float(SHIFT))
    series = 0.5 + sum(b / (2 * n) * s for n, (b, s) in enumerate(_rises(low, high, 0), start=1))
    rise: Array = total + log1p(by * low) + by * low * high * series
    return rise


def _trigamma_rise(x: Array, by: Array) -> Array:
    total = by * 0.0
    for k in range(SHIFT):
        low, high = op.Reciprocal(x + float(k)), op.Reciprocal(x + by + float(k))
        total = total + by * low * high * (low + high)
    low, high = op.Reciprocal(x + float(SHIFT)), op.Reciprocal(x + by + float(SHIFT))
    series = 1.0 + (low + high) * 0.5 + sum(b * s for b, s in _rises(low, high, 1))
    rise: Array = -(total + by * low * high * series)
    return rise


def _rises(low: Array, high: Array, order: int) -> Iterator[tuple[float, Array]]:
    """Bernoulli's numbers B2, B4, ..., and (low**m - high**m) / (low - high) for m = 2 + order, 4 + order, ..."""
    power, found = high, low + high
    for m in range(2, 2 * SERIES + order + 1):
        if m >= 2 + order and (m - order) % 2 == 0:
            yield BERNOULLI[(m - order) // 2 - 1], found
        power = power * high
        found = found * low + power


trigamma_rise = in_float64(_trigamma_rise)
"""trigamma(x + by) - trigamma(x) for positive numbers, accurate relative to its own size."""
digamma_rise = unit(
    "digamma_rise",
    in_float64(_digamma_rise),
    lambda dz, x, by, z: dz * trigamma_rise(x, by),
    lambda dz, x, by, z: dz * polygamma(x + by, 1),
)
"""digamma(x + by) - digamma(x) for positive numbers, accurate relative to its own size even if `by` is small.

The recurrence up to x + 10, and the differences of the asymptotic series there. NIST Digital Library of Mathematical
Functions, 5.5.2, 5.11.2 and 5.15.8.
"""


gammaln_rise = unit(
    "gammaln_rise",
    in_float64(_gammaln_rise),
    lambda dz, x, by, z: dz * digamma_rise(x, by),
    lambda dz, x, by, z: dz * digamma(x + by),
)
"""gammaln(x + by) - gammaln(x) for positive x and x + by, without the cancellation of large logarithms."""


def _slope(own: Array, other: Array) -> Array:
    """The derivative of betaln in its argument `own`."""
    positive = op.And(own > 0.0, own + other > 0.0)
    rise = digamma_rise(op.Where(positive, own, 1.0), op.Where(positive, other, 1.0))
    return op.Where(positive, -rise, digamma(own) - digamma(own + other))


betaln = elementwise("betaln")(
    unit(
        "betaln",
        in_float64(_betaln),
        lambda dz, a, b, z: dz * _slope(a, b),
        lambda dz, a, b, z: dz * _slope(b, a),
    )
)


def _beta(a: Array, b: Array) -> Array:
    sign: Array = gammasgn(a) * gammasgn(b) * gammasgn(a + b)
    high = op.Max(a, b)
    of_whole = op.Where(op.Equal(op.Floor(high * 0.5) * 2.0, high), 1.0, -1.0)
    sign = op.Where(_is_finite_at_poles(a, b), of_whole, op.Where(op.IsNaN(sign), 1.0, sign))
    are_poles = op.And(op.Max(a, b) <= 0.0, op.And(_is_whole(a), _is_whole(b)))
    of_second = op.Where(op.Equal(op.Floor(b * 0.5) * 2.0, b), 1.0, -1.0)
    return op.Where(are_poles, of_second, sign) * op.Exp(_betaln(a, b))


beta = elementwise("beta")(
    unit(
        "beta",
        in_float64(_beta),
        lambda dz, a, b, z: dz * (z * _slope(a, b)),
        lambda dz, a, b, z: dz * (z * _slope(b, a)),
    )
)
