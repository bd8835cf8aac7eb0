"""Stacked sequences, whose length only the run knows: an element put in or taken out, two of one length.

Where there is no such position, or lengths differ, the run fails, as onnxruntime's own operators do.
"""

from collections.abc import Sequence

from primsplit import dims, tracing
from primsplit.array import Array
from primsplit.dims import Dim
from primsplit.infer import fresh
from primsplit.ir import Type, Value
from primsplit.ops import op


def erased(tensor: Value, position: Array) -> Value:
    """The stack without the element at a position, which may count from the end."""
    count = _count(tensor)
    place = op.Gather(op.Range(0, count, 1), position, axis=0)
    return _joined(tensor, [_part(tensor, 0, place), _part(tensor, op.Add(place, 1), count)])


def inserted(tensor: Value, item: Value, position: Array) -> Value:
    """The stack with one more element in front of a position, which may be the length."""
    count = _count(tensor)
    shifted = op.Where(op.Less(position, 0), op.Add(position, count), position)
    # A position before the first would count from the end again: it is put past the end, where there is nothing.
    checked = op.Where(op.Less(shifted, 0), op.Add(count, 1), shifted)
    place = op.Gather(op.Range(0, op.Add(count, 1), 1), checked, axis=0)
    new = op.Unsqueeze(Array(item), [0])
    return _joined(tensor, [_part(tensor, 0, place), new, _part(tensor, place, count)])


def of_length(tensor: Value, length: Dim) -> Value:
    """The stack, said to be of this length; the run fails where it is of another."""
    shape = tensor.type.shape
    if shape is None or dims.same(shape[0], length):
        return tensor
    wanted = (length, *shape[1:])
    return op.Reshape(
        Array(tensor), tracing.size_vector(wanted), allowzero=1, types=[Type(tensor.type.dtype, wanted)]
    ).value


def _count(tensor: Value) -> Array:
    return op.Squeeze(op.Shape(Array(tensor), start=0, end=1), [0])


def _part(tensor: Value, start: Array | int, end: Array) -> Array:
    first = [start] if isinstance(start, int) else op.Unsqueeze(start, [0])
    return op.Slice(Array(tensor), first, op.Unsqueeze(end, [0]), [0])


def _joined(tensor: Value, parts: Sequence[Array]) -> Value:
    shape = tensor.type.shape or ()
    declared = Type(tensor.type.dtype, (fresh("items"), *shape[1:]))
    return op.Concat(*parts, axis=0, types=[declared]).value
