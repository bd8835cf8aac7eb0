"""The QR factorization by Householder reflections."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.ir import Type, dims
from primsplit.ir.errors import MissingRule
from primsplit.numpy.dense.loop import (
    BLOCK,
    at_most_a_block,
    block_count,
    changing,
    counting,
    cut,
    filled,
    identity_like,
    known_to_be,
    less_product,
    loop,
    lower,
    scalar,
    scan,
    size,
    stacked_rows,
    upper,
)
from primsplit.numpy.dense.tiles import inverted
from primsplit.numpy.dense.triangular import solve_triangular
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import swapped
from primsplit.tracing.calls.primitive import listed, primitive, rrule


@listed
def tall_qr(a: Array) -> tuple[Array, Array]:
    """Q [..., m, n] and R [..., n, n] with Q R = A, for A [..., m, n] with m >= n; LAPACK's signs.

    Householder reflections by panels: those of BLOCK columns are one I - U^T T U, which is applied to all columns
    beyond them by products (R. Schreiber and C. Van Loan, A storage-efficient WY representation, SIAM J. Sci. Stat.
    Comput. 10, 1989). 4 m n^2 operations, n steps of 25 small operators.
    """
    scale = scale_of(a)
    a = op.Div(a, scale, types=[a.type])
    reflected = reflections(a)
    q = applied(a, reflected, filled(a, [0, op.Sub(size(a, -2), size(a, -1))], a.dtype.type(0)))
    square = Type(a.dtype, (*a.shape[:-2], a.shape[-1], a.shape[-1]))
    return op.Identity(swapped(q), types=[a.type]), op.Mul(upper(reflected[2]), scale, types=[square])


def scale_of(*parts: Array) -> Array:
    """Return what to divide a matrix by, [..., 1, 1]: 1, or its size where squares overflow or underflow."""
    lengths = [op.ReduceL1(part, [-2, -1], keepdims=1) for part in parts]
    length: Array = op.Sum(*lengths)
    limits = np.finfo(length.dtype)
    least, most = np.sqrt(limits.tiny) / limits.eps, np.sqrt(limits.max) * limits.eps
    is_faint = op.And(op.Greater(length, 0.0), op.Less(length, float(least)))
    is_huge = op.And(op.Greater(length, float(most)), op.Less(length, np.inf))
    return op.Where(op.Or(is_faint, is_huge), length, 1.0)


Reflected = tuple[Array, Array, Array]
"""The rows U [k, ..., BLOCK, m] and the triangles T [k, ..., BLOCK, BLOCK] of k panels, zeros beyond them; and R."""


def reflections(a: Array) -> Reflected:
    """The reflections of A [..., m, n] with m >= n, and A after all of them."""
    n = a.shape[-1]
    if at_most_a_block(n):
        vectors, worked = _reflected(swapped(a))
        rows = swapped(cut(worked, 0, size(a, -1), -1))
        return op.Unsqueeze(vectors, [0]), op.Unsqueeze(_triangle(vectors), [0]), rows
    first = n - BLOCK * ((n - 1) // BLOCK) if isinstance(n, int) and n else None

    def step(width: int | None, rest: Array, above: Array) -> tuple[list[Array], list[Array]]:
        vectors, triangle, rows, left = _panel(rest, width)
        done = size(above, -2)
        zeros = filled(a, [size(rows, -2), done], a.dtype.type(0))
        above = op.Concat(above, op.Concat(zeros, rows, axis=-1), axis=-2)
        return [left, above], [_padded(vectors, done), _padded(triangle, None)]

    none = filled(a, [0, size(a, -1)], a.dtype.type(0))
    carries, types = [swapped(a), none], [changing(a, [-2, -1]), changing(a, [-2])]
    if first is None:
        _, r, vectors, triangles = loop(block_count(size(a, -1)), lambda _, *given: step(None, *given), carries, types)
        return vectors, triangles, r
    later, found = step(first, *carries)
    count = op.Div(op.Sub(scalar(size(a, -1)), first), BLOCK)
    _, r, *others = loop(count, lambda _, *given: step(BLOCK, *given), later, types)
    vectors, triangles = (op.Concat(op.Unsqueeze(x, [0]), y, axis=0) for x, y in zip(found, others, strict=True))
    return vectors, triangles, r


def _padded(x: Array, before: Array | None) -> Array:
    """`x` with as many rows as a panel has at most, and so many columns before its own, or as many columns as rows."""
    missing = op.Sub(np.array([BLOCK]), size(x, -2))
    none, batch = np.zeros(1, np.int64), np.zeros(len(x.shape) - 2, np.int64)
    columns = (none, missing) if before is None else (before, none)
    return op.Pad(x, op.Concat(batch, none, columns[0], batch, missing, columns[1], axis=0))


def _panel(rest: Array, width: int | None) -> tuple[Array, Array, Array, Array]:
    """Reflect the first w columns of a matrix, which are rows here, [..., q, p] with p >= q > 0.

    Returns U [..., w, p], T [..., w, w], the first w rows of R [..., w, q], and what is left [..., q - w, p - w].
    """
    most = width or BLOCK
    columns = known_to_be(cut(rest, 0, most, -2), -2, width)
    vectors, worked = _reflected(columns)
    triangle = _triangle(vectors)
    beyond = cut(rest, most, None, -2)
    products = op.MatMul(op.MatMul(beyond, swapped(vectors)), triangle)
    beyond = less_product(beyond, products, vectors)
    count = size(columns, -2)
    rows = op.Concat(cut(worked, 0, count, -1), cut(beyond, 0, count, -1), axis=-2)
    return vectors, triangle, swapped(rows), cut(beyond, count, None, -1)


def _triangle(vectors: Array) -> Array:
    """T of I - U^T T U: its inverse has ones on the diagonal, and above it the products of the rows of U."""
    return inverted(op.MatMul(vectors, swapped(vectors)), lower=False, unit=True)[1]


def _reflected(columns: Array) -> tuple[Array, Array]:
    """The vectors u of I - u^T u, and the columns after all of them, both as rows [..., w, p]."""
    numbers, places = counting(columns, -1), op.Unsqueeze(counting(columns, -2), [1])
    beyond, here = (op.Cast(test(numbers, places), to=columns.dtype) for test in (op.Greater, op.Equal))

    def step(rest: Array, place: Array, mask: Array, one: Array) -> tuple[list[Array], list[Array]]:
        column = op.Gather(rest, place, axis=-2)
        vector = _reflector(op.Gather(column, place, axis=-1), op.Mul(column, mask), one)
        turned = op.Gemm(rest, vector, transB=1) if len(rest.shape) == 2 else op.MatMul(rest, swapped(vector))
        return [less_product(rest, turned, vector)], [vector]

    worked, vectors = scan(step, [columns], [places, op.Unsqueeze(beyond, [1]), op.Unsqueeze(here, [1])])
    return stacked_rows(vectors), worked


def _reflector(head: Array, tail: Array, one: Array) -> Array:
    """u = v sqrt(tau) of the reflection that takes (head, tail) to (beta, 0): none where the tail is zero.

    beta = -sign(head) |x|, v = (head - beta, tail), and |v|^2 / 2 = beta (beta - head).
    """
    square = op.ReduceSumSquare(tail, [-1], keepdims=1)
    length = op.Sqrt(op.Add(op.Mul(head, head), square))
    opposite = op.Mul(length, op.Sign(op.Add(op.Sign(head), 0.5)))
    gap = op.Add(head, opposite)
    some = op.Cast(op.Greater(square, 0.0), to=head.dtype)
    half = op.Add(op.Mul(gap, opposite), op.Sub(np.ones((), head.dtype), some))
    return op.Div(op.Add(tail, op.Mul(one, op.Mul(gap, some))), op.Sqrt(half))


def applied(a: Array, reflected: Reflected, last: Array) -> Array:
    """The product of all reflections of A, the first leftmost, with the identity, as rows.

    `last` are the rows of those columns that are beyond the columns of A, and beyond its first rows.
    """
    vectors, triangles, _ = reflected
    if at_most_a_block(a.shape[-1]):
        return _applied(a, op.Squeeze(vectors, [0]), op.Squeeze(triangles, [0]), last)
    n = size(a, -1)
    count = size(vectors, 0)
    first = op.Sub(n, op.Mul(op.Sub(count, 1), BLOCK)) if isinstance(a.shape[-1], int) else np.array([BLOCK])

    def step(i: Array, later: Array) -> tuple[list[Array], list[Array]]:
        place = op.Sub(op.Sub(scalar(count), 1), i)
        start = op.Max(op.Add(op.Mul(op.Sub(op.Unsqueeze(place, [0]), 1), BLOCK), first), np.array([0]))
        rows = cut(op.Gather(vectors, place, axis=0), start, None, -1)
        triangle = op.Gather(triangles, place, axis=0)
        return [_applied(a, rows, triangle, later)], []

    return loop(scalar(count), step, [last], [changing(a, [-2, -1])])[0]


def _applied(a: Array, vectors: Array, triangle: Array, later: Array) -> Array:
    """The reflections of a panel, applied to what those after it make of columns of the identity."""
    new = op.Sub(size(vectors, -1), size(later, -1))
    zeros = filled(a, [size(later, -2), new], a.dtype.type(0))
    top = identity_like(filled(a, [new, size(vectors, -1)], a.dtype.type(0)))
    whole = op.Concat(top, op.Concat(zeros, later, axis=-1), axis=-2)
    return less_product(whole, op.MatMul(op.MatMul(whole, swapped(vectors)), swapped(triangle)), vectors)


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
    tall = a if dims.at_least(a.shape[-2], a.shape[-1]) else cut(a, 0, count, -1)
    beyond = op.Sub(size(a, -2), count)
    last = identity_like(filled(a, [beyond, beyond], a.dtype.type(0)))
    tall = op.Div(tall, scale_of(tall), types=[tall.type])
    square = Type(a.dtype, (*a.shape[:-2], a.shape[-2], a.shape[-2]))
    return op.Identity(swapped(applied(tall, reflections(tall), last)), types=[square])


@rrule(complete_q)
def _complete_q(a: Array) -> Any:
    """Refused: the columns that complete the basis are not a smooth function of A."""
    raise MissingRule(
        "qr with mode='complete' has no gradient: the columns that complete the basis are arbitrary",
        cure="Use mode='reduced'.",
    )
