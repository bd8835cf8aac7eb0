"""Permutations in LAPACK's form: for each row in turn, the row that it is exchanged with."""

import numpy as np

from primsplit.numpy.dense.loop import counting, loop, scalar, size, stacked_columns
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.calls.primitive import primitive


def _at(x: Array, i: Array) -> Array:
    """Element i of the last axis, which stays with size 1."""
    return op.Gather(x, op.Unsqueeze(i, [0]), axis=-1)


def _vectors(collected: Array, like: Array) -> Array:
    """The columns that a loop collected [n, ..., 1] as vectors [..., n]."""
    found = op.Squeeze(stacked_columns(op.Unsqueeze(collected, [-2])), [-2])
    return op.Identity(found, types=[like.type])


@primitive
def exchanges(order: Array) -> Array:
    """The exchanges [..., n] that, made one after the other, bring 0, 1, ... into this order [..., n]; both int64."""
    numbers = counting(order, -1)

    def step(i: Array, now: Array) -> tuple[list[Array], list[Array]]:
        hits = op.Equal(now, _at(order, i))
        place = op.ArgMax(op.Cast(hits, to=np.int32), axis=-1, keepdims=1)
        moved = op.Where(hits, _at(now, i), now)
        return [op.Where(op.Equal(numbers, i), np.int64(-1), moved)], [place]

    return _vectors(loop(scalar(size(order, -1)), step, [_counted(order)])[1], order)


@primitive
def order_of(pivots: Array) -> Array:
    """The order of rows [..., n] that these exchanges [..., n] make, one after the other; both int64."""
    numbers = counting(pivots, -1)

    def step(i: Array, now: Array) -> tuple[list[Array], list[Array]]:
        other = _at(pivots, i)
        here, there = _at(now, i), op.GatherElements(now, other, axis=-1)
        swapped = op.Where(op.Equal(numbers, other), here, now)
        return [op.Where(op.Equal(numbers, i), there, swapped)], []

    return loop(scalar(size(pivots, -1)), step, [_counted(pivots)])[0]


def _counted(like: Array) -> Array:
    """0, 1, ... along the last axis, in the shape of `like`."""
    return op.Expand(counting(like, -1), op.Shape(like), types=[like.type])
