"""SciPy's hypergeometric functions of real numbers, by power series in a Loop that ends when all have converged.

NIST Digital Library of Mathematical Functions, chapters 13, 15 and 16. They are accurate to about 1e-12 where the terms
of the series have one sign. The result is NaN where terms cancel to fewer than ten digits or have not converged after
20,000: 0F1 of arguments below about -60, 2F1 between 0.998 and 1 and below -500, shapes far below 0. A derivative in
the parameters is refused.
"""

import math
from collections.abc import Callable

import numpy as np

from primsplit.numpy.dense.loop import until
from primsplit.numpy.ufuncs import elementwise
from primsplit.numpy.units import Unit, unit
from primsplit.ops import op
from primsplit.special.gamma import gamma_function
from primsplit.special.incomplete import EPS, MOST, converged, held, in_float64, nothing, number
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import ones_like

FAR = 300.0
"""Below minus this, 1F1 comes from its asymptotic series, without a smaller exponential."""
CANCELLED = 1e5
"""Sums of terms of this size, with a total this much smaller, have fewer than ten digits."""

Ratio = Callable[[Array], Array]


def _series(ratio: Ratio, lowest: Array) -> Array:
    """1 plus the terms, each the previous one times `ratio(n)`, until they are negligible; else NaN.

    Terms may grow while n is below `-lowest`. A term of 0 is the last one; an infinite one makes the sum infinite.
    """

    def step(n: Array, term: Array, total: Array, size: Array) -> list[Array]:
        term = op.Where(op.Equal(term, 0.0), 0.0, term * ratio(n))
        return [n + 1.0, term, total + term, size + op.Abs(term)]

    def rest(n: Array, term: Array, size: Array) -> Array:
        ended = op.Or(op.Equal(term, 0.0), op.Or(op.IsNaN(size), op.Equal(size, math.inf)))
        goes_on = op.And(op.Not(ended), op.Or(n + lowest <= 1.0, op.Abs(term) > size * (EPS / 8)))
        return op.Where(goes_on, ones_like(size), 0.0)

    one = ones_like(lowest)
    carries = [number(0.0), one, one, one]
    n, term, total, size = until(lambda n, t, _, s: converged(rest(n, t, s)), step, carries, MOST)
    is_lost = op.And(size > CANCELLED, size > op.Abs(total) * CANCELLED)
    return op.Where(op.Or(rest(n, term, size) > 0.0, is_lost), math.nan, total)


def _ratio(above: Array, below: Array, other: Array | None = None) -> Array:
    """above / below; 0 where `above` or another factor is 0, because the series ends there before it reaches a pole."""
    is_end = op.Equal(above, 0.0) if other is None else op.Or(op.Equal(above, 0.0), op.Equal(other, 0.0))
    found: Array = op.Where(is_end, 0.0, above / op.Where(is_end, 1.0, below))
    return found


def _is_last(x: Array) -> Array:
    """Return whether a series with this numerator parameter is a polynomial."""
    return op.And(x <= 0.0, op.Equal(op.Floor(x), x))


def _zero(b: Array, z: Array) -> Array:
    """0F1; NaN where a term is infinite."""
    is_pole = _is_last(b)
    found = _series(lambda n: z / ((op.Where(is_pole, 1.0, b) + n) * (n + 1.0)), b)
    return op.Where(is_pole, math.nan, found)


def _kummer(a: Array, b: Array, z: Array) -> Array:
    """1F1: Kummer's transformation makes z positive (13.2.39), except for polynomials; far below 0 equation 13.7.2."""
    is_turned = op.And(z < 0.0, op.Not(op.Or(_is_last(a), _is_last(b))))
    is_far = op.And(op.And(is_turned, z < -FAR), op.Not(_is_last(b - a)))
    first, place = op.Where(is_turned, b - a, a), op.Where(is_far, 0.0, op.Where(is_turned, -z, z))
    near = _series(lambda n: _ratio(first + n, b + n) * (place / (n + 1.0)), op.Min(b, first))
    near = _at_pole(b, near * op.Exp(op.Where(is_turned, -place, 0.0)))
    inverse = op.Where(is_far, op.Reciprocal(op.Where(is_far, -z, 1.0)), 0.0)
    total = _series(lambda n: (a + n) * (a - b + 1.0 + n) * inverse / (n + 1.0), a * 0.0 + 2.0)
    outer = op.Where(is_far, b - a, 1.0)
    factor = gamma_function(op.Where(is_far, b, 1.0)) / gamma_function(outer)
    found = op.Where(is_far, total * factor * op.Pow(op.Where(is_far, inverse, 1.0), a), near)
    return op.Where(op.And(_comes_to_pole(b, a), op.Not(op.IsNaN(a + z))), math.inf, found)


def _gauss(a: Array, b: Array, c: Array, z: Array) -> Array:
    """2F1: Pfaff's transformation maps z below 0 to where terms have one sign (15.8.1), except for polynomials.

    At 1 equation 15.4.20.
    """
    is_polynomial = op.Or(_is_last(a), _is_last(b))
    is_turned = op.And(z < 0.0, op.Not(op.Or(is_polynomial, _is_last(c))))
    swaps = op.And(is_turned, a > b)
    first, other = op.Where(swaps, b, a), op.Where(swaps, a, b)
    second = op.Where(is_turned, c - other, other)
    outside = op.And(z >= 1.0, op.Not(is_polynomial))
    safe = op.Where(op.Or(outside, op.Equal(z, -math.inf)), 0.0, z)
    place = op.Where(is_turned, safe / (safe - 1.0), safe)
    factor = op.Pow(1.0 - op.Where(is_turned, safe, 0.0), -first)
    lowest = op.Min(c, op.Min(first, second))
    found = factor * _series(lambda n: (first + n) * _ratio(second + n, c + n, first + n) * (place / (n + 1.0)), lowest)
    rest = c - a - b
    shapes = [op.Where(rest > 0.0, s, 1.0) for s in (c, rest, c - a, c - b)]
    over, under = gamma_function(shapes[0]) * gamma_function(shapes[1]), [_reciprocal_gamma(s) for s in shapes[2:]]
    at_one = op.Where(rest > 0.0, over * under[0] * under[1], math.inf)
    is_one = op.Equal(z, 1.0)
    powers = op.Pow(1.0 - z, -op.Where(op.Equal(b, c), a, b))  # 15.4.6
    is_power = op.And(op.Not(is_one), op.Or(op.Equal(b, c), op.Equal(a, c)))
    beyond = op.Where(is_power, powers, op.Where(is_one, at_one, math.inf))
    is_pole = op.And(_comes_to_pole(c, a), op.And(_comes_to_pole(c, b), op.Not(op.Equal(z, 0.0))))
    is_pole = op.And(is_pole, op.Not(op.IsNaN(a + b + z)))
    found = op.Where(is_pole, math.inf, op.Where(outside, beyond, _at_pole(c, found)))
    is_lost = op.Or(op.IsNaN(a + b + c + z), op.Equal(z, -math.inf))
    return op.Where(is_lost, np.asarray(math.nan), found)


def _comes_to_pole(below: Array, above: Array) -> Array:
    """Whether a denominator parameter is a nonpositive integer that the series reaches before the numerator ends it."""
    return op.And(_is_last(below), op.Not(op.And(_is_last(above), above >= below)))


def _at_pole(below: Array, found: Array) -> Array:
    """Return `found`, but +infinity where it is infinite because the denominator parameter is a nonpositive integer."""
    return op.Where(op.And(_is_last(below), op.Equal(op.Abs(found), math.inf)), math.inf, found)


def _reciprocal_gamma(x: Array) -> Array:
    is_pole = _is_last(x)
    return op.Where(is_pole, 0.0, op.Reciprocal(gamma_function(op.Where(is_pole, 1.0, x))))


_zero_unit: Unit = unit(
    "hyp0f1",
    in_float64(_zero),
    lambda dz, b, z, y: nothing(dz),
    lambda dz, b, z, y: dz * (_zero_unit(b + 1.0, z) / b),
)
_kummer_unit: Unit = unit(
    "hyp1f1",
    in_float64(_kummer),
    lambda dz, a, b, z, y: nothing(dz),
    lambda dz, a, b, z, y: nothing(dz),
    lambda dz, a, b, z, y: dz * (_kummer_unit(a + 1.0, b + 1.0, z) * (a / b)),
)
_gauss_unit: Unit = unit(
    "hyp2f1",
    in_float64(_gauss),
    lambda dz, a, b, c, z, y: nothing(dz),
    lambda dz, a, b, c, z, y: nothing(dz),
    lambda dz, a, b, c, z, y: nothing(dz),
    lambda dz, a, b, c, z, y: dz * (_gauss_unit(a + 1.0, b + 1.0, c + 1.0, z) * (a * b / c)),
)
_HELD = {(f, p): held(f, p) for f, names in (("hyp0f1", "v"), ("hyp1f1", "ab"), ("hyp2f1", "abc")) for p in names}


@elementwise("hyp0f1")
def hyp0f1(v: Array, z: Array) -> Array:
    """The confluent hypergeometric limit function."""
    return _zero_unit(_HELD["hyp0f1", "v"](v), z)


@elementwise("hyp1f1")
def hyp1f1(a: Array, b: Array, z: Array) -> Array:
    """Kummer's confluent hypergeometric function."""
    return _kummer_unit(_HELD["hyp1f1", "a"](a), _HELD["hyp1f1", "b"](b), z)


@elementwise("hyp2f1")
def hyp2f1(a: Array, b: Array, c: Array, z: Array) -> Array:
    """Gauss's hypergeometric function."""
    return _gauss_unit(*(_HELD["hyp2f1", name](x) for name, x in zip("abc", (a, b, c), strict=True)), z)
