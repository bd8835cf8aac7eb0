"""Absolute value and angle of complex numbers, their exponentials, logarithms and roots, and tests of elements."""

import math
from collections.abc import Callable

from primsplit.numpy import ufuncs
from primsplit.numpy.approximations.signs import is_negative
from primsplit.numpy.complex.arithmetic import Parts, elementwise, quotient
from primsplit.numpy.complex.operands import Pair
from primsplit.numpy.quotients import root_quotient
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.calls.primitive import Function, primitive, rrule


def real_form(name: str) -> Callable[..., Array]:
    """The form of a ufunc for real arrays."""
    found: Callable[..., Array] = ufuncs.ELEMENTWISE[name]
    return found


@elementwise("absolute")
def absolute(z: Pair) -> Array:
    """The distance from 0, whose gradient there is 0."""
    if z.real is None or z.imag is None:
        return op.Abs(z.some)
    return real_form("hypot")(z.real, z.imag)


def angle(z: Pair) -> Array:
    """The angle, whose gradient at 0 is 0."""
    real, imaginary = z.whole()
    return real_form("arctan2")(imaginary, real)


@elementwise("exp")
def exp(z: Pair) -> Pair:
    """The exponential of the real part, turned by the imaginary part."""
    if z.imag is None:
        return Pair(op.Exp(z.some), None)
    cos, sin = op.Cos(z.imag), op.Sin(z.imag)
    if z.real is None:
        return Pair(cos, sin)
    size = op.Exp(z.real)
    return Pair(op.Mul(size, cos), op.Mul(size, sin))


@elementwise("log")
def log(z: Pair) -> Pair:
    """The logarithm of the size, and the angle."""
    return Pair(op.Log(absolute(z)), angle(z))


def _scaled(name: str, function: Callable[[Pair], Pair], before: float, after: float) -> None:
    """Register after * function(before * z)."""

    @elementwise(name)
    def scaled(z: Pair) -> Pair:
        found = function(_times(z, before))
        return _times(found, after)


def _times(z: Pair, factor: float) -> Pair:
    return z if factor == 1.0 else Pair(*(None if p is None else op.Mul(p, factor) for p in z))


_scaled("exp2", exp, math.log(2.0), 1.0)
_scaled("log2", log, 1.0, 1.0 / math.log(2.0))
_scaled("log10", log, 1.0, 1.0 / math.log(10.0))


@elementwise("sqrt")
def sqrt(z: Pair) -> Pair:
    """The root whose real part is not negative; below the negative axis its imaginary part is negative."""
    return Pair(*root(*z.whole()))


@primitive
def root(x: Array, y: Array) -> Parts:
    """t + i y / 2 t, with t = sqrt((abs(x) + abs(z)) / 2); below 0 the parts are swapped, with the sign of y."""
    t = op.Sqrt(op.Mul(op.Add(op.Abs(x), real_form("hypot")(x, y)), 0.5))
    other = op.Div(op.Abs(y), op.Where(op.Equal(t, 0.0), 1.0, op.Add(t, t)))
    right = op.Not(op.Less(x, 0.0))
    imaginary = op.Where(right, other, t)
    return op.Where(right, t, other), op.Where(is_negative(y), op.Neg(imaginary), imaginary)


@rrule(root)
def _root(x: Array, y: Array) -> tuple[Parts, Function]:
    """dz / (2 conj(root)); at 0, where it has no finite derivative, infinite, but 0 where dz is 0."""
    u, v = root(x, y)

    def pullback(dz: Parts) -> Parts:
        at_zero = op.And(op.Equal(u, 0.0), op.Equal(v, 0.0))
        found = quotient(*dz, op.Where(at_zero, 1.0, op.Add(u, u)), op.Neg(op.Add(v, v)))
        size = op.Add(u, op.Abs(v))
        real, imaginary = (op.Where(at_zero, root_quotient(g, size), part) for g, part in zip(dz, found, strict=True))
        return real, imaginary

    return (u, v), pullback


def _addition(name: str, first: tuple[str, str], second: tuple[str, str], sign: float) -> None:
    """Register f(x + i y) = f1(x) g1(y) + sign i f2(x) g2(y)."""

    @elementwise(name)
    def found(z: Pair) -> Pair:
        x, y = z.whole()
        real, imaginary = (op.Mul(real_form(f)(x), real_form(g)(y)) for f, g in (first, second))
        return Pair(real, imaginary if sign > 0 else op.Neg(imaginary))


_addition("sin", ("sin", "cosh"), ("cos", "sinh"), 1.0)
_addition("cos", ("cos", "cosh"), ("sin", "sinh"), -1.0)
_addition("sinh", ("sinh", "cos"), ("cosh", "sin"), 1.0)
_addition("cosh", ("cosh", "cos"), ("sinh", "sin"), 1.0)


def _asked(name: str, join: str) -> None:
    """Register a question that is asked of both parts."""

    @elementwise(name)
    def asked(z: Pair) -> Array:
        x, y = z.whole()
        found: Array = getattr(op, join)(real_form(name)(x), real_form(name)(y))
        return found


_asked("isnan", "Or")
_asked("isinf", "Or")
_asked("isfinite", "And")
