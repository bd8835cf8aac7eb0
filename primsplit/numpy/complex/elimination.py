"""Determinants of complex matrices, by elimination with partial pivoting."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from primsplit.ir import Type
from primsplit.numpy.complex.arithmetic import quotient
from primsplit.numpy.complex.matrices import Parts, difference, product, turned
from primsplit.numpy.complex.systems import inverse
from primsplit.numpy.dense.determinant import parity
from primsplit.numpy.dense.loop import counting, filled, loop, rows_at, scalar, scan, size, stacked_columns
from primsplit.numpy.ufuncs import ELEMENTWISE
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.calls.primitive import primitive, rrule

Pullback = Callable[..., Any]


class Step(NamedTuple):
    """The result of one elimination step.

    `row` is the pivot row, `head` the pivot, `kept` the multipliers (0 in rows already used), `free` marks the rows
    that are left.
    """

    pivot: Array
    row: Parts
    head: Parts
    kept: Parts
    free: Array


def eliminated(z: tuple[Array, Array], free: Array, place: Array, numbers: Array) -> tuple[Parts, Step]:
    """The matrix less what the largest element of a column in the free rows takes from it. A column of zeros stays.

    Sizes are the sums of those of the parts, as in LAPACK, the first of equals the largest.
    """
    column = Parts(*(op.Gather(p, place, axis=-1) for p in z))
    sizes = op.Add(op.Abs(column.real), op.Abs(column.imag))
    pivot = op.ArgMax(op.Where(free, sizes, -1.0), axis=-2, keepdims=1)
    row = Parts(*(rows_at(p, op.Squeeze(pivot, [-1])) for p in z))
    head = Parts(*(op.Gather(p, place, axis=-1) for p in row))
    free = op.And(free, op.Not(op.Equal(numbers, pivot)))
    is_zero = op.And(op.Equal(head.real, 0.0), op.Equal(head.imag, 0.0))
    multiplier = quotient(*column, op.Where(is_zero, 1.0, head.real), head.imag)
    kept = Parts(*(op.Where(free, m, 0.0) for m in multiplier))
    return difference(z, product(kept, row)), Step(pivot, row, head, kept, free)


@primitive
def pivots(x: Array, y: Array) -> tuple[Array, Array, Array]:
    """The parts [n, ..., 1, 1] of the pivots of X + i Y [..., n, n], and the sign [..., 1, 1] of the rows' order.

    The pivot is the largest of a column, by the sum of the sizes of its parts, the first of equals. A column of zeros
    is left as it is. n steps of 40 small operators and four outer products. A means to take determinants, which have
    the rules: no gradient flows through it.
    """
    numbers = op.Unsqueeze(counting(x, -2), [1])

    def step(x: Array, y: Array, free: Array, place: Array) -> tuple[list[Array], list[Array]]:
        rest, found = eliminated((x, y), free, place, numbers)
        return [*rest, found.free], [*found.head, found.pivot]

    unused = filled(x, [size(x, -2), 1], np.bool_(True))
    *_, real, imaginary, places = scan(step, [x, y, unused], [op.Unsqueeze(counting(x, -1), [1])])
    sign = parity(op.Squeeze(stacked_columns(places), [-2]), x.dtype)
    return real, imaginary, op.Unsqueeze(sign, [-2, -1])


@rrule(pivots)
def _pivots(x: Array, y: Array) -> tuple[tuple[Array, Array, Array], Pullback]:
    """No tangent: `determinant_with` and `log_determinant_with` take the matrix itself for theirs."""
    return pivots(x, y), lambda _: (None, None)


def _one_each(x: Array, found: Array) -> Array:
    return op.Identity(op.Squeeze(found, [-2, -1]), types=[Type(x.dtype, x.shape[:-2])])


def _multiplied(real: Array, imaginary: Array, sign: Array) -> Parts:
    """The product of the numbers along the first axis, and the sign."""

    def step(i: Array, x: Array, y: Array) -> tuple[list[Array], list[Array]]:
        a, b = op.Gather(real, i, axis=0), op.Gather(imaginary, i, axis=0)
        return [op.Sub(op.Mul(x, a), op.Mul(y, b)), op.Add(op.Mul(x, b), op.Mul(y, a))], []

    return Parts(*loop(scalar(size(real, 0)), step, [sign, op.Mul(sign, 0.0)]))


@primitive
def determinant_with(x: Array, y: Array, real: Array, imaginary: Array, sign: Array) -> tuple[Array, Array]:
    """The determinant of X + i Y by its pivots. The matrix is there for the derivative."""
    a, b = _multiplied(real, imaginary, sign)
    return _one_each(x, a), _one_each(x, b)


@rrule(determinant_with)
def _determinant_with(
    x: Array, y: Array, real: Array, imaginary: Array, sign: Array
) -> tuple[tuple[Array, Array], Pullback]:
    """dA = dz conj(det A) A^-H; inf or NaN for a singular A."""
    a, b = determinant_with(x, y, real, imaginary, sign)

    def pullback(dz: tuple[Array, Array]) -> tuple[Array | None, ...]:
        u, v = dz
        share = Parts(op.Add(op.Mul(u, a), op.Mul(v, b)), op.Sub(op.Mul(v, a), op.Mul(u, b)))
        return (*_scaled(share, turned(inverse(Parts(x, y)))), None, None, None)

    return (a, b), pullback


def _scaled(number: Parts, matrix: Parts) -> Parts:
    """A matrix times a number."""
    (u, v), (p, q) = (Parts(*(op.Unsqueeze(n, [-2, -1]) for n in number)), matrix)
    return Parts(op.Sub(op.Mul(u, p), op.Mul(v, q)), op.Add(op.Mul(u, q), op.Mul(v, p)))


@primitive
def log_determinant_with(x: Array, y: Array, real: Array, imaginary: Array, sign: Array) -> tuple[Array, Array, Array]:
    """The parts of det A / |det A|, and log |det A|, by the pivots of A = X + i Y; 0 and -inf for a singular A."""
    sizes = ELEMENTWISE["hypot"](real, imaginary)
    safe = op.Where(op.Equal(sizes, 0.0), 1.0, sizes)
    a, b = _multiplied(op.Div(real, safe), op.Div(imaginary, safe), sign)
    log = op.ReduceSum(op.Log(sizes), [0], keepdims=0)
    return _one_each(x, a), _one_each(x, b), _one_each(x, log)


@rrule(log_determinant_with)
def _log_determinant_with(
    x: Array, y: Array, real: Array, imaginary: Array, sign: Array
) -> tuple[tuple[Array, Array, Array], Pullback]:
    """dA = (dlog + i Im(conj(s) ds)) A^-H, s the sign: log det A = log |det A| + i arg s. Inf or NaN if singular."""
    a, b, log = log_determinant_with(x, y, real, imaginary, sign)

    def pullback(cotangents: tuple[Array, Array, Array]) -> tuple[Array | None, ...]:
        u, v, dlog = cotangents
        share = Parts(dlog, op.Sub(op.Mul(a, v), op.Mul(b, u)))
        return (*_scaled(share, turned(inverse(Parts(x, y)))), None, None, None)

    return (a, b, log), pullback
