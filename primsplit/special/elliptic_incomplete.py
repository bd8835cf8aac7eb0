"""Legendre's incomplete elliptic integrals, Jacobi's elliptic functions, and the arithmetic-geometric mean.

NIST Digital Library of Mathematical Functions, chapters 19 and 22. The derivatives are those of the steps.
"""

import math
from collections.abc import Callable

from primsplit.ir.dims import broadcast_shapes
from primsplit.numpy.approximations.signs import with_end
from primsplit.numpy.ufuncs import elementwise
from primsplit.ops import op
from primsplit.special.carlson import rd_of_roots, rf_of_roots
from primsplit.special.elliptic import ellipe, ellipk
from primsplit.special.incomplete import in_float64
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import expand_to
from primsplit.tracing.calls.primitive import stop_gradient

MEANS = 12
"""Steps after which the arithmetic and the geometric mean of 1 and 1e-150 agree."""


# Legendre's integrals.


def _reduced(angle: Array) -> tuple[Array, Array, Array]:
    """The half turns of an angle, and the sine and cosine of the rest.

    The cosine is computed as the root of the square that the integrals take, so that they are smooth at a right angle.
    No double is exactly a right angle, so it is not 0 where an angle is rounded to one.
    """
    turns = op.Round(angle * (1 / math.pi))
    rest = angle - turns * math.pi - turns * PI_REST
    cosine = op.Cos(rest)
    return turns, op.Sin(rest), cosine + stop_gradient(op.Max(PI_REST / 2 - cosine, 0.0))


PI_REST = 1.2246467991473532e-16
"""Pi minus the double next to it."""


def _incomplete(angle: Array, m: Array, parts: Callable[[Array, Array, Array], tuple[Array, Array]]) -> Array:
    """An odd function of an angle, plus its complete integral for each half turn; NaN for m above 1."""
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
    return sine * rf_of_roots((cosine, _delta(sine, cosine, m), one)), ellipk(m)


def _first(angle: Array, m: Array) -> Array:
    """The integral of the first kind: infinite for m = 1 from a right angle on; 0 for m = -inf."""
    is_end = op.Equal(m, -math.inf)
    is_pole = op.And(op.Equal(m, 1.0), op.Abs(angle) >= math.pi / 2)
    found = _incomplete(op.Where(is_pole, 1.0, angle), op.Where(is_end, 0.0, m), _legendre_first)
    pole = op.Abs(op.Where(is_pole, angle, 1.0)) * op.Reciprocal(op.Where(is_pole, 1.0 - m, 1.0))
    return op.Where(is_pole, pole, op.Where(is_end, angle * 0.0, found))


def _second(angle: Array, m: Array) -> Array:
    """The integral of the second kind: infinite for m = -inf."""
    is_end = op.Equal(m, -math.inf)
    found = _incomplete(angle, op.Where(is_end, 0.0, m), _legendre_second)
    return op.Where(is_end, op.Where(op.IsNaN(angle), math.nan, math.inf), found)


def _legendre_second(sine: Array, cosine: Array, m: Array) -> tuple[Array, Array]:
    """Equations 19.25.9 for m below 0 and 19.25.10 above, whose terms are positive."""
    one, delta = cosine * 0.0 + 1.0, _delta(sine, cosine, m)
    is_negative = m < 0.0
    first = rf_of_roots((cosine, delta, one))
    second = rd_of_roots((cosine, op.Where(is_negative, delta, one), op.Where(is_negative, one, delta)))
    cube = sine * (sine * sine) * (m * (1 / 3))
    below = sine * first - cube * second
    above = (1.0 - m) * (sine * first + cube * second) + m * (sine * cosine / delta)
    return op.Where(is_negative, below, above), ellipe(m)


@elementwise("ellipkinc")
def ellipkinc(phi: Array, m: Array) -> Array:
    """The incomplete elliptic integral of the first kind."""
    return in_float64(_first)(phi, m)


@elementwise("ellipeinc")
def ellipeinc(phi: Array, m: Array) -> Array:
    """The incomplete elliptic integral of the second kind."""
    return in_float64(_second)(phi, m)


# Means, and Jacobi's functions.


def _rising(x: Array, other: Array) -> Array:
    """Return 0, with an infinite slope where only x is 0; NaN where the other number is infinite."""
    alone = op.And(op.Equal(x, 0.0), op.Not(op.Equal(other, 0.0)))
    return op.Where(op.IsInf(other), math.nan, op.Sqrt(op.Where(alone, x, 0.0)))


@elementwise("agm")
def agm(a: Array, b: Array) -> Array:
    """The arithmetic-geometric mean; negative for two negative numbers, NaN for numbers of different signs."""

    def value(a: Array, b: Array) -> Array:
        product = op.Sign(a) * op.Sign(b)
        inside = product > 0.0
        x, y = (op.Where(inside, op.Abs(g), 1.0) for g in (a, b))
        for _ in range(MEANS):
            x, y = (x + y) * 0.5, op.Sqrt(x) * op.Sqrt(y)
        found = op.Where(a < 0.0, -x, x)
        outside = op.Where(op.Equal(product, 0.0), _rising(a, b) + _rising(b, a), math.nan)
        return op.Where(op.Or(op.IsNaN(a), op.IsNaN(b)), math.nan, op.Where(inside, found, outside))

    return in_float64(value)(a, b)


LEAST = 1e-9
"""The root of 1 - m for m = 1, so that the means also meet there; a derivative by m is NaN."""


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
    rest = 1.0 - safe
    a, b = safe * 0.0 + 1.0, with_end(rest, LEAST, op.Sqrt(rest))
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
