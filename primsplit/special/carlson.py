"""Carlson's symmetric elliptic integrals, by the duplication theorem with enough steps for double precision.

B. C. Carlson, Numerical computation of real or complex elliptic integrals, Numer. Algorithms 10 (1995) 13-26; NIST
Digital Library of Mathematical Functions, chapter 19. The derivatives are those of the steps.
"""

import math
from collections.abc import Callable

import numpy as np

from primsplit import tracing
from primsplit.numpy.approximations.rational import horner
from primsplit.numpy.approximations.signs import with_end
from primsplit.numpy.dense.loop import loop
from primsplit.numpy.ufuncs import elementwise
from primsplit.ops import op
from primsplit.special.incomplete import in_float64, number
from primsplit.tracing.array import Array
from primsplit.tracing.calls.primitive import stop_gradient

STEPS = 16
"""Each step brings the arguments four times closer; zeros and small numbers need a few steps more."""
Three = tuple[Array, Array, Array]


def _duplicated(roots: Three, squares: Three) -> tuple[Three, Array]:
    """The arguments after one step of the duplication theorem (19.26.18), from their square roots; and lambda."""
    x, y, z = roots
    total = x * y + x * z + y * z
    first, second, third = ((s + total) * 0.25 for s in squares)
    return (first, second, third), total


def _roots(values: Three) -> Three:
    x, y, z = (op.Sqrt(v) for v in values)
    return x, y, z


def rf_of_roots(roots: Three) -> Array:
    """RF of squares (19.36.1)."""
    x, y, z = roots
    values = (x * x, y * y, z * z)
    for _ in range(STEPS):
        values, _ = _duplicated(roots, values)
        roots = _roots(values)
    mean = (values[0] + values[1] + values[2]) * (1 / 3)
    over = op.Reciprocal(mean)
    x, y = (mean - values[0]) * over, (mean - values[1]) * over
    z = -x - y
    second, third = x * y - z * z, x * y * z
    return op.Sqrt(over) * (1.0 - second * (1 / 10) + third * (1 / 14) + second * second * (1 / 24))


def rd_of_roots(roots: Three) -> Array:
    """RD of squares, symmetric in the first two (19.36.2)."""
    x, y, z = roots
    values = (x * x, y * y, z * z)
    total, weight = z * 0.0, 3.0
    for _ in range(STEPS):
        root, old = roots[2], values[2]
        values, between = _duplicated(roots, values)
        total = total + op.Reciprocal(root * (old + between)) * weight
        roots, weight = _roots(values), weight * 0.25
    mean = (values[0] + values[1] + 3.0 * values[2]) * (1 / 5)
    over = op.Reciprocal(mean)
    x, y = (mean - values[0]) * over, (mean - values[1]) * over
    z = (x + y) * (-1 / 3)
    second, third = x * y - 6.0 * (z * z), (3.0 * (x * y) - 8.0 * (z * z)) * z
    return total + over * op.Sqrt(over) * (1.0 - second * (3 / 14) + third * (1 / 6)) * (weight / 3)


def _where_defined(defined: Array, given: Three, function: Callable[[Three], Array]) -> Array:
    """The function of the square roots, 0 where a number is infinite; NaN where it is not defined."""
    is_far = op.Equal(op.Max(*given), math.inf)
    inside = op.And(defined, op.Not(is_far))
    x, y, z = (op.Sqrt(op.Where(inside, g, 1.0)) for g in given)
    return op.Where(inside, function((x, y, z)), op.Where(op.And(defined, is_far), 0.0, np.asarray(math.nan)))


def _none_below(*given: Array) -> Array:
    """Return whether no number is negative or NaN, and at most two of three are 0."""
    least = op.Min(*given)
    return op.Not(op.Or(least < 0.0, op.IsNaN(least)))


def _largest_last(x: Array, y: Array, z: Array) -> Three:
    """The three with the largest last, by swaps: equal numbers keep their own derivatives, which Max would share."""
    swaps = x > z
    x, z = op.Where(swaps, z, x), op.Where(swaps, x, z)
    swaps = y > z
    return x, op.Where(swaps, z, y), op.Where(swaps, y, z)


def _middle_last(x: Array, y: Array, z: Array) -> Three:
    """The three with the middle one last, by the same kind of swaps."""
    x, y, z = _largest_last(x, y, z)
    swaps = x > y
    return op.Where(swaps, y, x), z, op.Where(swaps, x, y)


@elementwise("elliprf")
def elliprf(x: Array, y: Array, z: Array) -> Array:
    """Carlson's RF; infinite where two numbers are 0, NaN below 0."""

    def value(x: Array, y: Array, z: Array) -> Array:
        pole = op.Equal(op.Max(op.Min(x, y), op.Min(op.Max(x, y), z)), 0.0)
        found = _where_defined(op.And(_none_below(x, y, z), op.Not(pole)), (x, y, z), rf_of_roots)
        return op.Where(op.And(_none_below(x, y, z), pole), math.inf, found)

    return in_float64(value)(x, y, z)


@elementwise("elliprd")
def elliprd(x: Array, y: Array, z: Array) -> Array:
    """Carlson's RD; infinite where z, or x and y, are 0, NaN below 0."""

    def value(x: Array, y: Array, z: Array) -> Array:
        pole = op.Or(op.Equal(z, 0.0), op.Equal(op.Max(x, y), 0.0))
        found = _where_defined(op.And(_none_below(x, y, z), op.Not(pole)), (x, y, z), rd_of_roots)
        return op.Where(op.And(_none_below(x, y, z), pole), with_end(z, math.inf, math.inf), found)

    return in_float64(value)(x, y, z)


@elementwise("elliprc")
def elliprc(x: Array, y: Array) -> Array:
    """Carlson's RC(x, y) = RF(x, y, y); for negative y its principal value (19.2.20).

    NaN for y = 0, as in SciPy.
    """

    def value(x: Array, y: Array) -> Array:
        is_negative = y < 0.0
        first, second = op.Where(is_negative, x - y, x), op.Where(is_negative, -y, y)
        factor = op.Sqrt(op.Where(is_negative, x / op.Where(is_negative, x - y, 1.0), 1.0))
        defined = op.And(_none_below(x, second), op.Not(op.Equal(y, 0.0)))
        return factor * _where_defined(defined, (first, second, second), rf_of_roots)

    return in_float64(value)(x, y)


@elementwise("elliprg")
def elliprg(x: Array, y: Array, z: Array) -> Array:
    """Carlson's RG, with the middle number in the place of z, so that nothing cancels (19.21.10)."""

    def value(x: Array, y: Array, z: Array) -> Array:
        allowed = _none_below(x, y, z)
        x, y, middle = _middle_last(x, y, z)
        most = op.Max(x, y)
        defined = op.And(allowed, middle > 0.0)
        first, second = (_where_defined(defined, (x, y, middle), f) for f in (rf_of_roots, rd_of_roots))
        safe = op.Where(defined, middle, 1.0)
        found = middle * first + (middle - x) * (y - middle) * second * (1 / 3) + op.Sqrt(x) * op.Sqrt(y / safe)
        found = op.Where(op.Or(op.Equal(middle, 0.0), op.Equal(most, math.inf)), op.Sqrt(most), found) * 0.5
        return op.Where(allowed, found, math.nan)

    return in_float64(value)(x, y, z)


# RJ. Its fourth number takes many steps to come near the others where it is larger; there another one stands for it.

FOURTH_STEPS = 12
WIDEST = 4.0
"""The largest ratio of the fourth number to the largest of the others."""


def _of_one(e: Array, rest: Array) -> Array:
    """RC(1, 1 + e) for e above -1 and at most a half, with rest = 1 + e: two duplications and a series, or 19.2.19."""
    is_low = e < -0.3
    near, low = op.Where(is_low, 0.0, e), op.Where(is_low, e, -0.5)
    scale = 1.0 + near * 0.0
    for _ in range(2):
        over = op.Reciprocal(1.0 + op.Sqrt(1.0 + near))
        near, scale = near * over * over, scale * over * 2.0
    series = scale * horner([(-1.0) ** k / (2 * k + 1) for k in range(12)], near)
    root = op.Sqrt(-low)
    above = 1.0 + root
    return op.Where(is_low, op.Log(above * above / op.Where(is_low, rest, 0.5)) * (0.5 / root), series)


def _fourth(given: Three, p: Array) -> Array:
    """RJ for p above 0 and no more than WIDEST of the largest number, by Carlson's steps and 19.36.2."""

    def step(
        _: Array, x: Array, y: Array, z: Array, p: Array, total: Array, weight: Array
    ) -> tuple[list[Array], list[Array]]:
        values = x, y, z
        roots, root = _roots(values), op.Sqrt(p)
        values, between = _duplicated(roots, values)
        x, y, z = roots
        alpha, beta = p * (x + y + z) + x * (y * z), root * (p + between)
        over = op.Reciprocal(alpha + beta)
        total = total + over * _of_one((beta - alpha) * over, 2.0 * beta * over) * weight
        return [*values, (p + between) * 0.25, total, weight * 0.25], []

    count = Array(tracing.constant(np.asarray(FOURTH_STEPS, np.int64)))
    *values, p, total, weight = loop(count, step, [*given, p, p * 0.0, number(6.0)])
    mean = (values[0] + values[1] + values[2] + 2.0 * p) * (1 / 5)
    over = op.Reciprocal(mean)
    x, y, z = ((mean - v) * over for v in values)
    q = (x + y + z) * -0.5
    product = x * y * z
    second = x * y + x * z + y * z - 3.0 * (q * q)
    third = product + 2.0 * second * q + 4.0 * (q * q * q)
    fourth = (2.0 * product + second * q + 3.0 * (q * q * q)) * q
    series = 1.0 - second * (3 / 14) + third * (1 / 6) + second * second * (9 / 88) - fourth * (3 / 22)
    return total + over * op.Sqrt(over) * series * (weight / 6)


def _whole_fourth(x: Array, y: Array, z: Array, p: Array) -> Array:
    """RJ of numbers of which z is the largest, at most one is 0, and p is not 0.

    For p below 0 its principal value by 19.20.14; for large p equation 19.21.12.
    """
    is_below, is_large = p < 0.0, p > WIDEST * z
    q = op.Where(is_below, -p, 1.0)
    far = op.Where(is_large, p, 8.0 * z)
    turned = (z * (x + y + q) - x * y) / (z + q)
    swapped = z + (z - x) * ((z - y) / (far - z))
    inner = op.Where(is_below, turned, op.Where(is_large, swapped, p))
    found = _fourth((x, y, z), inner)
    first = 3.0 * rf_of_roots(_roots((x, y, z)))
    above = op.Where(is_below, x * y + inner * q, x * (y / z))
    beside = op.Where(is_below, inner * q, far * (swapped / z))
    root = op.Sqrt(beside)
    other = 3.0 * rf_of_roots((op.Sqrt(above), root, root))
    pole = op.Where(is_below, x, 0.0) * y * z / op.Where(is_below, above, 1.0)
    below = ((inner - z) * found - first + op.Sqrt(pole) * other) / (z + q)
    large = (first - other - (swapped - z) * found) / (far - z)
    return op.Where(is_below, below, op.Where(is_large, large, found))


@elementwise("elliprj")
def elliprj(x: Array, y: Array, z: Array, p: Array) -> Array:
    """Carlson's RJ, for p below 0 its principal value; infinite where two of three are 0, NaN below 0 and for p = 0."""

    def value(x: Array, y: Array, z: Array, p: Array) -> Array:
        defined = op.And(_none_below(x, y, z), op.Not(op.Or(op.Equal(p, 0.0), op.IsNaN(p))))
        x, y, most = _largest_last(x, y, z)
        middle = op.Max(x, y)
        is_far = op.Equal(op.Max(most, op.Abs(p)), math.inf)
        inside = op.And(op.And(defined, middle > 0.0), op.Not(is_far))
        scale = stop_gradient(op.Where(inside, op.Max(most, op.Abs(p)), 1.0))
        given = [op.Where(inside, g / scale, 1.0) for g in (x, y, most, p)]
        found = _whole_fourth(*given) / (scale * op.Sqrt(scale))
        outside = op.Where(op.Equal(middle, 0.0), math.inf, op.Where(is_far, 0.0, math.nan))
        return op.Where(inside, found, op.Where(defined, outside, np.asarray(math.nan)))

    return in_float64(value)(x, y, z, p)
