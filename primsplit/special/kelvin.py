"""Kelvin functions, the modified Bessel functions of x exp(i pi / 4): power series near 0, and fits far out.

NIST Digital Library of Mathematical Functions, 10.61 to 10.67. Each is accurate to a few units in the last place of the
size of its pair, such as ber + i bei. I of order n is divided by z**n, so derivatives of any order are exact at 0 too.
"""

import math
from collections.abc import Callable, Sequence

from primsplit.numpy.approximations.error_function import in_float64
from primsplit.numpy.approximations.rational import horner
from primsplit.numpy.approximations.signs import with_end
from primsplit.numpy.ufuncs import elementwise
from primsplit.numpy.units import unit
from primsplit.ops import op
from primsplit.special.bessel_fits import Fit, turned_tail
from primsplit.special.incomplete import TINY
from primsplit.special.integrals import EULER
from primsplit.tracing.array import Array
from primsplit.tracing.calls.primitive import Function, primitive, rrule

Pair = tuple[Array, Array]
"""The real and imaginary parts of complex numbers."""
FIRST_FROM = 6.0
"""The least argument for which the fits for I hold, unless 3 n is larger."""
SECOND_FROM = 1.0
"""The least argument for which the fits for K hold."""
LARGEST = 1e9
"""Well below this x, ber is already infinite and ker 0, in float64."""
SMALLEST = 1e-20
GRAIN = 2.0**16
"""A number below 2**10 that is a multiple of 1 / GRAIN has an exact product with ROOT_HALF."""
ROOT_HALF = (0.7071067839860916, -2.799544089368687e-09)
"""The square root of a half: its first 26 bits, and the rest."""


@primitive
def first_part(x: Array, order: int, part: int) -> Array:
    """The real or the imaginary part of I_order(z) / z**order, which is even in x."""
    return in_float64(x, lambda wide: _first(op.Abs(wide), order)[part])


@rrule(first_part)
def _first_rule(x: Array, order: int, part: int) -> tuple[Array, Function]:
    """d = i x times that of the next order (10.29.4)."""

    def pullback(dz: Array) -> tuple[Array, None, None]:
        slope = x * first_part(x, order + 1, 1 - part)
        return dz * (slope if part else -slope), None, None

    return first_part(x, order, part), pullback


@primitive
def second_part(x: Array, order: int, part: int) -> Array:
    """The real or the imaginary part of K_order(z) of order 0 or 1; NaN for x below 0."""
    return in_float64(x, lambda wide: _second_at_ends(wide, order, part))


@rrule(second_part)
def _second_rule(x: Array, order: int, part: int) -> tuple[Array, Function]:
    """Equation 10.29.3: -K1, or -K0 - K1 / z, times exp(i pi / 4)."""
    value = second_part(x, order, part)

    def pullback(dz: Array) -> tuple[Array, None, None]:
        slope = -_eighth(second_part, x, 1 - order, part)
        return dz * (slope - value / x if order else slope), None, None

    return value, pullback


def _eighth(function: Callable[[Array, int, int], Array], x: Array, order: int, part: int) -> Array:
    """One part of a function's product with exp(i pi / 4)."""
    real, imaginary = (function(x, order, p) for p in (0, 1))
    return (real + imaginary if part else real - imaginary) * math.sqrt(0.5)


def _product(a: Pair, b: Pair) -> Pair:
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def _turned(z: Pair, angle: float, size: Array) -> Pair:
    """The product with a complex number of this size and this angle in units of pi."""
    cosine, sine = math.cos(math.pi * angle), math.sin(math.pi * angle)
    return (z[0] * cosine - z[1] * sine) * size, (z[0] * sine + z[1] * cosine) * size


def _series(term: Callable[[int], float], t: Array, end: float) -> Pair:
    """The sum of term(k) (i t)**k for t up to `end`."""
    terms = [term(0), term(1)]
    while len(terms) < 4 or abs(terms[-1]) * end ** (len(terms) - 1) > SMALLEST:
        terms.append(term(len(terms)))
    signed: list[Sequence[float]] = [[c * (-1.0) ** k for k, c in enumerate(terms[start::2])] for start in (0, 1)]
    square = t * t
    return horner(signed[0], square), horner(signed[1], square) * t


def _first_term(order: int) -> Callable[[int], float]:
    return lambda k: 1.0 / (math.factorial(k) * math.factorial(k + order))


def _first(x: Array, order: int) -> Pair:
    """I over z**order, for x >= 0."""
    end = max(FIRST_FROM, 3.0 * order)
    near = op.Clip(x, None, end)
    real, imaginary = _series(_first_term(order), near * near * 0.25, end * end / 4)
    far = _first_far(op.Clip(x, end, LARGEST), order, end)
    is_far, is_none = x > end, op.Or(op.IsNaN(x), op.Equal(x, math.inf))
    found = (op.Where(is_far, f, n * 0.5**order) for f, n in zip(far, (real, imaginary), strict=True))
    real, imaginary = (op.Where(is_none, math.nan, part) for part in found)
    return real, imaginary


def _first_far(x: Array, order: int, start: float) -> Pair:
    """By K of -z and of z (10.34.2), the exponential in two halves: in one step it would overflow too early."""
    inverse = op.Reciprocal(x)
    shrinking = inverse
    for _ in range(order - 1):
        shrinking = shrinking * inverse
    main, rest, wave = _phase(x)
    grown = _product(wave, _tail(turned_tail(order, -0.75, start), inverse))
    half = op.Exp(main * 0.5)
    root = op.Sqrt(inverse) * op.Exp(rest) * math.sqrt(0.5 / math.pi)
    large = _turned(grown, -0.125 - order * 0.25, half * root)
    small = _turned(_second_far(x, order, start), 0.5 + order * 0.75, inverse * 0.0 + 1 / math.pi)
    found = (a * half + b for a, b in zip(large, small, strict=True))
    real, imaginary = (f * shrinking if order else f for f in found)
    return real, imaginary


def _second_far(x: Array, order: int, start: float) -> Pair:
    inverse = op.Reciprocal(x)
    main, rest, (cosine, sine) = _phase(x)
    fitted = _product((cosine, -sine), _tail(turned_tail(order, 0.25, start), inverse))
    return _turned(fitted, -0.125, op.Sqrt(inverse) * op.Exp(-main) * op.Exp(-rest) * math.sqrt(math.pi / 2))


def _tail(fits: tuple[Fit, Fit], inverse: Array) -> Pair:
    real, imaginary = fits
    return real(inverse), imaginary(inverse)


def _phase(x: Array) -> tuple[Array, Array, Pair]:
    """x over the root of 2, as an exact number and a small one, and its cosine and sine."""
    high, low = ROOT_HALF
    coarse = op.Round(x * GRAIN) * (1.0 / GRAIN)
    main, rest = coarse * high, coarse * low + (x - coarse) * math.sqrt(0.5)
    turn = op.Cos(rest), op.Sin(rest)
    return main, rest, _product((op.Cos(main), op.Sin(main)), turn)


def _second(x: Array, order: int) -> Pair:
    """K for x > 0."""
    near, far = op.Clip(x, TINY, SECOND_FROM), op.Clip(x, SECOND_FROM, LARGEST)
    close, away = (_second_near(near, order), _second_far(far, order, SECOND_FROM))
    real, imaginary = (op.Where(x > SECOND_FROM, a, c) for a, c in zip(away, close, strict=True))
    return real, imaginary


def _second_near(x: Array, order: int) -> Pair:
    """Equations 10.31.1 and 10.31.2 for x up to SECOND_FROM."""
    real, imaginary = _second_regular(x, order)
    pole = op.Reciprocal(x) * math.sqrt(0.5) if order else 0.0
    return real + pole, imaginary - pole


def _second_regular(x: Array, order: int = 1) -> Pair:
    """The sums of `_second_near` without the pole at 0."""
    t, end = x * x * 0.25, SECOND_FROM**2 / 4
    harmonic = [math.fsum(1.0 / j for j in range(1, k + 1)) for k in range(64)]
    logarithm = op.Log(x * 0.5)
    grown = _product(_series(_first_term(order), t, end), (logarithm + EULER, x * 0.0 + math.pi / 4))
    if order == 0:
        rest = _series(lambda k: harmonic[k] / math.factorial(k) ** 2, t, end)
        return rest[0] - grown[0], rest[1] - grown[1]
    rest = _series(lambda k: (harmonic[k] + harmonic[k + 1]) / 2 * _first_term(1)(k), t, end)
    return _turned((grown[0] - rest[0], grown[1] - rest[1]), 0.25, x * 0.5)


def _second_at_ends(x: Array, order: int, part: int) -> Array:
    """One part of K; at 0 the limit, NaN below 0 and at infinity, as in SciPy."""
    at_zero = (-math.inf if part else math.inf) if order else (-math.pi / 4 if part else math.inf)
    value = with_end(x, at_zero, _second(x, order)[part])
    return op.Where(op.Or(op.Or(x < 0.0, op.IsNaN(x)), op.Equal(x, math.inf)), math.nan, value)


def _kei_slope(x: Array) -> Array:
    """The derivative of kei, 0 at 0: near 0 from the sum of both parts of K1, in which the poles 1 / x cancel."""
    real, imaginary = _second_regular(op.Clip(x, TINY, SECOND_FROM))
    near = (real + imaginary) * -math.sqrt(0.5)
    far = -_eighth(second_part, op.Clip(x, SECOND_FROM, None), 1, 1)
    found = op.Where(x > SECOND_FROM, far, op.Where(op.Equal(x, 0.0), 0.0, near))
    return op.Where(op.Or(op.Or(x < 0.0, op.IsNaN(x)), op.Equal(x, math.inf)), math.nan, found)


_kei_slope_unit = unit(
    "keip", lambda x: in_float64(x, _kei_slope), lambda dz, x, z: dz * (second_part(x, 0, 0) - z / x)
)
"""Its derivative follows from the equation of Kelvin functions, x**2 w'' + x w' = i x**2 w (10.61.3)."""


PARTS: dict[str, Callable[[Array], Array]] = {
    "ber": lambda x: first_part(x, 0, 0),
    "bei": lambda x: first_part(x, 0, 1),
    "berp": lambda x: -(x * first_part(x, 1, 1)),
    "beip": lambda x: x * first_part(x, 1, 0),
    "ker": lambda x: second_part(x, 0, 0),
    "kei": lambda x: second_part(x, 0, 1),
    "kerp": lambda x: -_eighth(second_part, x, 1, 0),
    "keip": _kei_slope_unit,
}
for _name, _function in PARTS.items():
    elementwise(_name)(_function)
