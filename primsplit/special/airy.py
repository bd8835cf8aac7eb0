"""Airy functions: power series for |x| up to 1, and Bessel functions of thirds beyond.

NIST Digital Library of Mathematical Functions, 9.4.1 to 9.4.4 and 9.6.2 to 9.6.9. The second derivative is x times the
function (9.2.1).
"""

import math
from collections.abc import Callable

from primsplit.numpy.approximations.error_function import in_float64
from primsplit.numpy.approximations.rational import horner
from primsplit.numpy.ufuncs import elementwise
from primsplit.ops import op
from primsplit.special.bessel_orders import bessel
from primsplit.tracing.array import Array
from primsplit.tracing.calls.primitive import Function, primitive, rrule

NEAR = 1.0
TERMS = 8
AT_ZERO = (0.355028053887817239, 0.258819403792806798)
"""Ai and -Ai' at 0."""
LARGEST = 1e8
"""From here on Ai and its derivative are 0, and Bi and its derivative infinite, in float64."""


@primitive
def airy_part(x: Array, kind: str, order: int) -> Array:
    """Ai or Bi, or the derivative; NaN at infinity, as in SciPy.

    Below 0 it is accurate relative to its size between zeros.

    Where Bi is too large for a float, the result is infinite, and SciPy's is NaN.
    """
    return in_float64(x, lambda wide: _airy(wide, kind, order))


@rrule(airy_part)
def _airy_rule(x: Array, kind: str, order: int) -> tuple[Array, Function]:
    """The derivative, or Airy's equation."""

    def slope() -> Array:
        found: Array = airy_part(x, kind, 1 - order)
        return x * found if order else found

    return airy_part(x, kind, order), lambda dz: (dz * slope(), None, None)


def _airy(x: Array, kind: str, order: int) -> Array:
    near = op.Clip(x, -NEAR, NEAR)
    right, left = op.Clip(x, NEAR, LARGEST), op.Clip(-x, NEAR, None)
    value = op.Where(op.Abs(x) <= NEAR, _near(near, kind, order), _right(right, kind, order))
    value = op.Where(x < -NEAR, _left(left, kind, order), value)
    return op.Where(op.Or(op.IsNaN(x), op.Equal(op.Abs(x), math.inf)), math.nan, value)


def _near(x: Array, kind: str, order: int) -> Array:
    """The power series of both solutions, in x**3."""
    cube = x * x * x
    even, odd = _coefficients((2, 3)), _coefficients((3, 4))
    if order:
        # The derivatives of sums of even[k] x**(3 k) and odd[k] x**(3 k + 1).
        first = horner([c * 3 * (k + 1) for k, c in enumerate(even[1:])], cube) * (x * x)
        second = horner([c * (3 * k + 1) for k, c in enumerate(odd)], cube)
    else:
        first, second = horner(even, cube), horner(odd, cube) * x
    value, slope = AT_ZERO
    if kind == "Ai":
        return first * value - second * slope
    return first * (value * math.sqrt(3)) + second * (slope * math.sqrt(3))


def _coefficients(divisors: tuple[int, int]) -> list[float]:
    """The coefficients, the first of which is 1; each is the previous one over a product of divisors that grow by 3."""
    found = [1.0]
    for k in range(TERMS):
        found.append(found[-1] / ((divisors[0] + 3 * k) * (divisors[1] + 3 * k)))
    return found


def _right(x: Array, kind: str, order: int) -> Array:
    """Equations 9.6.2 to 9.6.5."""
    root = op.Sqrt(x)
    angle, part = x * root * (2 / 3), (order + 1) / 3
    factor = x if order else root
    if kind == "Ai":
        return factor * bessel(angle, "K", part) * ((-1.0 if order else 1.0) / (math.pi * math.sqrt(3)))
    return factor * (bessel(angle, "I", part) + bessel(angle, "I", -part)) * (1 / math.sqrt(3))


def _left(x: Array, kind: str, order: int) -> Array:
    """Equations 9.6.6 to 9.6.9 at -x, with 10.4.7 for the functions of orders below 0."""
    root = op.Sqrt(x)
    angle, part = x * root * (2 / 3), (order + 1) / 3
    first, second = bessel(angle, "J", part), bessel(angle, "Y", part)
    other = first * math.cos(part * math.pi) - second * math.sin(part * math.pi)
    factor = x if order else root
    combined: dict[tuple[str, int], Callable[[], Array]] = {
        ("Ai", 0): lambda: (first + other) * (1 / 3),
        ("Ai", 1): lambda: (first - other) * (1 / 3),
        ("Bi", 0): lambda: (other - first) * (1 / math.sqrt(3)),
        ("Bi", 1): lambda: (other + first) * (1 / math.sqrt(3)),
    }
    return factor * combined[kind, order]()


@elementwise("airy")
def airy(x: Array) -> tuple[Array, Array, Array, Array]:
    """Ai, its derivative, Bi and its derivative."""
    first, slope, second, other = (airy_part(x, kind, order) for kind in ("Ai", "Bi") for order in (0, 1))
    return first, slope, second, other
