"""Carlson's symmetric elliptic integrals, Legendre's incomplete ones, Jacobi's functions, and the mean of both means.

B. C. Carlson, Numerical computation of real or complex elliptic integrals, Numer. Algorithms 10 (1995) 13-26; NIST
Digital Library of Mathematical Functions, chapters 19 and 22. The derivatives are those of the steps.
"""

import math
from collections.abc import Callable

from primsplit.array import Array
from primsplit.broadcasting import expand_to
from primsplit.infer import broadcast_shapes
from primsplit.numpy.special.elliptic import ellipe, ellipk
from primsplit.numpy.special.incomplete import in_float64
from primsplit.numpy.ufuncs import elementwise
from primsplit.ops import op

STEPS = 16
"""A step brings the arguments four times closer; of zeros and small numbers some steps first make ordinary ones."""
MEANS = 12
"""From 1 and 1e-150 the arithmetic and the geometric mean meet in so many steps."""

Three = tuple[Array, Array, Array]


def _duplicated(roots: Three, squares: Three) -> tuple[Three, Array]:
    """The arguments of the duplication theorem (19.26.18), from the square roots of these and these; and lambda."""
    x, y, z = roots
    total = x * y + x * z + y * z
    first, second, third = ((s + total) * 0.25 for s in squares)
    return (first, second, third), total


def _roots(values: Three) -> Three:
    x, y, z = (op.Sqrt(v) for v in values)
    return x, y, z


def _first(roots: Three) -> Array:
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


def _second(roots: Three) -> Array:
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
    """The function of the square roots; NaN elsewhere."""
    x, y, z = (op.Sqrt(op.Where(defined, g, 1.0)) for g in given)
    return op.Where(defined, function((x, y, z)), math.nan)


def _none_below(*given: Array) -> Array:
    """Whether no number is negative or NaN, and two of three at most are 0 at once."""
    least = op.Min(*given)
    return op.Not(op.Or(least < 0.0, op.IsNaN(least)))


@elementwise("elliprf")
def elliprf(x: Array, y: Array, z: Array) -> Array:
    """Carlson's RF; infinite where two numbers are 0, NaN below 0."""

    def value(x: Array, y: Array, z: Array) -> Array:
        pole = op.Equal(op.Max(op.Min(x, y), op.Min(op.Max(x, y), z)), 0.0)
        found = _where_defined(op.And(_none_below(x, y, z), op.Not(pole)), (x, y, z), _first)
        return op.Where(op.And(_none_below(x, y, z), pole), math.inf, found)

    return in_float64(value)(x, y, z)


@elementwise("elliprd")
def elliprd(x: Array, y: Array, z: Array) -> Array:
    """Carlson's RD; infinite where z, or x and y, are 0, NaN below 0."""

    def value(x: Array, y: Array, z: Array) -> Array:
        pole = op.Or(op.Equal(z, 0.0), op.Equal(op.Max(x, y), 0.0))
        found = _where_defined(op.And(_none_below(x, y, z), op.Not(pole)), (x, y, z), _second)
        return op.Where(op.And(_none_below(x, y, z), pole), math.inf, found)

    return in_float64(value)(x, y, z)


@elementwise("elliprc")
def elliprc(x: Array, y: Array) -> Array:
    """Carlson's RC, RF of a number and another one twice; of a negative one its principal value (19.2.20)."""

    def value(x: Array, y: Array) -> Array:
        is_negative = y < 0.0
        first, second = op.Where(is_negative, x - y, x), op.Where(is_negative, -y, y)
        factor = op.Sqrt(op.Where(is_negative, x / op.Where(is_negative, x - y, 1.0), 1.0))
        pole = op.Equal(y, 0.0)
        defined = op.And(_none_below(x, second), op.Not(pole))
        found = factor * _where_defined(defined, (first, second, second), _first)
        return op.Where(op.And(pole, x >= 0.0), math.inf, found)

    return in_float64(value)(x, y)


@elementwise("elliprg")
def elliprg(x: Array, y: Array, z: Array) -> Array:
    """Carlson's RG, with the middle one of the numbers in the place of z, so that nothing cancels (19.21.10)."""

    def value(x: Array, y: Array, z: Array) -> Array:
        low, high = op.Min(x, y), op.Max(x, y)
        least, most = op.Min(low, z), op.Max(high, z)
        middle = op.Max(low, op.Min(high, z))
        defined = op.And(_none_below(x, y, z), middle > 0.0)
        given = (least, most, middle)
        first, second = (_where_defined(defined, given, f) for f in (_first, _second))
        safe = op.Where(defined, middle, 1.0)
        found = middle * first + (middle - least) * (most - middle) * second * (1 / 3) + op.Sqrt(least * (most / safe))
        return op.Where(op.Equal(middle, 0.0), op.Sqrt(most), found) * 0.5

    return in_float64(value)(x, y, z)


# Legendre's integrals.


def _reduced(angle: Array) -> tuple[Array, Array, Array]:
    """The half turns of an angle, and the sine and cosine of the rest.

    The cosine is not negative but for rounding. It is the root of its square that the integrals take, so that they are
    smooth at a right angle.
    """
    turns = op.Round(angle * (1 / math.pi))
    rest = angle - turns * math.pi - turns * PI_REST
    return turns, op.Sin(rest), op.Cos(rest)


PI_REST = 1.2246467991473532e-16
"""Pi less the double next to it."""


def _incomplete(angle: Array, m: Array, parts: Callable[[Array, Array, Array], tuple[Array, Array]]) -> Array:
    """An odd function of an angle, its complete integral added for each half turn; NaN for m above 1."""
    inside = m <= 1.0
    safe = op.Where(inside, m, 0.0)
    turns, sine, cosine = _reduced(op.Where(op.Equal(op.Abs(angle), math.inf), 0.0, angle))
    rest, whole = parts(sine, cosine, safe)
    value = rest + op.Where(op.Equal(turns, 0.0), 0.0, 2.0 * (turns * whole))
    value = op.Where(op.Equal(op.Abs(angle), math.inf), angle, value)
    return op.Where(op.Or(op.Not(inside), op.IsNaN(angle)), math.nan, value)


def _delta(sine: Array, cosine: Array, m: Array) -> Array:
    """The square root of 1 - m sine**2."""
    return op.Sqrt(cosine * cosine + (1.0 - m) * (sine * sine))


def _legendre_first(sine: Array, cosine: Array, m: Array) -> tuple[Array, Array]:
    """Equation 19.25.5."""
    one = cosine * 0.0 + 1.0
    return sine * _first((cosine, _delta(sine, cosine, m), one)), ellipk(m)


def _legendre_second(sine: Array, cosine: Array, m: Array) -> tuple[Array, Array]:
    """Equations 19.25.9 for m below 0 and 19.25.10 above, whose terms are positive."""
    one, delta = cosine * 0.0 + 1.0, _delta(sine, cosine, m)
    is_negative = m < 0.0
    first = _first((cosine, delta, one))
    second = _second((cosine, op.Where(is_negative, delta, one), op.Where(is_negative, one, delta)))
    cube = sine * (sine * sine) * (m * (1 / 3))
    below = sine * first - cube * second
    above = (1.0 - m) * (sine * first + cube * second) + m * (sine * cosine / delta)
    return op.Where(is_negative, below, above), ellipe(m)


@elementwise("ellipkinc")
def ellipkinc(phi: Array, m: Array) -> Array:
    """The incomplete elliptic integral of the first kind."""
    return in_float64(lambda p, q: _incomplete(p, q, _legendre_first))(phi, m)


@elementwise("ellipeinc")
def ellipeinc(phi: Array, m: Array) -> Array:
    """The incomplete elliptic integral of the second kind."""
    return in_float64(lambda p, q: _incomplete(p, q, _legendre_second))(phi, m)


# Means, and Jacobi's functions.


@elementwise("agm")
def agm(a: Array, b: Array) -> Array:
    """The arithmetic-geometric mean, of two negative numbers a negative one; NaN of numbers of different signs."""

    def value(a: Array, b: Array) -> Array:
        product = op.Sign(a) * op.Sign(b)
        inside = product > 0.0
        x, y = (op.Where(inside, op.Abs(g), 1.0) for g in (a, b))
        for _ in range(MEANS):
            x, y = (x + y) * 0.5, op.Sqrt(x) * op.Sqrt(y)
        found = op.Where(a < 0.0, -x, x)
        outside = op.Where(op.Or(op.Equal(a, 0.0), op.Equal(b, 0.0)), 0.0, math.nan)
        return op.Where(op.Or(op.IsNaN(a), op.IsNaN(b)), math.nan, op.Where(inside, found, outside))

    return in_float64(value)(a, b)


LEAST = 1e-18
"""What is added to 1 - m, so that the means meet for m = 1, too."""


@elementwise("ellipj")
def ellipj(u: Array, m: Array) -> tuple[Array, Array, Array, Array]:
    """sn, cn, dn and the amplitude; NaN for m outside of [0, 1]."""
    shape, dtype = broadcast_shapes(u.shape, m.shape), u.dtype
    wide = [expand_to(op.Cast(x, to="float64"), shape) for x in (u, m)]
    sine, cosine, delta, amplitude = (op.Cast(found, to=dtype) for found in _jacobi(*wide))
    return sine, cosine, delta, amplitude


def _jacobi(u: Array, m: Array) -> tuple[Array, Array, Array, Array]:
    """Descending Landen transformations of the amplitude (22.20.3 to 22.20.6)."""
    inside = op.And(m >= 0.0, m <= 1.0)
    safe = op.Where(inside, m, 0.0)
    a, b = safe * 0.0 + 1.0, op.Sqrt(1.0 - safe + LEAST)
    ratios = []
    for _ in range(MEANS):
        half = (a - b) * 0.5
        a, b = (a + b) * 0.5, op.Sqrt(a * b)
        ratios.append(half / a)
    amplitude = a * u * 2.0**MEANS
    for ratio in reversed(ratios):
        amplitude = (amplitude + op.Asin(ratio * op.Sin(amplitude))) * 0.5
    sine, cosine = op.Sin(amplitude), op.Cos(amplitude)
    found = sine, cosine, _delta(sine, cosine, safe), amplitude
    sine, cosine, delta, amplitude = (op.Where(inside, f, math.nan) for f in found)
    return sine, cosine, delta, amplitude
