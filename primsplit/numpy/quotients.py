"""Divides by a root or a length that may be 0, for the derivatives of sqrt, norm and abs.

The derivative of sqrt is `dy / (2 y)`, that of a norm `dy x / y`. Where y is 0 the first derivative follows a
convention: that of a root is infinite, but 0 if the cotangent is 0; that of a norm is 0. A convention is not a function
of x that could be differentiated again. Each of these quotients therefore has a rule: its derivative is again a
quotient by y, never the derivative of a constant 0.

Whether 0 / 0 is 0 depends on where the numerator comes from, which the rule of one operator cannot see.
`transforms/zero_slopes.py` looks at the whole program and inserts `exact_quotient` where the answer is not known.
"""

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.numpy.approximations.limits import float_limits
from primsplit.numpy.units import smallest
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import sum_to, zeros_like
from primsplit.tracing.calls.primitive import Function, Primitive, primitive, rrule


@primitive
def root_quotient(n: Array, y: Array) -> Array:
    """n / y for y >= 0; 0 where both are 0. The divisor is bounded away from 0 by the smallest number of the dtype."""
    return n / op.Max(y, smallest(y))


@primitive
def bounded_quotient(n: Array, y: Array) -> Array:
    """`root_quotient` where 0 / 0 is surely meant to be 0."""
    return n / op.Max(y, smallest(y))


@primitive
def length_quotient(n: Array, y: Array) -> Array:
    """n / y; 0 where y is 0."""
    zero = op.Equal(y, -0.0)  # a file that is loaded tells this quotient from a user's by the sign
    return op.Where(zero, 0.0, n / op.Where(zero, 1.0, y))


@primitive
def open_length_quotient(n: Array, y: Array) -> Array:
    """n / y; 0 where y is 0, but NaN where n is NaN: what is unknown stays so in higher derivatives."""
    return n / op.Where(op.Equal(y, 0.0), np.asarray(np.inf, y.dtype), y)


@primitive
def exact_quotient(n: Array, y: Array) -> Array:
    """n / y; NaN where both are 0."""
    return n / y


def _of_root(n: Array, y: Array) -> Array:
    found: Array = root_quotient(n, y)
    return found


def _register(quotient: Primitive, linear: Primitive) -> None:
    """d(n / y) = dn / y - (n / y) dy / y. `linear` is the quotient that dn has: the same convention."""

    @rrule(quotient)
    def rule(n: Array, y: Array) -> tuple[Array, Function]:
        z = quotient(n, y)

        def pullback(dz: Array) -> tuple[Array, Array]:
            return linear(dz, y), op.Neg(root_quotient(dz * z, y))

        return z, pullback

    def forward(n: Array, y: Array) -> tuple[Array, Function]:
        z = quotient(n, y)

        def pushforward(tn: Array | None, ty: Array | None) -> Array | None:
            if linear is root_quotient and tn is not None and ty is not None:
                return _of_root(tn - ty * z, y)
            terms: list[Array] = [] if tn is None else [linear(tn, y)]
            terms += [] if ty is None else [op.Neg(root_quotient(ty * z, y))]
            return functools.reduce(operator.add, terms) if terms else None

        return z, pushforward

    quotient.frule = forward
    quotient.ruled()


for _quotient in (root_quotient, bounded_quotient, exact_quotient):
    _register(_quotient, root_quotient)
for _quotient in (length_quotient, open_length_quotient):
    _register(_quotient, length_quotient)


@primitive
def sign_of(x: Array) -> Array:
    """The sign of x, as x times the largest float bounded by 1: a third of the time of Sign.

    It is less than 1 for numbers whose reciprocal overflows, the smallest of the subnormal ones: below 3e-39 in float32
    and 6e-309 in float64. In float16, where that would begin at 1.5e-5, it is exact.
    """
    scaled = x
    for _ in range(times_scaled(x.dtype)):
        scaled = scaled * float(float_limits(x).max)
    return op.Clip(scaled, -1.0, 1.0)


def times_scaled(dtype: np.dtype[Any]) -> int:
    """Return how often `sign_of` multiplies a number with the largest float."""
    return 2 if dtype == np.float16 else 1


@rrule(sign_of)
def _sign_of(x: Array) -> tuple[Array, Function]:
    return sign_of(x), lambda _: (None,)


@primitive
def open_sign_of(x: Array) -> Array:
    """The sign of x in a slope that was read from a file: its derivative at 0 is unknown, hence NaN.

    It is NaN for a cotangent of 0 too: a factor of the sign that varies with x may be 0 there by chance.
    """
    found: Array = sign_of(x)
    return found


@primitive
def signed(n: Array, x: Array) -> Array:
    """n times the sign of x, 0 where x is 0: the slope of |x|. n may be broadcast."""
    found: Array = op.Mul(n, sign_of(x), types=[x.type])
    return found


@primitive
def tangent_signed(t: Array, x: Array) -> Array:
    """`signed` of a tangent of x: t is what x varies by, not what |x| is multiplied with, as n is in a pullback."""
    found: Array = op.Mul(t, sign_of(x), types=[x.type])
    return found


@primitive
def kink(n: Array, x: Array, t: Array) -> Array:
    """n t times the second derivative of |x|: 0. Where n varies with x, `exact_kink` takes its place."""
    return zeros_like(x)


@primitive
def tangent_kink(n: Array, x: Array, t: Array) -> Array:
    """`kink` of two tangents of x. `exact_kink` takes its place where it is multiplied with what varies with x."""
    return zeros_like(x)


@primitive
def exact_kink(n: Array, x: Array, t: Array) -> Array:
    """0; NaN where x is 0, t is not, and n is not: n is 0 where the cotangent of |x| is 0 whatever x is."""
    moves = op.And(op.Not(op.Equal(n, 0.0)), op.Not(op.Equal(t, 0.0)))
    return op.Where(op.And(op.Equal(x, 0.0), moves), np.asarray(np.nan, x.dtype), 0.0)


def _rule_of_sign(slope: Primitive, bend: Callable[[Array, Array, Array], Array], next_kink: Primitive) -> None:
    """Give a slope of |x| its rules. `bend(n, x, dz)` is the cotangent of x, `next_kink` has the tangent."""

    @rrule(slope)
    def rule(n: Array, x: Array) -> tuple[Array, Function]:
        return slope(n, x), lambda dz: (sum_to(signed(dz, x), n.shape), bend(n, x, dz))

    def forward(n: Array, x: Array) -> tuple[Array, Function]:
        def pushforward(tn: Array | None, tx: Array | None) -> Any:
            terms = [slope(tn, x)] if tn is not None else []
            terms += [next_kink(n, x, tx)] if tx is not None else []
            return functools.reduce(operator.add, terms) if terms else None

        return slope(n, x), pushforward

    slope.frule = forward
    slope.ruled()


_rule_of_sign(signed, kink, kink)
_rule_of_sign(tangent_signed, lambda t, x, dz: kink(dz, x, t), tangent_kink)


@rrule(open_sign_of)
def _open_sign_of(x: Array) -> tuple[Array, Function]:
    return open_sign_of(x), lambda dz: (dz * op.Where(op.Equal(x, 0.0), np.asarray(np.nan, x.dtype), 0.0),)


@rrule(kink)
def _kink(n: Array, x: Array, t: Array) -> tuple[Array, Function]:
    return kink(n, x, t), lambda d: (None, None, kink(n, x, d))


@rrule(tangent_kink)
def _tangent_kink(n: Array, x: Array, t: Array) -> tuple[Array, Function]:
    return tangent_kink(n, x, t), lambda d: (None, None, tangent_kink(n, x, d))


@rrule(exact_kink)
def _exact_kink(n: Array, x: Array, t: Array) -> tuple[Array, Function]:
    return exact_kink(n, x, t), lambda d: (None, None, exact_kink(n, x, d))


@primitive
def unknown_slope(d: Array, y: Array) -> Array:
    """0; NaN where y is 0 and d is not: d is what a slope would be multiplied with. Linear in d, as a slope is."""
    moves = op.Not(op.Equal(d, 0.0))
    return op.Where(op.And(op.Equal(y, 0.0), moves), np.asarray(np.nan, d.dtype), 0.0)


@rrule(unknown_slope)
def _unknown_slope(d: Array, y: Array) -> tuple[Array, Function]:
    return unknown_slope(d, y), lambda dz: (sum_to(unknown_slope(dz, y), d.shape), None)
