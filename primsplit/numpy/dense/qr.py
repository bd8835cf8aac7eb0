"""The QR factorization by Householder reflections."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.ir import Type, dims
from primsplit.ir.errors import MissingRule
from primsplit.numpy.dense.loop import counting, cut, filled, identity_like, loop, lower, scalar, size, swapped, upper
from primsplit.numpy.dense.triangular import solve_triangular
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.calls.primitive import primitive, rrule


@primitive
def tall_qr(a: Array) -> tuple[Array, Array]:
    """Q [..., m, n] and R [..., n, n] with Q R = A, for A [..., m, n] with m >= n; LAPACK's signs.

    Householder reflections (Golub and Van Loan, Matrix Computations, 4th ed., 5.2.2), not blocked: 4 m n^2
    operations, and 4 n passes over an m by n matrix. Squares of elements may overflow.
    """
    vectors, worked = reflections(a, size(a, -1))
    q = apply_reflections(vectors, identity_like(a))
    square = Type(a.dtype, (*a.shape[:-2], a.shape[-1], a.shape[-1]))
    return q, op.Identity(upper(cut(worked, 0, size(a, -1), -2)), types=[square])


def reflections(a: Array, count: Array) -> tuple[Array, Array]:
    """The scaled vectors v sqrt(tau) [count, ..., m, 1] of I - tau v v^T, and A after all of them."""
    numbers = op.Unsqueeze(counting(a, -2), [1])

    def step(i: Array, rest: Array) -> tuple[list[Array], list[Array]]:
        place = op.Unsqueeze(i, [0])
        column = op.Gather(rest, place, axis=-1)
        tail = op.Where(op.Greater(numbers, i), column, 0.0)
        head = op.Gather(column, place, axis=-2)
        vector = _reflector(head, tail, op.Equal(numbers, i))
        return [op.Sub(rest, op.MatMul(vector, op.MatMul(swapped(vector), rest)))], [vector]

    worked, vectors = loop(scalar(count), step, [a])
    return vectors, worked


def _reflector(head: Array, tail: Array, here: Array) -> Array:
    """v sqrt(tau) of the reflection that takes (head, tail) to (beta, 0): none where the tail is zero.

    beta = -sign(head) |x|, v = (1, tail / (head - beta)), tau = (beta - head) / beta; sqrt(tau) is in both factors.
    """
    square = op.ReduceSum(op.Mul(tail, tail), [-2], keepdims=1)
    none = op.Equal(square, 0.0)
    length = op.Sqrt(op.Add(op.Mul(head, head), square))
    beta = op.Where(op.GreaterOrEqual(head, 0.0), op.Neg(length), length)
    beta = op.Where(none, 1.0, beta)
    gap = op.Where(none, 1.0, op.Sub(head, beta))
    root = op.Where(none, 0.0, op.Sqrt(op.Div(op.Neg(gap), beta)))
    return op.Mul(op.Where(here, 1.0, op.Div(tail, gap)), root)


def apply_reflections(vectors: Array, x: Array) -> Array:
    """The product of all reflections, the first leftmost, with `x`."""
    last = op.Sub(scalar(size(vectors, 0)), np.int64(1))

    def step(i: Array, product: Array) -> tuple[list[Array], list[Array]]:
        vector = op.Gather(vectors, op.Sub(last, i), axis=0)
        return [op.Sub(product, op.MatMul(vector, op.MatMul(swapped(vector), product)))], []

    return loop(scalar(size(vectors, 0)), step, [x])[0]


@rrule(tall_qr)
def _tall_qr(a: Array) -> tuple[tuple[Array, Array], Callable[..., Any]]:
    """dA = (dQ + Q copyltu(M)) R^-T, M = R dR^T - dQ^T Q, copyltu(M) the lower triangle mirrored.

    Seeger, Hetzel, Dai, Meissner and Lawrence, Auto-differentiating linear algebra, 2017. A has full column rank;
    else inf or NaN.
    """
    q, r = tall_qr(a)

    def pullback(cotangents: tuple[Array, Array]) -> tuple[Array]:
        dq, dr = cotangents
        m = op.Sub(op.MatMul(r, swapped(upper(dr))), op.MatMul(swapped(dq), q))
        mirrored = op.Add(lower(m), swapped(lower(m, -1)))
        right = op.Add(dq, op.MatMul(q, mirrored))
        return (swapped(solve_triangular(r, swapped(right), lower=False)),)

    return (q, r), pullback


def reduced_qr(a: Array) -> tuple[Array, Array]:
    """Q [..., m, k] and R [..., k, n], k the smaller of m and n, whichever that is.

    A wide matrix is [X Y] with a square X = Q U: then R = [U, Q^T Y].
    """
    rows, columns = a.shape[-2:]
    if dims.at_least(rows, columns):
        found: tuple[Array, Array] = tall_qr(a)
        return found
    count = dims.minimum(rows, columns)
    kept = Type(a.dtype, (*a.shape[:-1], count))
    rest = Type(a.dtype, (*a.shape[:-1], columns - count))
    tall = op.Slice(a, [0], [count], [-1], types=[kept])
    beyond = op.Slice(a, [count], [columns], [-1], types=[rest])
    q, r = tall_qr(tall)
    joined = Type(a.dtype, (*a.shape[:-2], count, columns))
    return q, op.Concat(r, op.MatMul(swapped(q), beyond), axis=-1, types=[joined])


@primitive
def complete_q(a: Array) -> Array:
    """The square Q [..., m, m] of the same reflections."""
    count = op.Min(size(a, -1), size(a, -2))
    vectors, _ = reflections(a, count)
    square = Type(a.dtype, (*a.shape[:-2], a.shape[-2], a.shape[-2]))
    zeros = op.Identity(filled(a, [size(a, -2), size(a, -2)], a.dtype.type(0)), types=[square])
    return apply_reflections(vectors, identity_like(zeros))


@rrule(complete_q)
def _complete_q(a: Array) -> Any:
    """Refused: the columns that complete the basis are not a smooth function of A."""
    raise MissingRule(
        "qr with mode='complete' has no gradient: the columns that complete the basis are arbitrary",
        cure="Use mode='reduced'.",
    )
