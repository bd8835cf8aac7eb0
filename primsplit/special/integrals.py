"""SciPy's exponential integrals, by piecewise fits; E_n of higher orders by its series and its continued fraction.

NIST Digital Library of Mathematical Functions, chapters 6 and 8.19; W. J. Cody and H. C. Thacher, Rational Chebyshev
Approximations for the Exponential Integral Ei(x), Math. Comp. 23 (1969). Coefficients: tools/fit_approximations.py.
"""

import math

import numpy as np

from primsplit.numpy.approximations.coefficients import FITS
from primsplit.numpy.approximations.error_function import in_float64
from primsplit.numpy.approximations.exponential import log1p
from primsplit.numpy.approximations.signs import with_end
from primsplit.numpy.dense.loop import until
from primsplit.numpy.ufuncs import Elementwise, elementwise
from primsplit.numpy.units import unit
from primsplit.ops import op
from primsplit.special.gamma import digamma, gamma_function
from primsplit.special.incomplete import EPS, MOST, TINY, all_settled, held, nothing, number, settled_factor
from primsplit.special.incomplete import in_float64 as widened
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import ones_like

EXPI_ZERO = (0.3725074107813666, 1.3140183414386028e-17)
"""The zero of Ei, in two parts."""
EULER = 0.5772156649015329
SERIES_TERMS = 20
"""At x = 1 the next term of the series of E_n is below 1e-18."""


def _exp1(x: Array) -> Array:
    """E1 of positive numbers, infinite at 0; NaN below."""
    near = op.Clip(x, 0.0, 1.0)
    far = op.Clip(x, 1.0, None)
    inverse = op.Reciprocal(far)
    by_series = FITS["EXP1"](near) * near - (op.Log(near) + EULER)
    value = op.Where(x > 1.0, op.Exp(-far) * inverse * FITS["EXP1_TAIL"](inverse), by_series)
    value = op.Where(op.Equal(x, math.inf), 0.0, value)
    return op.Where(op.Or(x < 0.0, op.IsNaN(x)), math.nan, value)


def _expi(x: Array) -> Array:
    """Ei: -E1(-x) below 0; above, the logarithm and a fit with the zero as a factor, and the tail in three pieces."""
    near = op.Clip(x, TINY, 6.0)
    high, low = EXPI_ZERO
    away = near - high - low
    ratio = away / high
    logarithm = op.Where(op.Abs(ratio) < 0.5, log1p(ratio), op.Log(near) - math.log(high))
    far = op.Clip(x, 6.0, 1e300)
    inverse = op.Reciprocal(far)
    tail = op.Where(
        far > 12.0,
        op.Where(far > 24.0, FITS["EXPI_FARTHEST"](inverse), FITS["EXPI_FARTHER"](inverse)),
        FITS["EXPI_FAR"](inverse),
    )
    half = op.Exp(far * 0.5)  # in two halves: the exponential alone overflows before the result does
    positive = op.Where(x > 6.0, half * (tail * inverse) * half, logarithm + away * FITS["EXPI"](near))
    positive = op.Where(op.Equal(x, math.inf), math.inf, positive)
    value = op.Where(x > 0.0, positive, -_exp1(op.Where(x > 0.0, 1.0, -x)))
    return op.Where(op.IsNaN(x), x, value)


exp1 = elementwise("exp1")(
    unit("exp1", lambda x: in_float64(x, _exp1), lambda dz, x, z: dz * (op.Exp(-x) / -x)),
)
expi = elementwise("expi")(
    unit("expi", lambda x: in_float64(x, _expi), lambda dz, x, z: dz * (op.Exp(x) / x)),
)


def _expn(n: Array, x: Array) -> Array:
    """E_n(x) for n >= 0, x >= 0."""
    is_far = x > 1.0
    near = op.Where(op.Or(is_far, x <= 0.0), 0.5, x)
    far = op.Where(op.And(is_far, x < math.inf), x, 2.0)
    order = op.Clip(n, 1.0, None)
    at_zero = op.Where(n > 1.0, op.Reciprocal(op.Max(n - 1.0, 0.5)), math.inf)
    value = op.Where(is_far, op.Exp(-far) * _fraction(order, far), _series(order, near))
    positive = op.Clip(x, TINY, None)
    value = op.Where(op.Equal(n, 0.0), op.Exp(-positive) / positive, value)
    value = with_end(x, at_zero, op.Where(op.Equal(x, math.inf), 0.0, value))
    return op.Where(op.Or(op.Or(x < 0.0, n < 0.0), op.IsNaN(x + n)), math.nan, value)


def _series(n: Array, x: Array) -> Array:
    """Equation 8.19.8; n - 1 is the place of the logarithm."""
    is_odd = op.Equal(op.Floor(n * 0.5) * 2.0, n)
    lead: Array = op.Pow(x, n - 1.0) / gamma_function(n)
    total: Array = op.Where(is_odd, -lead, lead) * (digamma(n) - op.Log(x))
    power = ones_like(x)
    for k in range(SERIES_TERMS):
        place = n - (k + 1.0)
        is_lead = op.Equal(place, 0.0)
        total = total + op.Where(is_lead, 0.0, power / op.Where(is_lead, 1.0, place))
        power = power * (x * (-1.0 / (k + 1)))
    return total


def _fraction(n: Array, x: Array) -> Array:
    """exp(x) E_n(x) by the fraction of equation 8.19.17, contracted, in Lentz's method."""

    def step(k: Array, b: Array, c: Array, d: Array, value: Array, change: Array) -> list[Array]:
        numerator = -k * (n - 1.0 + k)
        b = b + 2.0
        d = op.Reciprocal(numerator * d + b)
        c = b + numerator / c
        factor, change = settled_factor(c * d)
        return [k + 1.0, b, c, d, value * factor, change]

    first = x + n
    start = op.Reciprocal(first)
    carries = [number(1.0), first, ones_like(x) * (1 / TINY), start, start, ones_like(x)]
    *_, value, change = until(all_settled, step, carries, MOST)
    return op.Where(change > 16 * EPS, math.nan, value)


_expn_unit = unit(
    "expn",
    widened(_expn),
    lambda dz, n, x, z: nothing(dz),
    lambda dz, n, x, z: -dz * expn_of(n - 1.0, x),
)
_order: Elementwise = held("expn", "n")


def expn_of(n: Array, x: Array) -> Array:
    """E_n of an order that is a float, at least -1."""
    return op.Where(n < 0.0, op.Exp(-x) * (x + 1.0) / (x * x), _expn_unit(op.Clip(n, 0.0, None), x))


@elementwise("expn")
def expn(n: Array, x: Array) -> Array:
    """The generalized exponential integral of an integer order; a fraction of the order is dropped, as in SciPy."""
    if not n.type.is_float:
        return _expn_unit(op.Cast(n, to=x.dtype), x)
    fraction = n - op.Cast(op.Cast(n, to=np.int64), to=n.dtype)
    return _expn_unit(_order(n) - fraction, x)
