"""Bessel functions J, Y, I and K of real orders that are known when tracing, and I and K scaled.

An order v is m + u with u in [-1/2, 1/2). Functions of the orders u and u + 1 are sums near 0 and fits far out
(`bessel_fits`), and the recurrence upwards (10.6.1, 10.29.1) leads from them to the order v where it is stable.
Elsewhere J and I have sums of their own. Equations are those of the NIST Digital Library of Mathematical Functions,
chapter 10.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.ir.dims import broadcast_shapes
from primsplit.numpy.approximations.error_function import in_float64
from primsplit.numpy.approximations.rational import horner
from primsplit.numpy.approximations.signs import sided, with_end
from primsplit.numpy.ufuncs import elementwise
from primsplit.ops import op
from primsplit.special.bessel_fits import (
    HANKEL_FROM,
    SECOND_FROM,
    Sums,
    first_tail,
    gamma_halves,
    hankel_tails,
    power_series,
    second_tail,
    temme_sums,
)
from primsplit.special.incomplete import TINY
from primsplit.tracing.array import Array, unsupported
from primsplit.tracing.broadcasting import expand_to
from primsplit.tracing.calls.primitive import Function, primitive, rrule

Ordered = Callable[[Array, float], Array]
Pair = tuple[Array, Array]
MOST = 30
"""The largest order that is supported."""
FIRST_FROM = 8.0
"""The least argument for which the fits for I hold, unless 3/2 of the order is larger."""
OVERFLOWN = 1500.0
"""I of all orders is infinite from here on, in float64."""
DEEPEST = 8.0
"""Up to x = sqrt(DEEPEST v) the power series of J(v) loses no digits."""


def of_orders(name: str, function: Ordered) -> Callable[[Array, Array], Array]:
    """The ufunc of orders and numbers. Raises UnsupportedFunction for orders that are traced or too large."""

    def call(v: Array, x: Array) -> Array:
        orders = v.known()
        if orders is None or not np.all(np.abs(orders) <= MOST):
            raise unsupported(f"scipy.special.{name}, but of known orders up to {MOST},")
        return in_float64(x, lambda wide: _chosen(v, orders, wide, function))

    return call


def _chosen(v: Array, orders: np.ndarray[tuple[int, ...], np.dtype[Any]], x: Array, function: Ordered) -> Array:
    """The function of each order, chosen where `v` has that order."""
    known = sorted({float(order) for order in orders.flat})
    shape = broadcast_shapes(v.shape, x.shape)
    if not known:
        return expand_to(x, shape)
    found = function(x, known[0])
    for order in known[1:]:
        found = op.Where(op.Equal(v, np.asarray(order, v.dtype)), function(x, order), found)
    return expand_to(found, shape)


def _split(order: float) -> tuple[int, float]:
    """m and u of an order."""
    whole = math.floor(order + 0.5)
    return whole, order - whole


def _cos_pi(x: float) -> float:
    return 0.0 if x % 1 == 0.5 else math.cos(math.pi * (x % 2))


def _sin_pi(x: float) -> float:
    return 0.0 if x % 1 == 0 else math.sin(math.pi * (x % 2))


def _mixed(*terms: tuple[float, Callable[[], Array]]) -> Array:
    """The sum of multiples of functions. A function with the factor 0 is not computed, since it may be infinite."""
    first, *rest = (factor * function() for factor, function in terms if factor)
    return sum(rest, first)


def upwards(pair: Pair, order: float, count: int, over: Array, sign: float) -> Array:
    """The function of this order from those `count` orders below and one above that: C(n + 1) = 2 n C(n) / x + ...

    `over` is 2 / x, and `sign` is the sign of C(n - 1).
    """
    last, found = pair
    if count == 0:
        return last
    for n in range(1, count):
        last, found = found, found * (over * (order - count + n)) + (last if sign > 0 else -last)
    return found


def bessel(x: Array, kind: str, order: float) -> Array:
    """J, Y, I or K. J and Y are accurate relative to their size between zeros, or for x below the order."""
    found: Array = of_ratio(x, kind, *order.as_integer_ratio())
    return found


@primitive
def of_ratio(x: Array, kind: str, above: int, below: int) -> Array:
    """The function of the order above / below, two whole numbers, since a float would be an array of the program."""
    return in_float64(x, lambda wide: KINDS[kind][0](wide, above / below))


@rrule(of_ratio)
def _of_ratio_rule(x: Array, kind: str, above: int, below: int) -> tuple[Array, Function]:
    """Half the sum or the difference of the neighbours (10.6.1, 10.29.1)."""
    _, lower, upper = KINDS[kind]
    order = above / below

    def pullback(dz: Array) -> tuple[Array, None, None, None]:
        slope = lower * bessel(x, kind, order - 1.0) + upper * bessel(x, kind, order + 1.0)
        return dz * (slope * 0.5), None, None, None

    return of_ratio(x, kind, above, below), pullback


def _valid(x: Array, order: float, function: Ordered) -> Array:
    """A function of |x|: odd or even for a whole order, else NaN below 0; NaN for x that is not finite, as in SciPy."""
    sign, size = sided(x)
    value = function(size, order)
    if order % 1:
        value = op.Where(x < 0.0, math.nan, value)
    elif order % 2:
        value = sign * value
    return op.Where(op.Equal(size, math.inf), math.nan, value)


# J and Y.


def _first(x: Array, order: float) -> Array:
    """J; below 0 by 10.4.1 and 10.4.7."""
    if order >= 0:
        return _valid(x, order, _first_of_positive)
    cosine, sine = _cos_pi(order), _sin_pi(order)
    return _mixed((cosine, lambda: bessel(x, "J", -order)), (sine, lambda: bessel(x, "Y", -order)))


def _first_of_positive(x: Array, order: float) -> Array:
    """A sum for x up to 3 or the order, and the recurrence upwards beyond."""
    end = max(HANKEL_FROM, order)
    near = op.Clip(x, None, end)
    count, start = _split(order)
    far = op.Clip(x, end, None)
    waves = upwards((_wave(far, start, 0.0), _wave(far, start + 1.0, 0.0)), order, count, 2.0 / far, -1.0)
    sums = op.Pow(near * 0.5, order) * (first_near(near, order, end) / math.gamma(order + 1))
    return op.Where(x > end, waves, sums)


def first_near(x: Array, order: float, end: float) -> Array:
    """0F1(; v + 1; -x**2 / 4) for x <= end.

    The power series of orders so high that it loses no digits, and the recurrence downwards (10.6.1).
    """
    t = x * x * 0.25
    count = max(0, math.ceil(end * end / DEEPEST - order)) if end > HANKEL_FROM else 0
    found = horner(power_series(order + count, end, -1.0), t)
    if count == 0:
        return found
    above = horner(power_series(order + count + 1, end, -1.0), t)
    for k in range(count, 0, -1):
        place = order + k
        found, above = found - t * above * (1.0 / (place * (place + 1.0))), found
    return found


def _wave(x: Array, order: float, quarter: float) -> Array:
    """J, or with a quarter 1/2 Y, far out: Hankel's form (10.17.3), with the phase split so that it is not rounded."""
    inverse = op.Reciprocal(x)
    square = inverse * inverse
    cosine_factor, sine_factor = hankel_tails(order)
    shift = order / 2 + 0.25 + quarter
    cosine, sine = op.Cos(x), op.Sin(x)
    even = cosine * _cos_pi(shift) + sine * _sin_pi(shift)
    odd = sine * _cos_pi(shift) - cosine * _sin_pi(shift)
    wave = cosine_factor(square) * even - sine_factor(square) * inverse * odd
    return wave * (op.Sqrt(inverse) * math.sqrt(2 / math.pi))


def _second(x: Array, order: float) -> Array:
    """Y; below 0 by 10.4.2 and 10.4.8."""
    if order >= 0:
        value = _valid(x, order, _second_of_positive)
        return op.Where(x < 0.0, math.nan, value)
    cosine, sine = _cos_pi(order), _sin_pi(order)
    return _mixed((cosine, lambda: bessel(x, "Y", -order)), (-sine, lambda: bessel(x, "J", -order)))


def _second_of_positive(x: Array, order: float) -> Array:
    """Temme's sums up to 3, Hankel's form beyond, and the recurrence upwards; -infinity at 0."""
    count, start = _split(order)
    near, far = op.Clip(x, TINY, HANKEL_FROM), op.Clip(x, HANKEL_FROM, None)
    sums = _temme(near, start, HANKEL_FROM, oscillating=True)
    pair = [op.Where(x > HANKEL_FROM, _wave(far, start + k, 0.5), sums[k] * (-2.0 / math.pi)) for k in (0, 1)]
    value = upwards((pair[0], pair[1]), order, count, 2.0 / op.Clip(x, TINY, None), -1.0)
    return with_end(x, -math.inf, value)


def _temme(x: Array, order: float, end: float, *, oscillating: bool) -> Pair:
    """The functions of an order in [-1/2, 1/2) and of the next near 0, for x > 0."""
    over = 2.0 / x
    growing = op.Pow(over, order)
    logarithm = op.Log(over)
    difference, half_sum = gamma_halves(order)
    angle = logarithm * order
    hyperbolic = op.Where(op.Abs(angle) < 1.0, op.Sinh(op.Clip(angle, -1.0, 1.0)), (growing - 1.0 / growing) * 0.5)
    odd = hyperbolic * (half_sum / order) if order else logarithm * half_sum
    ratio = order * math.pi / math.sin(order * math.pi) if order else 1.0
    starts = (
        ((growing + 1.0 / growing) * (difference / 2) + odd) * ratio,
        growing * (math.gamma(1.0 + order) / 2),
        (math.gamma(1.0 - order) / 2) / growing,
    )
    value, following = temme_sums(order, end, oscillating=oscillating)
    return _combined(value, starts, x), _combined(following, starts, x) * over


def _combined(sums: Sums, starts: tuple[Array, Array, Array], x: Array) -> Array:
    t = x * x * 0.25
    first, second, third = (horner(c, t) * start for c, start in zip(sums, starts, strict=True))
    return first + second + third


# I and K.


def _modified_first(x: Array, order: float, *, scaled: bool = False) -> Array:
    """I, or exp(-|x|) I; below 0 by 10.27.1 and 10.27.2."""
    if order >= 0 or order % 1 == 0:
        return _valid(x, abs(order), lambda size, v: _modified_of_positive(size, v, scaled=scaled))
    positive = _modified_first(x, -order, scaled=scaled)
    other = _modified_second(x, order, scaled=scaled)
    other = other * op.Exp(-2.0 * x) if scaled else other
    return positive + other * (-2.0 / math.pi * _sin_pi(order))


def _modified_of_positive(x: Array, order: float, *, scaled: bool) -> Array:
    """The power series, whose terms are all positive, or the fit, whose exponential is applied in two halves."""
    start = max(FIRST_FROM, 1.5 * order)
    near, far = op.Clip(x, None, start), op.Clip(x, start, None)
    series = horner(power_series(order, start, 1.0), near * near * 0.25)
    sums = op.Pow(near * 0.5, order) * (series / math.gamma(order + 1))
    inverse = op.Reciprocal(far)
    tail = op.Exp(inverse * (-order * order / 2)) * first_tail(order, start)(inverse) * op.Sqrt(inverse)
    if scaled:
        return op.Where(x > start, tail, sums * op.Exp(-near))
    half = op.Exp(op.Clip(far, None, OVERFLOWN) * 0.5)
    return op.Where(x > start, half * tail * half, sums)


def _modified_second(x: Array, order: float, *, scaled: bool = False) -> Array:
    """K, or exp(x) K, which is even in the order; infinite at 0, NaN below."""
    count, start = _split(abs(order))
    near, far = op.Clip(x, TINY, SECOND_FROM), op.Clip(x, SECOND_FROM, None)
    inverse = op.Reciprocal(far)
    root = op.Sqrt(inverse) * math.sqrt(math.pi / 2)
    outer = root if scaled else root * op.Exp(-far)
    sums = _temme(near, start, SECOND_FROM, oscillating=False)
    inner = [s * op.Exp(near) for s in sums] if scaled else sums
    pair = [op.Where(x > SECOND_FROM, second_tail(start + k)(inverse) * outer, inner[k]) for k in (0, 1)]
    value = upwards((pair[0], pair[1]), abs(order), count, 2.0 / op.Clip(x, TINY, None), 1.0)
    value = with_end(x, math.inf, op.Where(op.Equal(x, math.inf), math.nan if scaled else 0.0, value))
    return op.Where(op.Or(x < 0.0, op.IsNaN(x)), math.nan, value)


KINDS: dict[str, tuple[Ordered, float, float]] = {
    "J": (_first, 1.0, -1.0),
    "Y": (_second, 1.0, -1.0),
    "I": (_modified_first, 1.0, 1.0),
    "K": (_modified_second, -1.0, -1.0),
}
"""Each function, with the factors of its neighbours below and above in twice its derivative."""


@primitive
def scaled_of_ratio(x: Array, kind: str, above: int, below: int) -> Array:
    """I or K scaled.

    It has no rule of its own: the derivative of the fits cancels nothing, that of the product would.
    """
    function = _modified_first if kind == "I" else _modified_second
    return in_float64(x, lambda wide: function(wide, above / below, scaled=True))


def _scaled(x: Array, kind: str, order: float) -> Array:
    found: Array = scaled_of_ratio(x, kind, *order.as_integer_ratio())
    return found


def _scaled_first(x: Array, order: float) -> Array:
    """exp(-|x|) I. Up to 1 it is computed as that product, whose derivatives of any order are accurate at 0 too."""
    size = op.Abs(x)
    is_near = size < 1.0
    near = op.Exp(-size) * bessel(op.Where(is_near, x, 0.0), "I", order)
    return op.Where(is_near, near, _scaled(op.Where(is_near, 1.0, x), "I", order))


jv = elementwise("jv", "jve")(of_orders("jv", lambda x, v: bessel(x, "J", v)))
yv = elementwise("yv", "yn", "yve")(of_orders("yv", lambda x, v: bessel(x, "Y", v)))
iv = elementwise("iv")(of_orders("iv", lambda x, v: bessel(x, "I", v)))
kv = elementwise("kv", "kn")(of_orders("kv", lambda x, v: bessel(x, "K", v)))
ive = elementwise("ive")(of_orders("ive", _scaled_first))
kve = elementwise("kve")(of_orders("kve", lambda x, v: _scaled(x, "K", v)))


@elementwise("y0")
def y0(x: Array) -> Array:
    """The Bessel function of the second kind of order 0."""
    found: Array = bessel(x, "Y", 0.0)
    return found


@elementwise("y1")
def y1(x: Array) -> Array:
    """The Bessel function of the second kind of order 1."""
    found: Array = bessel(x, "Y", 1.0)
    return found
