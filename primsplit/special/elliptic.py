"""The complete elliptic integrals K and E, by the arithmetic-geometric mean with enough steps for double precision.

NIST Digital Library of Mathematical Functions, 19.8.5 and 19.8.6. The derivatives are those of the steps.
"""

import math

from primsplit.numpy.approximations.error_function import in_float64
from primsplit.numpy.approximations.signs import with_end
from primsplit.numpy.ufuncs import elementwise
from primsplit.ops import op
from primsplit.tracing.array import Array

STEPS = 12
"""Steps after which the means of 1 and 1e-150 agree; each step doubles the digits."""


def _integrals(rest: Array) -> tuple[Array, Array]:
    """K, and E / K, of m = 1 - rest, for rest > 0."""
    a, b = op.Where(rest > 0.0, 1.0, rest), op.Sqrt(rest)
    total, weight = 1.0 - rest, 0.5
    found = total * weight
    for _ in range(STEPS):
        half = (a - b) * 0.5
        a, b = (a + b) * 0.5, op.Sqrt(a * b)
        weight *= 2.0
        found = found + half * half * weight
    return (math.pi / 2) / a, 1.0 - found


def _first(rest: Array) -> Array:
    inside = rest > 0.0
    value = _integrals(op.Where(inside, rest, 1.0))[0]
    return op.Where(inside, value, with_end(rest, math.inf, op.Where(rest < 0.0, math.nan, rest)))


def _second(rest: Array) -> Array:
    inside = rest > 0.0
    first, ratio = _integrals(op.Where(inside, rest, 1.0))
    return op.Where(inside, first * ratio, with_end(rest, 1.0, op.Where(rest < 0.0, math.nan, rest)))


@elementwise("ellipkm1")
def ellipkm1(p: Array) -> Array:
    """K of the parameter 1 - p; infinite at p = 0, NaN below."""
    return in_float64(p, _first)


@elementwise("ellipk")
def ellipk(m: Array) -> Array:
    """The complete elliptic integral of the first kind of the parameter m; infinite at 1, NaN above."""
    return in_float64(m, lambda wide: _first(1.0 - wide))


@elementwise("ellipe")
def ellipe(m: Array) -> Array:
    """The complete elliptic integral of the second kind of the parameter m; NaN above 1."""
    return in_float64(m, lambda wide: _second(1.0 - wide))
