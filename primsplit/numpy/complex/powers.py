"""Powers of complex numbers."""

from typing import Any

import numpy as np

from primsplit.ir.dims import broadcast_shapes
from primsplit.numpy.arithmetic import LARGEST_CHAIN
from primsplit.numpy.complex.arithmetic import Parts, elementwise, multiply, reciprocal, square
from primsplit.numpy.complex.functions import exp, log, sqrt
from primsplit.numpy.complex.operands import Pair, literal
from primsplit.numpy.units import number
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import expand_to, sum_to
from primsplit.tracing.calls.primitive import Function, primitive, rrule


@elementwise("power")
def power(a: Pair, b: Pair) -> Pair:
    """a**b: by products for a small whole literal b, as exp(b log(a)) for a positive literal a."""
    exponent = None if b.imag is not None else number(b.some, len(a.some.shape))
    if exponent is not None and float(exponent).is_integer() and abs(exponent) <= LARGEST_CHAIN:
        return _whole_power(a, int(exponent))
    if exponent == 0.5:
        return sqrt(a)
    base = None if a.imag is not None else number(a.some, len(b.some.shape))
    if base is not None and base > 0:
        logarithm = literal(np.log(base), b.some.dtype)
        return exp(Pair(*(None if p is None else op.Mul(p, logarithm) for p in b)))
    shape = broadcast_shapes(a.some.shape, b.some.shape)
    return Pair(*(expand_to(part, shape) for part in general_power(*a.whole(), *b.whole())))


def _whole_power(z: Pair, exponent: int) -> Pair:
    if exponent == 0:
        return Pair(expand_to(literal(1, z.some.dtype), z.some.shape), None)
    if exponent < 0:
        return reciprocal(_whole_power(z, -exponent))
    half = None if exponent < 2 else square(_whole_power(z, exponent // 2))
    if half is None:
        return z
    return multiply(half, z) if exponent % 2 else half


@primitive
def general_power(x: Array, y: Array, u: Array, v: Array) -> Parts:
    """(x + iy)**(u + iv), the principal one.

    As in NumPy 0 has the power 0 where u is positive, 1 where the exponent is 0, and else NaN.
    """
    at_zero = _is_zero(x, y)
    found = exp(multiply(Pair(u, v), _logarithm(x, y, at_zero)))
    no_exponent = _is_zero(u, v)
    edge = op.Where(op.Greater(u, 0.0), op.Mul(u, 0.0), op.Div(op.Mul(u, 0.0), op.Mul(u, 0.0)))
    real, imaginary = (op.Where(at_zero, edge, part) for part in found.whole())
    return op.Where(no_exponent, 1.0, real), op.Where(no_exponent, 0.0, imaginary)


def _is_zero(x: Array, y: Array) -> Array:
    found: Array = op.And(op.Equal(x, 0.0), op.Equal(y, 0.0))
    return found


def _logarithm(x: Array, y: Array, at_zero: Array) -> Pair:
    """The logarithm, and 0 of 0."""
    found: Pair = log(Pair(op.Where(at_zero, 1.0, x), y))
    return found


@rrule(general_power)
def _general_power(x: Array, y: Array, u: Array, v: Array) -> tuple[Parts, Function]:
    """dz conj(b a**(b - 1)) and dz conj(a**b log(a)), which is 0 at the base 0, as for real powers."""
    found = general_power(x, y, u, v)

    def pullback(dz: Any) -> tuple[Array, ...]:
        slope = multiply(Pair(u, v), Pair(*general_power(x, y, op.Sub(u, 1.0), v)))
        growth = multiply(Pair(*found), _logarithm(x, y, _is_zero(x, y)))
        given = (*_conjugated(dz, slope), *_conjugated(dz, growth))
        return tuple(sum_to(g, p.shape) for g, p in zip(given, (x, y, u, v), strict=True))

    return found, pullback


def _conjugated(dz: Any, slope: Pair) -> Parts:
    """dz * conj(slope)."""
    real, imaginary = slope.whole()
    return multiply(Pair(*dz), Pair(real, op.Neg(imaginary))).whole()
