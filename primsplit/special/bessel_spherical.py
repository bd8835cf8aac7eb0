"""Spherical Bessel functions j, y, i and k of whole orders that are known when tracing.

The orders 0 and 1 are elementary (10.49), and the recurrence upwards (10.51.1, 10.51.4) leads to the others where it is
stable. Equations are those of the NIST Digital Library of Mathematical Functions, chapter 10.
"""

import math
from collections.abc import Callable

from primsplit.numpy.approximations.error_function import in_float64
from primsplit.numpy.approximations.rational import horner
from primsplit.numpy.approximations.signs import sided
from primsplit.ops import op
from primsplit.special.bessel_fits import power_series
from primsplit.special.bessel_orders import bessel, first_near, upwards
from primsplit.tracing.array import Array
from primsplit.tracing.calls.primitive import Function, primitive, rrule

SUMMED = 3.0
"""Up to it, or up to the order, j is summed."""


@primitive
def spherical(x: Array, kind: str, order: int) -> Array:
    """j, y, i or k, of an order of 0 or more."""
    return in_float64(x, lambda wide: KINDS[kind][0](wide, order))


@rrule(spherical)
def _spherical_rule(x: Array, kind: str, order: int) -> tuple[Array, Function]:
    """Equations 10.51.2 and 10.51.5, in the form that is accurate at 0."""
    return spherical(x, kind, order), lambda dz: (dz * slope(x, kind, order), None, None)


def slope(x: Array, kind: str, order: int) -> Array:
    """The derivative, from the neighbours."""
    _, below, above = KINDS[kind]
    found: Array = spherical(x, kind, order + 1) * (above * (order + 1) / (2 * order + 1))
    if order == 0:
        return found
    last: Array = spherical(x, kind, order - 1)
    return found + last * (below * order / (2 * order + 1))


def _odd_or_even(x: Array, order: int, function: Callable[[Array], Array]) -> Array:
    sign, size = sided(x)
    return sign * function(size) if order % 2 else function(size)


def _power(x: Array, order: int) -> Array:
    """The factor of the sums: x**n / (1 3 5 ... (2 n + 1))."""
    return op.Pow(x, float(order)) * (1.0 / math.prod(range(1, 2 * order + 2, 2)))


def _first(x: Array, order: int) -> Array:
    """j, accurate relative to its size between zeros, or for x below the order."""
    end = max(SUMMED, float(order))

    def of_size(size: Array) -> Array:
        near, far = op.Clip(size, None, end), op.Clip(size, end, None)
        inverse = op.Reciprocal(far)
        zeroth = op.Sin(far) * inverse
        pair = zeroth, (zeroth - op.Cos(far)) * inverse
        sums = _power(near, order) * first_near(near, order + 0.5, end)
        value = op.Where(size > end, upwards(pair, order + 0.5, order, 2.0 * inverse, -1.0), sums)
        return op.Where(op.Equal(size, math.inf), 0.0, value)

    return _odd_or_even(x, order, of_size)


def _second(x: Array, order: int) -> Array:
    """y, accurate relative to its size between zeros; -infinity at 0."""
    inverse = op.Reciprocal(x)
    zeroth = -op.Cos(x) * inverse
    value = upwards((zeroth, (zeroth - op.Sin(x)) * inverse), order + 0.5, order, 2.0 * inverse, -1.0)
    value = op.Where(op.Equal(x, 0.0), -math.inf, value)
    return op.Where(op.Equal(op.Abs(x), math.inf), 0.0, value)


def _modified_first(x: Array, order: int) -> Array:
    """i, by the power series up to 1, and from I."""

    def of_size(size: Array) -> Array:
        near, far = op.Clip(size, None, 1.0), op.Clip(size, 1.0, None)
        series = horner(power_series(order + 0.5, 1.0, 1.0), near * near * 0.25)
        modified = bessel(far, "I", order + 0.5) * op.Sqrt(math.pi / 2 / far)
        value = op.Where(size > 1.0, modified, _power(near, order) * series)
        return op.Where(op.Equal(size, math.inf), size, value)

    return _odd_or_even(x, order, of_size)


def _modified_second(x: Array, order: int) -> Array:
    """k; infinite at 0."""
    inverse = op.Reciprocal(x)
    zeroth = op.Exp(-x) * inverse * (math.pi / 2)
    value = upwards((zeroth, zeroth * (1.0 + inverse)), order + 0.5, order, 2.0 * inverse, 1.0)
    value = op.Where(op.Equal(x, 0.0), math.inf, value)
    return op.Where(op.Equal(op.Abs(x), math.inf), op.Where(x > 0.0, 0.0, x), value)


KINDS: dict[str, tuple[Callable[[Array, int], Array], float, float]] = {
    "j": (_first, 1.0, -1.0),
    "y": (_second, 1.0, -1.0),
    "i": (_modified_first, 1.0, 1.0),
    "k": (_modified_second, -1.0, -1.0),
}
"""Each function, with the signs of its neighbours below and above in its derivative."""
