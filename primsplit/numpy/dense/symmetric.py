"""Eigenvalues and eigenvectors of symmetric matrices by Jacobi's method."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.array import Array
from primsplit.calls.primitive import primitive, rrule
from primsplit.ir import Type
from primsplit.numpy.dense.loop import (
    diagonal,
    identity_like,
    on_diagonal,
    rows_at,
    size,
    sizes,
    swapped,
    until,
)
from primsplit.numpy.dense.rotations import (
    MOST,
    Pairs,
    at_partner,
    both_rounds,
    loud,
    orthonormal,
    rotated,
    rotation,
    sign_of_largest,
    swept,
    to_unit,
)
from primsplit.ops import op
from primsplit.passes.compositions.limits import float_limits

SLACK = 1e4
"""A matrix that the most sweeps leave this many times further from diagonal than wanted becomes NaN."""

Pullback = Callable[..., Any]
Pair = tuple[Array, Array]


@primitive
def symmetric_eigen(a: Array) -> tuple[Array, Array]:
    """The eigenvalues [..., n], ascending, and the eigenvectors [..., n, n], in columns, of symmetric A [..., n, n].

    Jacobi's method. Each vector's element of largest absolute value, the first of equals, is positive. The vectors
    are orthonormal to a few units in the last place, the eigenvalues right to about sqrt(n) units of the largest, and
    to relative accuracy where A is diagonal or nearly so. NaN for a matrix that is not finite. Usually 5 to 10 sweeps;
    a sweep is n rounds of 34 small operators, and 18 passes over an n by n matrix each.
    """
    rounds = both_rounds(a)
    places = {id(p): places_of(p, size(a, -1)) for p in rounds}
    flat = op.Concat(sizes(a, 0, len(a.shape) - 2), op.Mul(size(a, -1), size(a, -1)), axis=0)

    def turn(pairs: Pairs, matrix: Array, vectors: Array) -> list[Array]:
        near = op.Gather(op.Reshape(matrix, flat), places[id(pairs)], axis=-1)
        low, high, coupling = op.Split(near, axis=-1, num_outputs=3)
        factors = rotation(pairs.side, op.Sub(high, low), coupling)
        half = swapped(rotated(matrix, at_partner(matrix, pairs), *factors))
        turned = rotated(half, at_partner(half, pairs), *factors)
        return [turned, rotated(vectors, at_partner(vectors, pairs), *factors)]

    def sweep(matrix: Array, vectors: Array) -> list[Array]:
        matrix, vectors = swept(turn, rounds, [matrix, vectors])
        return [op.Mul(op.Add(matrix, swapped(matrix)), 0.5, types=[a.type]), vectors]

    start, scale = to_unit(a)
    matrix, rows = until(_is_settled, sweep, [start, identity_like(a)], MOST)
    return _finished(matrix, rows, scale)


def places_of(pairs: Pairs, n: Array) -> Array:
    """Where the two diagonal elements of each row's pair, and the one they share, lie in the flat matrix: [n, 3]."""
    first = op.Less(pairs.numbers, pairs.partner)
    low = op.Where(first, pairs.numbers, pairs.partner)
    high = op.Where(first, pairs.partner, pairs.numbers)
    step = op.Add(n, 1)
    found = [op.Mul(low, step), op.Mul(high, step), op.Add(op.Mul(low, n), high)]
    return op.Concat(*(op.Unsqueeze(f, [1]) for f in found), axis=1)


def _is_settled(matrix: Array, vectors: Array) -> Array:
    """Whether no matrix has more off its diagonal than half a unit in the last place of its norm."""
    return op.Equal(op.ReduceSum(op.Cast(excess(matrix, 0.5), to=np.int32), keepdims=0), 0)


def excess(matrix: Array, factor: float) -> Array:
    """Where the norm of what is off the diagonal is above so many units of the norm, [..., 1, 1]; False for NaN."""
    off = op.Where(on_diagonal(matrix), 0.0, matrix)
    bound = op.Mul(_squares(matrix), (factor * float(float_limits(matrix).eps)) ** 2)
    return op.Greater(_squares(off), bound)


def _squares(x: Array) -> Array:
    return op.ReduceSum(op.Mul(x, x), [-2, -1], keepdims=1)


def _finished(matrix: Array, rows: Array, scale: Array) -> tuple[Array, Array]:
    """In order, the lengths that rounding changed put right, the signs chosen."""
    count = len(matrix.shape)
    lengths = op.ReduceSum(op.Mul(rows, rows), [-1], keepdims=1)
    defect = op.Where(excess(matrix, SLACK), np.asarray(np.nan, matrix.dtype), 0.0)
    column = op.Add(op.Mul(op.Div(diagonal(matrix), lengths), scale), defect)
    line = Type(matrix.dtype, matrix.shape[:-1])
    values, order = op.TopK(
        op.Squeeze(column, [count - 1], types=[line]),
        size(matrix, -1),
        axis=-1,
        largest=0,
        types=[line, Type(np.int64, line.shape)],
    )
    vectors = rows_at(op.Add(orthonormal(rows), defect), order)
    return values, op.Identity(swapped(op.Mul(vectors, sign_of_largest(vectors))), types=[matrix.type])


@rrule(symmetric_eigen)
def _symmetric_eigen(a: Array) -> tuple[Pair, Pullback]:
    """No tangent: `eigenvalues_with` and `eigenvectors_with` take A itself for theirs.

    So it shows in the program whether anything depends on the vectors, whose derivative may not exist.
    """
    return symmetric_eigen(a), lambda _: (None,)


@primitive
def eigenvalues_with(a: Array, values: Array, vectors: Array) -> Array:
    """The eigenvalues of A, with their derivative."""
    return op.Identity(values)


@rrule(eigenvalues_with)
def _eigenvalues_with(a: Array, values: Array, vectors: Array) -> tuple[Array, Pullback]:
    """dA = V diag(dw) V^T (Giles 2008, 3.1): right also at equal eigenvalues, for functions smooth there."""
    v = eigenvectors_with(a, values, vectors)

    def pullback(dw: Array) -> tuple[Array | None, ...]:
        return op.MatMul(op.Mul(v, op.Unsqueeze(dw, [-2])), swapped(v)), None, None

    return eigenvalues_with(a, values, vectors), pullback


@primitive
def eigenvectors_with(a: Array, values: Array, vectors: Array) -> Array:
    """The eigenvectors of A, with their derivative."""
    return op.Identity(vectors)


@rrule(eigenvectors_with)
def _eigenvectors_with(a: Array, values: Array, vectors: Array) -> tuple[Array, Pullback]:
    """dA = V ((K - K^T) / (2 (w_j - w_i))) V^T with K = V^T dV (Giles 2008, 3.1, its symmetric part).

    The vectors of equal eigenvalues have no derivative: NaN or infinite. Where two differ, but by no more than n units
    in the last place of the largest, it is infinite or NaN too unless both vectors have the cotangent 0.
    """
    v = eigenvectors_with(a, values, vectors)
    w = eigenvalues_with(a, values, vectors)

    def pullback(dv: Array) -> tuple[Array | None, ...]:
        k = op.MatMul(swapped(v), dv)
        gap = op.Sub(op.Unsqueeze(w, [-2]), op.Unsqueeze(w, [-1]))
        blurred = is_blurred(gap, op.Abs(w))
        divisor = op.Where(op.Or(blurred, on_diagonal(gap)), 1.0, op.Mul(gap, 2.0))
        apart = op.Div(op.Sub(k, swapped(k)), divisor)
        inner = with_diagonal(np.zeros((), a.dtype), op.Where(blurred, loud_pairs(dv), apart))
        return op.MatMul(op.MatMul(v, inner), swapped(v)), None, None

    return v, pullback


def is_blurred(gap: Array, magnitudes: Array) -> Array:
    """Where a gap [..., n or 1, n] is at most n units in the last place of the largest of [..., n], but not 0."""
    largest = op.Unsqueeze(op.ReduceMax(magnitudes, [-1], keepdims=1), [-1])
    units = op.Mul(op.Cast(size(gap, -1), to=gap.dtype), float(float_limits(gap).eps))
    near = op.LessOrEqual(op.Abs(gap), op.Mul(largest, units))
    return op.And(near, op.Not(op.Equal(gap, 0.0)))


def with_diagonal(column: Array | np.ndarray[Any, Any], rest: Array) -> Array:
    """Square matrices with the elements of a column [..., n, 1] on the diagonal and `rest` off it."""
    return op.Where(on_diagonal(rest), column, rest, types=[rest.type])


def loud_pairs(vectors: Array) -> Array:
    """Infinite or NaN at i, j where the columns i and j of the cotangent are not both 0; else 0."""
    line = op.ReduceSum(loud(vectors), [-2], keepdims=1)
    return op.Add(line, swapped(line))


def eigenpairs(a: Array) -> Pair:
    """`symmetric_eigen`, with derivatives."""
    found = symmetric_eigen(a)
    return eigenvalues_with(a, *found), eigenvectors_with(a, *found)


def eigenvalues(a: Array) -> Array:
    """The eigenvalues of `eigenpairs`."""
    found: Array = eigenvalues_with(a, *symmetric_eigen(a))
    return found
