"""Eigenvalues and eigenvectors of symmetric matrices by Jacobi's method."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.ir import Type
from primsplit.numpy.approximations.limits import float_limits
from primsplit.numpy.dense.loop import diagonal, identity_like, on_diagonal, rows_at, size, sizes, until
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
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import swapped
from primsplit.tracing.calls.primitive import listed, primitive, rrule

SLACK = 1e4
"""A matrix that the most sweeps leave this many times further from diagonal than wanted becomes NaN."""

Pullback = Callable[..., Any]
Pair = tuple[Array, Array]


@listed
def symmetric_eigen(a: Array) -> tuple[Array, Array]:
    """The eigenvalues [..., n], ascending, and the eigenvectors [..., n, n], in columns, of symmetric A [..., n, n].

    Jacobi's method. The diagonal is a carry of its own, in closed form, whose derivative divides by no gap: a file that
    is loaded again is differentiated step by step, and where eigenvalues are equal rounding alone tells the angles.
    Each vector's element of largest absolute value, the first of equals, is positive. The vectors are orthonormal to a
    few units in the last place, the eigenvalues right to about sqrt(n) units of the largest, and to relative accuracy
    where A is diagonal or nearly so. NaN for a matrix that is not finite. Usually 5 to 10 sweeps; a sweep is n rounds
    of 32 small operators, and 18 passes over an n by n matrix each.
    """
    rounds = both_rounds(a)
    places = {id(p): shared_places(p, size(a, -1)) for p in rounds}
    others = {id(p): apart(p, a) for p in rounds}
    flat = op.Concat(sizes(a, 0, len(a.shape) - 2), op.Mul(size(a, -1), size(a, -1)), axis=0)

    def turn(pairs: Pairs, line: Array, rest: Array, vectors: Array) -> list[Array]:
        coupling = op.Gather(op.Reshape(rest, flat), places[id(pairs)], axis=-1)
        partners = at_partner(line, pairs)
        cosine, own = rotation(pairs.side, op.Mul(op.Sub(partners, line), pairs.side), coupling)
        half = swapped(rotated(rest, at_partner(rest, pairs), cosine, own))
        turned = rotated(half, at_partner(half, pairs), cosine, own)
        return [
            op.Add(partners, op.Mul(op.Div(own, cosine), coupling), types=[line.type]),
            op.Mul(turned, others[id(pairs)], types=[a.type]),
            rotated(vectors, at_partner(vectors, pairs), cosine, own),
        ]

    def sweep(line: Array, rest: Array, vectors: Array) -> list[Array]:
        line, rest, vectors = swept(turn, rounds, [line, rest, vectors])
        return [line, op.Mul(op.Add(rest, swapped(rest)), 0.5, types=[a.type]), vectors]

    def is_settled(line: Array, rest: Array, _: Array) -> Array:
        return op.Equal(op.ReduceSum(op.Cast(excess(line, rest, 0.5), to=np.int32), keepdims=0), 0)

    start, scale = to_unit(a)
    line, rest, rows = until(is_settled, sweep, [diagonal(start), off_diagonal(start), identity_like(a)], MOST)
    values, defect, order = ordered(line, scale, is_far(line, rest))
    vectors = rows_at(op.Add(orthonormal(rows), defect), order)
    return values, op.Identity(swapped(op.Mul(vectors, sign_of_largest(vectors))), types=[a.type])


def shared_places(pairs: Pairs, n: Array) -> Array:
    """Return where the element that each row's pair shares lies in the flat matrix: [n, 1]."""
    first = op.Less(pairs.numbers, pairs.partner)
    low = op.Where(first, pairs.numbers, pairs.partner)
    high = op.Where(first, pairs.partner, pairs.numbers)
    return op.Unsqueeze(op.Add(op.Mul(low, n), high), [1])


def apart(pairs: Pairs, like: Array) -> Array:
    """1 for elements of different pairs, 0 for those of one."""
    column, row, partner = op.Unsqueeze(pairs.numbers, [1]), op.Unsqueeze(pairs.numbers, [0]), pairs.partner
    is_own = op.Or(op.Equal(column, row), op.Equal(op.Unsqueeze(partner, [1]), row))
    return op.Cast(op.Not(is_own), to=like.dtype)


def off_diagonal(x: Array) -> Array:
    """The matrix with zeros on its diagonal."""
    return op.Where(on_diagonal(x), 0.0, x, types=[x.type])


def excess(line: Array, rest: Array, factor: float) -> Array:
    """Return where the norm off the diagonal exceeds so many units of the whole norm, [..., 1, 1]; False for NaN."""
    return op.Greater(*_off_and_bound(line, rest, factor))


def is_far(line: Array, rest: Array) -> Array:
    """Return where the iteration did not end near a diagonal matrix, [..., 1, 1]; True for NaN."""
    return op.Not(op.LessOrEqual(*_off_and_bound(line, rest, SLACK)))


def _off_and_bound(line: Array, rest: Array, factor: float) -> Pair:
    """The squared norm off the diagonal, and that of so many units of the whole norm: [..., 1, 1]."""
    off = _squares(rest)
    return off, op.Mul(op.Add(_squares(line), off), (factor * float(float_limits(rest).eps)) ** 2)


def _squares(x: Array) -> Array:
    return op.ReduceSum(op.Mul(x, x), [-2, -1], keepdims=1)


def ordered(line: Array, scale: Array, is_far: Array) -> tuple[Array, Array, Array]:
    """Return the scaled diagonal in ascending order, a NaN where the iteration did not end (else 0), and the order."""
    count = len(line.shape)
    defect = op.Where(is_far, np.asarray(np.nan, line.dtype), 0.0)
    found = Type(line.dtype, line.shape[:-1])
    values, order = op.TopK(
        op.Squeeze(op.Add(op.Mul(line, scale), defect), [count - 1], types=[found]),
        size(line, -2),
        axis=-1,
        largest=0,
        types=[found, Type(np.int64, found.shape)],
    )
    return values, defect, order


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
    """Return where a gap [..., n or 1, n] is not 0, but at most n units in the last place of the largest magnitude."""
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
