"""Stacked sequences, whose length only the run knows: an element put in or taken out, two of one length.

Where there is no such position, or lengths differ, the run fails, as onnxruntime's own operators do.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Type, Value, dims
from primsplit.ir.dims import Dim
from primsplit.ops import op
from primsplit.ops.inference import fresh
from primsplit.tracing.array import Array


def erased(tensor: Value, position: Array) -> Value:
    """The stack without the element at a position, which may count from the end.

    Its length is told by that before, so that a loop whose steps take elements out is known to change it.
    """
    count = count_of(tensor)
    place = place_in(count, position)
    length = (tensor.type.shape or (fresh("items"),))[0]
    return _joined(tensor, [part_of(tensor, 0, place), part_of(tensor, op.Add(place, 1), count)], length - 1)


def inserted(tensor: Value, item: Value, position: Array) -> Value:
    """The stack with one more element in front of a position, which may be the length.

    Its length is not told by that before: read from there, it would be right where there is no such position.
    """
    count = count_of(tensor)
    place = place_of_new(count, position)
    new = op.Unsqueeze(Array(item), [0])
    return _joined(tensor, [part_of(tensor, 0, place), new, part_of(tensor, place, count)], fresh("items"))


def of_length(tensor: Value, length: Dim) -> Value:
    """The stack, said to be of this length; the run fails where it is of another."""
    shape = tensor.type.shape
    if shape is None or dims.same(shape[0], length):
        return tensor
    wanted = (length, *shape[1:])
    return op.Reshape(
        Array(tensor), tracing.size_vector(wanted), allowzero=1, types=[Type(tensor.type.dtype, wanted)]
    ).value


def count_of(rows: Value) -> Array:
    """How many rows there are."""
    return op.Squeeze(op.Shape(Array(rows), start=0, end=1), [0])


def place_in(count: Array, position: Array) -> Array:
    """A position, which may count from the end, counted from the front."""
    return op.Gather(op.Range(0, count, 1), position, axis=0)


def place_of_new(count: Array, position: Array) -> Array:
    """The place of a new row counted from the front: `position` may count from the end, and may be the count."""
    shifted = op.Where(op.Less(position, 0), op.Add(position, count), position)
    # A position before the first would count from the end again: it is put past the end, where there is nothing.
    checked = op.Where(op.Less(shifted, 0), op.Add(count, 1), shifted)
    return op.Gather(op.Range(0, op.Add(count, 1), 1), checked, axis=0)


def unless(condition: Array, rows: Any) -> Array:
    """The one row there is; where the condition holds the run fails."""
    return op.Gather(rows, op.Cast(condition, to=np.int64), axis=0)


def part_of(tensor: Value, start: Array | int, end: Array) -> Array:
    """The rows from one position to another."""
    first = [start] if isinstance(start, int) else op.Unsqueeze(start, [0])
    return op.Slice(Array(tensor), first, op.Unsqueeze(end, [0]), [0])


def _joined(tensor: Value, parts: Sequence[Array], length: Dim) -> Value:
    shape = tensor.type.shape or ()
    declared = Type(tensor.type.dtype, (length, *shape[1:]))
    return op.Concat(*parts, axis=0, types=[declared]).value
