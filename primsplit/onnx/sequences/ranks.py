"""Split a tensor of unknown rank into a sequence whose elements may have fewer axes than declared; and join such ones.

An axis that counts from the front belongs to an array with axes of size 1 behind, another one to one with axes in
front.
"""

import numpy as np

from primsplit.ir import Value
from primsplit.onnx.aligned.node import END, MOST, Aligned, from_front
from primsplit.onnx.sequences import ragged
from primsplit.onnx.sequences.forms import Ragged
from primsplit.onnx.sequences.stacks import unless
from primsplit.ops import op
from primsplit.tracing.array import Array


def split(tensor: Aligned, sizes: Array, axis: int, *, keeps: bool) -> Ragged:
    """Return the parts of these sizes along an axis, which they keep, or lack if each is of size 1."""
    side = Aligned(tensor.wide, _at_least(tensor.rank, axis + 1 if axis >= 0 else -axis))
    whole = side.front() if axis >= 0 else side.wide
    parts = ragged.split_along(whole.value, sizes, axis % MOST)
    every, none = Array(parts.shapes), np.zeros(1, np.int64)
    start, end = (none, side.rank) if axis >= 0 else (op.Sub(np.array([MOST]), side.rank), np.array([MOST]))
    own = op.Slice(every, start, end, [1])
    if not keeps:
        place = op.Add(side.rank, np.array([axis])) if axis < 0 else np.array([axis])
        before, behind = op.Slice(own, none, place, [1]), op.Slice(own, op.Add(place, np.array([1])), [END], [1])
        own = op.Concat(before, behind, axis=1)
    return Ragged(parts.elements, _filled(own, op.Shape(own, start=1), -1, MOST, is_behind=True).value, mixed=True)


def alike(held: Ragged, least: int, *, is_behind: bool) -> tuple[Ragged, Array]:
    """Return elements that all have as many axes, with axes of size 1 before or behind those; and their own rank.

    The run fails if their ranks differ, are less than `least`, or there is no element.
    """
    shapes = Array(held.shapes)
    ranks = op.ReduceSum(op.Cast(op.GreaterOrEqual(shapes, 0), to=np.int64), [1], keepdims=0)
    first = op.Gather(ranks, [0], axis=0)
    others = op.ReduceSum(op.Cast(op.Not(op.Equal(ranks, first)), to=np.int64), [0], keepdims=0)
    rank = _at_least(unless(op.Greater(others, 0), op.Unsqueeze(first, [0])), least)
    own = op.Slice(shapes, [0], rank, [1])
    return Ragged(held.elements, _filled(own, rank, 1, held.rank, is_behind=is_behind).value), rank


def of_rank(joined: Value, rank: Array, *, is_behind: bool) -> Value:
    """Return a result on `alike` elements, with as many axes as are its own."""
    side = from_front(Array(joined), rank) if is_behind else Aligned(Array(joined), rank)
    return side.own()


def _at_least(rank: Array, least: int) -> Array:
    """Return a rank; the run fails if it is less."""
    is_less = op.Reshape(op.Less(rank, np.array([least])), np.zeros(0, np.int64))
    found: Array = unless(is_less, op.Unsqueeze(rank, [0]))
    return found


def _filled(shapes: Array, rank: Array, number: int, count: int, *, is_behind: bool) -> Array:
    """Return rows of sizes, `rank` in each, with a number before or behind them for each size that they lack."""
    rows = op.Shape(shapes, end=1)
    more = op.Expand(np.full((1, 1), number), op.Concat(rows, op.Sub(np.array([count]), rank), axis=0))
    sides = (shapes, more) if is_behind else (more, shapes)
    return op.Reshape(op.Concat(*sides, axis=1), op.Concat(rows, np.array([count]), axis=0), allowzero=1)
