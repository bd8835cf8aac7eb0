"""Edit stacked sequences, whose length only the run knows: insert or erase an element, match two lengths.

If there is no such position, or lengths differ, the run fails, as onnxruntime's own operators do.
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
    """Return the stack without the element at a position, which may count from the end.

    Its length is derived from the one before, so that a loop whose steps erase elements is known to change it.
    """
    count = count_of(tensor)
    place = place_in(count, position)
    length = (tensor.type.shape or (fresh("items"),))[0]
    return _joined(tensor, [part_of(tensor, 0, place), part_of(tensor, op.Add(place, 1), count)], length - 1)


def inserted(tensor: Value, item: Value, position: Array) -> Value:
    """Return the stack with one more element in front of a position, which may be the length.

    Its length is not derived from the one before: it would then be right even if there is no such position.
    """
    count = count_of(tensor)
    place = place_of_new(count, position)
    new = op.Unsqueeze(Array(item), [0])
    return _joined(tensor, [part_of(tensor, 0, place), new, part_of(tensor, place, count)], fresh("items"))


def of_length(tensor: Value, length: Dim) -> Value:
    """Return the stack, declared to be of this length; the run fails if it is of another."""
    shape = tensor.type.shape
    if shape is None or dims.same(shape[0], length):
        return tensor
    wanted = (length, *shape[1:])
    return op.Reshape(
        Array(tensor), tracing.size_vector(wanted), allowzero=1, types=[Type(tensor.type.dtype, wanted)]
    ).value


def count_of(rows: Value) -> Array:
    """Return the number of rows."""
    return op.Squeeze(op.Shape(Array(rows), start=0, end=1), [0])


def place_in(count: Array, position: Array) -> Array:
    """Return a position, which may count from the end, counted from the front."""
    return op.Gather(op.Range(0, count, 1), position, axis=0)


def place_of_new(count: Array, position: Array) -> Array:
    """The position of a new row counted from the front: `position` may count from the end, and may be the count."""
    shifted = op.Where(op.Less(position, 0), op.Add(position, count), position)
    # A position before the first would count from the end again: it is put past the end, where there is nothing.
    checked = op.Where(op.Less(shifted, 0), op.Add(count, 1), shifted)
    return op.Gather(op.Range(0, op.Add(count, 1), 1), checked, axis=0)


def unless(condition: Array, rows: Any) -> Array:
    """Return the single row there is; the run fails if the condition holds."""
    return op.Gather(rows, op.Cast(condition, to=np.int64), axis=0)


def part_of(tensor: Value, start: Array | int, end: Array) -> Array:
    """Return the rows from one position to another."""
    first = [start] if isinstance(start, int) else op.Unsqueeze(start, [0])
    return op.Slice(Array(tensor), first, op.Unsqueeze(end, [0]), [0])


def _joined(tensor: Value, parts: Sequence[Array], length: Dim) -> Value:
    shape = tensor.type.shape or ()
    declared = Type(tensor.type.dtype, (length, *shape[1:]))
    return op.Concat(*parts, axis=0, types=[declared]).value
