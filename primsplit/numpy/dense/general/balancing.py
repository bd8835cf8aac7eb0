"""Balances a matrix: rows and columns that need no iteration move to the ends; the others are scaled to similar norms.

B. N. Parlett and C. Reinsch, Balancing a matrix for calculation of eigenvalues and eigenvectors, Numer. Math. 13 (1969)
293-304, with the norms of R. James, J. Langou and B. R. Lowery, On matrix balancing and eigenvector computation,
arXiv:1401.5766, as in LAPACK's gebal.
"""

import math
from typing import NamedTuple

import numpy as np

from primsplit.numpy.dense.general.reflection import length
from primsplit.numpy.dense.loop import counting, loop, on_diagonal, scalar, size, until
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import swapped

MOST = 2**31
"""No bound: a loop ends since each step moves a row, and what is scaled gets smaller."""
GAIN = 0.95
"""A row and a column are scaled where the sum of their norms becomes less than this part of what it was."""


class Balanced(NamedTuple):
    """D^-1 P^T A P D, in which the rows before `low` and behind `high` are those of a triangle."""

    matrix: Array
    low: Array
    high: Array
    order: Array
    """Which row of A each row is, int64 [n]."""
    scale: Array
    """The powers of two of D, [n]."""


def balanced(a: Array) -> Balanced:
    """The balanced form of a matrix [n, n] of finite numbers."""
    last = scalar(size(a, 0)) - 1
    a, order, high = _moved_down(a, counting(a, 0), last * 0, last)
    # Columns are moved to the left as rows are moved down, seen from the other end of the diagonal.
    a, order, first = _moved_down(_turned_round(a), _reversed(order), last - high, last)
    low = last - first
    matrix, scale = _scaled(_turned_round(a), low, high)
    return Balanced(matrix, low, high, _reversed(order), scale)


def as_balanced(found: Balanced, a: Array) -> Array:
    """D^-1 P^T A P D of another matrix."""
    moved = op.Gather(op.Gather(a, found.order, axis=0), found.order, axis=1)
    return op.Mul(op.Div(moved, op.Unsqueeze(found.scale, [1])), found.scale, types=[a.type])


def of_rows(found: Balanced, vectors: Array) -> Array:
    """P D V: the rows of A's own order."""
    scaled = op.Mul(vectors, op.Unsqueeze(found.scale, [1]), types=[vectors.type])
    back = op.ScatterElements(found.order * 0, found.order, counting(vectors, 0), axis=0)
    return op.Gather(scaled, back, axis=0, types=[vectors.type])


def _reversed(x: Array) -> Array:
    return op.Slice(x, [-1], [-(2**63) + 1], [0], [-1], types=[x.type])


def _turned_round(a: Array) -> Array:
    """The transpose along the other diagonal."""
    start, end = [-1, -1], [-(2**63) + 1] * 2
    return op.Slice(swapped(a), start, end, [0, 1], [-1, -1], types=[a.type])


def _moved_down(a: Array, order: Array, low: Array, high: Array) -> tuple[Array, Array, Array]:
    """Rows that are zero beside the diagonal, within low .. high, become the last of these; what is left ends there."""
    numbers, beside = counting(a, 0), op.Where(on_diagonal(a), 0.0, np.ones((), a.dtype))

    def step(a: Array, order: Array, high: Array, upto: Array, moved: Array, _: Array) -> list[Array]:
        left = op.And(numbers >= low, numbers <= high)
        rest = op.Mul(op.Abs(a), op.Where(left, beside, 0.0), types=[a.type])
        here = op.And(op.And(left, numbers <= upto), op.Equal(op.ReduceSum(rest, [1], keepdims=0), 0.0))
        place = op.ArgMax(op.Cast(here, to=np.int32), axis=0, keepdims=0, select_last_index=1)
        found = op.And(op.Gather(here, place, axis=0), high > low)
        other = op.Where(op.Equal(numbers, place), high, op.Where(op.Equal(numbers, high), place, numbers))
        index = op.Where(found, other, numbers)
        a = op.Gather(op.Gather(a, index, axis=0), index, axis=1, types=[a.type])
        upto = op.Where(found, place - 1, high)
        high = op.Where(found, high - 1, high)
        return [a, op.Gather(order, index, axis=0), high, upto, found, op.Or(found, moved)]

    start = [a, order, high, high, op.Less(high, high), high > low]
    a, order, high, *_ = until(lambda *carries: op.Not(carries[-1]), step, start, MOST)
    return a, order, high


def _scaled(a: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Rows and columns low .. high by powers of two, pass after pass until none gains, and these powers."""
    numbers = counting(a, 0)
    inside = op.Cast(op.And(numbers >= low, numbers <= high), to=a.dtype)

    def step(j: Array, a: Array, scale: Array, gained: Array) -> tuple[list[Array], list[Array]]:
        place = low + j
        column, row = (length(op.Mul(op.Gather(a, place, axis=k), inside), axis=0) for k in (1, 0))
        is_none = op.Or(op.Equal(column, 0.0), op.Equal(row, 0.0))
        quotient = op.Where(is_none, 1.0, op.Div(row, op.Where(is_none, 1.0, column)))
        # Where this is a half but for rounding, less is scaled: LAPACK multiplies while row > 2 column.
        exponent = op.Ceil(op.Log(quotient) * (0.5 / math.log(2)) - (0.5 + 1e-9))
        factor = op.Pow(np.asarray(2, a.dtype), exponent)
        gains = column * factor + row / factor < GAIN * (column + row)
        factor = op.Where(op.And(op.Equal(numbers, place), gains), factor, 1.0)
        a = op.Mul(op.Div(a, op.Unsqueeze(factor, [1])), factor, types=[a.type])
        return [a, op.Mul(scale, factor, types=[scale.type]), op.Or(gained, gains)], []

    def one_pass(a: Array, scale: Array, _: Array) -> list[Array]:
        return loop(high - low + 1, step, [a, scale, op.Less(high, high)])

    ones = op.Add(op.Mul(inside, 0.0), 1.0)
    a, scale, _ = until(lambda *carries: op.Not(carries[-1]), one_pass, [a, ones, high > low], MOST)
    return a, scale
