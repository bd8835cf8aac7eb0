"""Struve functions H and L of real orders that are known when tracing.

NIST Digital Library of Mathematical Functions, chapter 11. Near 0, H is a quadrature of 11.5.1, whose terms do not
cancel, and L is its power series. Far out they are Y and I plus a remainder: a fit of 11.5.2, and the series 11.6.2.
"""

import functools
import math
from collections.abc import Callable

import numpy as np

from primsplit.numpy.approximations.error_function import in_float64
from primsplit.numpy.approximations.rational import horner
from primsplit.numpy.approximations.signs import sided, with_end
from primsplit.numpy.ufuncs import elementwise
from primsplit.ops import op
from primsplit.special.bessel_fits import Fit, Numbers, fitted
from primsplit.special.bessel_orders import bessel, of_orders
from primsplit.special.incomplete import TINY
from primsplit.special.quadrature import gauss_jacobi
from primsplit.tracing.array import Array
from primsplit.tracing.calls.primitive import Function, primitive, rrule

ORDINARY_FROM = 6.0
"""From here, or from the order on, H is Y plus a fit."""
MODIFIED_FROM = 20.0
"""From here, or from 3/2 of the order on, L is I plus a series."""
LOW = 2.0
"""Up to it, H of orders below -1/2 is its power series; beyond, it comes from higher orders."""
FAR_TERMS = 14
TERMS = 80
LARGEST = 1e300


def _over_gamma(x: float) -> float:
    """1 / gamma(x), 0 at its poles."""
    return 0.0 if x <= 0 and x % 1 == 0 else 1.0 / math.gamma(x)


def _struve(x: Array, kind: str, order: float) -> Array:
    """H or L; of order -1 by that of order 1 (11.4.23), so that derivatives of whole orders are exact at 0."""
    if order == -1.0:
        other = _struve(x, kind, 1.0)
        return 2.0 / math.pi + (other if kind == "L" else -other)
    found: Array = struve_of_ratio(x, kind, *order.as_integer_ratio())
    return found


@primitive
def struve_of_ratio(x: Array, kind: str, above: int, below: int) -> Array:
    """H or L of the order above / below, two whole numbers, since a float would be an array of the program."""
    return in_float64(x, lambda wide: _valid(wide, KINDS[kind], above / below))


@rrule(struve_of_ratio)
def _struve_rule(x: Array, kind: str, above: int, below: int) -> tuple[Array, Function]:
    """Equations 11.4.25 and 11.4.27, solved for the derivative."""
    order = above / below

    def pullback(dz: Array) -> tuple[Array, None, None, None]:
        lower, upper = (_struve(x, kind, order + side) for side in (-1.0, 1.0))
        neighbours = lower - upper if kind == "H" else lower + upper
        return dz * ((neighbours + _beside(x, order)) * 0.5), None, None, None

    return struve_of_ratio(x, kind, above, below), pullback


def _beside(x: Array, order: float) -> Array:
    """The inhomogeneous term of the recurrences: (x / 2)**order / (sqrt(pi) gamma(order + 3/2))."""
    factor = _over_gamma(order + 1.5) / math.sqrt(math.pi)
    return op.Pow(x * 0.5, order) * factor if order else x * 0.0 + factor


def _valid(x: Array, function: Callable[[Array, float], Array], order: float) -> Array:
    """A function of |x|: odd or even for a whole order, else NaN below 0; NaN at infinity."""
    sign, size = sided(x)
    if order < 0.0:
        value = with_end(x, _at_zero(order), function(op.Clip(size, TINY, None), order))
    else:
        value = function(size, order)
    if order % 1:
        value = op.Where(x < 0.0, math.nan, value)
    elif order % 2 == 0:
        value = sign * value
    return op.Where(op.Or(op.IsNaN(x), op.Equal(size, math.inf)), math.nan, value)


def _at_zero(order: float) -> float:
    """The limit at 0, from the first nonzero term of the power series."""
    terms = ((order + 1 + 2 * k, _over_gamma(k + order + 1.5) / math.gamma(k + 1.5)) for k in range(TERMS))
    power, factor = next((p, f) for p, f in terms if f)
    return 0.0 if power > 0 else factor if power == 0 else math.copysign(math.inf, factor)


def _power_series(x: Array, order: float, end: float, sign: float) -> Array:
    """Equations 11.2.1 and 11.2.2 for x <= end."""
    terms = [sign**k * _over_gamma(k + order + 1.5) / math.gamma(k + 1.5) for k in range(TERMS)]
    sizes = [abs(c) * (end * end / 4) ** k for k, c in enumerate(terms)]
    last = max(k for k, size in enumerate(sizes) if size > 1e-20 * max(sizes))
    return op.Pow(x * 0.5, order + 1.0) * horner(terms[: max(last, 1) + 1], x * x * 0.25)


def _ordinary(x: Array, order: float) -> Array:
    """H for x > 0."""
    start = max(ORDINARY_FROM, abs(order))
    near, far = op.Clip(x, None, start), op.Clip(x, start, LARGEST)
    inverse = op.Reciprocal(far)
    factor = _over_gamma(order + 0.5) / math.sqrt(math.pi)
    rest = op.Pow(far * 0.5, order - 1.0) * (_tail(order, start)(inverse * inverse) * factor)
    close = _quadrature(near, order, start) if order > -0.5 else _of_low_order(near, order)
    return op.Where(x > start, bessel(far, "Y", order) + rest, close)


def _quadrature(x: Array, order: float, end: float) -> Array:
    """Equation 11.5.1 in the square of its variable, for x <= end and an order above -1/2."""
    sums = x * 0.0
    for node, weight in gauss_jacobi(8 + math.ceil(end / 3), 0.0, order - 0.5):
        sums = sums + op.Sin(x * math.sqrt(node)) * (weight / math.sqrt(node))
    return op.Pow(x * 0.5, order) * (sums * (_over_gamma(order + 0.5) / math.sqrt(math.pi)))


def _of_low_order(x: Array, order: float) -> Array:
    """The power series near 0; else the recurrence downwards (11.4.23), which is stable, from two orders above -1/2."""
    near, far = op.Clip(x, None, LOW), op.Clip(x, LOW, None)
    start = order + math.floor(0.5 - order)
    found, above = (_struve(far, "H", start + k) for k in (0.0, 1.0))
    over = 2.0 / far
    while start > order:
        found, above = found * (over * start) + _beside(far, start) - above, found
        start -= 1.0
    return op.Where(x > LOW, found, _power_series(near, order, LOW, -1.0))


@functools.cache
def _tail(order: float, start: float) -> Fit:
    """The integral of exp(-u) (1 + w u**2)**(v - 1/2) for w = 1 / x**2, x >= start, by the trapezoidal rule."""
    places = np.arange(-88, 112) / 20
    u = np.exp(places - np.exp(-places))
    weights = np.exp(-u) * u * (1.0 + np.exp(-places)) / 20

    def integral(w: Numbers) -> Numbers:
        found: Numbers = (1.0 + np.multiply.outer(w, u * u)) ** (order - 0.5) @ weights
        return found

    return fitted(integral, start**-2)


def _modified(x: Array, order: float) -> Array:
    """L for x > 0."""
    start = max(MODIFIED_FROM, 1.5 * abs(order))
    near, far = op.Clip(x, None, start), op.Clip(x, start, LARGEST)
    terms = [-((-1.0) ** k) * math.gamma(k + 0.5) * _over_gamma(order + 0.5 - k) / math.pi for k in range(FAR_TERMS)]
    inverse = op.Reciprocal(far)
    rest = op.Pow(far * 0.5, order - 1.0) * horner(terms, inverse * inverse * 4.0)
    return op.Where(x > start, bessel(far, "I", order) + rest, _power_series(near, order, start, 1.0))


KINDS: dict[str, Callable[[Array, float], Array]] = {"H": _ordinary, "L": _modified}

struve = elementwise("struve")(of_orders("struve", lambda x, v: _struve(x, "H", v)))
modstruve = elementwise("modstruve")(of_orders("modstruve", lambda x, v: _struve(x, "L", v)))
