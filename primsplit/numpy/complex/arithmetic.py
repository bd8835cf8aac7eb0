"""Elementwise sums, products and quotients of complex numbers."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from primsplit.ir.dims import Shape, broadcast_shapes
from primsplit.ir.families import Table
from primsplit.numpy.complex.operands import Pair, literal
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import expand_to, sum_to, zeros_like
from primsplit.tracing.calls.primitive import Function, primitive, rrule

Parts = tuple[Array, Array]
_Function = TypeVar("_Function", bound=Callable[..., Any])
ELEMENTWISE: Table[str, Callable[..., Any]] = Table()
"""A ufunc's name, and a function of Pairs that gives a Pair, or an Array where the result is real."""

ALWAYS_COMPLEX: Table[str, Callable[..., Any]] = Table()
"""Likewise the ufuncs whose results are complex for real arrays, too: functions of Pairs that give Pairs."""


def elementwise(*names: str) -> Callable[[_Function], _Function]:
    """Register the complex form of these ufuncs."""

    def register(function: _Function) -> _Function:
        for name in names:
            ELEMENTWISE[name] = function
        return function

    return register


def minus(a: Array | None, b: Array | None) -> Array | None:
    """a - b, where None is 0."""
    if b is None:
        return a
    return op.Neg(b) if a is None else op.Sub(a, b)


def plus(a: Array | None, b: Array | None) -> Array | None:
    """a + b, where None is 0."""
    if a is None or b is None:
        return b if a is None else a
    return op.Add(a, b)


def times(a: Array | None, b: Array | None) -> Array | None:
    """a * b, where None is 0."""
    return None if a is None or b is None else op.Mul(a, b)


def _over(a: Array | None, b: Array) -> Array | None:
    return None if a is None else op.Div(a, b)


@elementwise("add")
def add(a: Pair, b: Pair) -> Pair:
    """The sum."""
    return _in_shape(Pair(plus(a.real, b.real), plus(a.imag, b.imag)), a, b)


@elementwise("subtract")
def subtract(a: Pair, b: Pair) -> Pair:
    """The difference."""
    return _in_shape(Pair(minus(a.real, b.real), minus(a.imag, b.imag)), a, b)


def _in_shape(result: Pair, a: Pair, b: Pair) -> Pair:
    """The parts in the shape that the operands have together: a part that only one of them has is its own yet."""
    shape: Shape = broadcast_shapes(a.some.shape, b.some.shape)
    return Pair(*(None if part is None else expand_to(part, shape) for part in result))


@elementwise("multiply")
def multiply(a: Pair, b: Pair) -> Pair:
    """The product."""
    return Pair(minus(times(a.real, b.real), times(a.imag, b.imag)), plus(times(a.real, b.imag), times(a.imag, b.real)))


@elementwise("divide")
def divide(a: Pair, b: Pair) -> Pair:
    """The quotient; see `quotient`."""
    if b.imag is None:
        return Pair(_over(a.real, b.some), _over(a.imag, b.some))
    if b.real is None:
        return Pair(_over(a.imag, b.imag), minus(None, _over(a.real, b.imag)))
    zero = literal(0, b.imag.dtype)
    return Pair(*quotient(zero if a.real is None else a.real, zero if a.imag is None else a.imag, b.real, b.imag))


@primitive
def quotient(a: Any, b: Any, c: Array, d: Array) -> Parts:
    """(a + i b) / (c + i d) without overflow of c**2 + d**2: R. L. Smith, Comm. ACM 5 (1962), algorithm 116."""
    turned = op.Less(op.Abs(c), op.Abs(d))
    large, small = op.Where(turned, d, c), op.Where(turned, c, d)
    ratio = op.Where(op.Equal(large, 0.0), 0.0, op.Div(small, large))
    scale = op.Reciprocal(op.Add(large, op.Mul(small, ratio)))
    first, second = op.Where(turned, b, a), op.Where(turned, a, b)
    real = op.Mul(op.Add(first, op.Mul(second, ratio)), scale)
    imaginary = op.Mul(op.Sub(second, op.Mul(first, ratio)), scale)
    return real, op.Where(turned, op.Neg(imaginary), imaginary)


@rrule(quotient)
def _quotient(a: Array, b: Array, c: Array, d: Array) -> tuple[Parts, Function]:
    """dz / conj(w), and that times -conj(z), for z the quotient and w the denominator."""
    x, y = quotient(a, b, c, d)

    def pullback(dz: Parts) -> tuple[Array, ...]:
        u, v = quotient(*dz, c, op.Neg(d))
        dc, dd = op.Neg(op.Add(op.Mul(u, x), op.Mul(v, y))), op.Sub(op.Mul(u, y), op.Mul(v, x))
        return tuple(sum_to(g, given.shape) for g, given in zip((u, v, dc, dd), (a, b, c, d), strict=True))

    return (x, y), pullback


@elementwise("negative")
def negative(z: Pair) -> Pair:
    """Both parts negated."""
    return Pair(minus(None, z.real), minus(None, z.imag))


@elementwise("positive")
def positive(z: Pair) -> Pair:
    """The number itself."""
    return z


@elementwise("conjugate")
def conjugate(z: Pair) -> Pair:
    """The imaginary part negated."""
    return Pair(z.real, minus(None, z.imag))


@elementwise("square")
def square(z: Pair) -> Pair:
    """z * z."""
    if z.real is None or z.imag is None:
        return multiply(z, z)
    doubled = op.Mul(z.real, z.imag)
    return Pair(op.Mul(op.Sub(z.real, z.imag), op.Add(z.real, z.imag)), op.Add(doubled, doubled))


@elementwise("reciprocal")
def reciprocal(z: Pair) -> Pair:
    """1 / z."""
    return divide(Pair(literal(1, z.some.dtype), None), z)


@elementwise("equal")
def equal(a: Pair, b: Pair) -> Array:
    """Return whether both parts are equal."""
    found = [op.Equal(_part(x, a), _part(y, b)) for x, y in zip(a, b, strict=True)]
    return functools.reduce(op.And, found)


@elementwise("not_equal")
def not_equal(a: Pair, b: Pair) -> Array:
    """Return whether at least one part differs."""
    return op.Not(equal(a, b))


def _part(x: Array | None, z: Pair) -> Array:
    return zeros_like(z.some) if x is None else x
