"""Record SplitToSequence and ConcatFromSequence: a tensor as the sequence of its parts, and parts as a tensor."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from primsplit import tracing
from primsplit.ir import Const, Value, dims
from primsplit.ir.errors import ParseError
from primsplit.onnx.aligned import Known, record_aligned
from primsplit.onnx.aligned.node import aligned
from primsplit.onnx.known import known_array, known_number
from primsplit.onnx.sequences import ragged, ranks
from primsplit.onnx.sequences.forms import (
    MOST_ITEMS,
    Entry,
    Listed,
    Ragged,
    Stacked,
    apart,
    refused,
    require_sequence,
    require_tensor,
)
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import axis_first, int_scalar, reshape_to
from primsplit.tracing.handles.described import RANK_CURE
from primsplit.tracing.trees import as_list

MOST_PIECES = 10_000
"""The most pieces that a tensor is split into."""

Inputs = Sequence[Entry | None]


def split(inputs: Inputs, attributes: Mapping[str, Any]) -> Entry:
    """Return the parts of a tensor.

    The standard ignores `keepdims` if sizes are given. Exporters for PyTorch write it beside a scalar 1 and mean it,
    and onnxruntime obeys it there, so it is obeyed here too.
    """
    tensor = require_tensor(inputs[0], "SplitToSequence")
    axis, keeps = int(attributes.get("axis", 0)), bool(attributes.get("keepdims", 1))
    rank = tensor.type.rank
    if tensor.type.shape is None or rank is None or not -rank <= axis < rank:
        raise ParseError(f"SplitToSequence along axis {axis} of {tensor.type}", place=tracing.current().place)
    axis %= rank
    if inputs[1] is None:
        return _singles(tensor, axis, keeps=keeps)
    sizes = require_tensor(inputs[1], "SplitToSequence")
    if sizes.type.rank == 1:
        return _pieces(tensor, sizes, axis)
    number, whole = known_number(sizes), tensor.type.shape[axis]
    if number == 1:
        return _singles(tensor, axis, keeps=keeps)
    if number is not None and number > 0 and not isinstance(whole, int):
        count = dims.floor_divide(whole, number)
        if dims.same(count * number, whole):
            return _even(tensor, axis, count, number)
    if number is None or not isinstance(whole, int):
        return _evenly(tensor, int_scalar(Array(sizes)), axis)
    if number <= 0 or whole > number * MOST_PIECES:
        why = f"told in tensors, a sequence has at most {MOST_PIECES} elements"
        pieces = "pieces of no size" if number <= 0 else f"{-(-whole // number)} pieces"
        raise refused(f"SplitToSequence into {pieces}", why, "Split it into fewer pieces.")
    counts = [min(number, whole - start) for start in range(0, whole, number)]
    return _pieces(tensor, Const(np.array(counts, np.int64)), axis)


def split_of_unknown_rank(inputs: Inputs, attributes: Mapping[str, Any], known: Known) -> Entry:
    """Return the parts of a tensor whose number of axes only the run knows; `known` are the aligned values."""
    tensor = require_tensor(inputs[0], "SplitToSequence")
    axis, keeps = int(attributes.get("axis", 0)), bool(attributes.get("keepdims", 1))
    sizes = None if inputs[1] is None else require_tensor(inputs[1], "SplitToSequence")
    side = aligned(tensor, known)
    width = op.Gather(side.own_shape(), axis, axis=0)
    if sizes is None or (sizes.type.rank == 0 and known_number(sizes) == 1):
        return ranks.split(side, op.Expand(np.ones(1, np.int64), op.Unsqueeze(width, [0])), axis, keeps=keeps)
    if sizes.type.rank is None:
        told = f"SplitToSequence of {tensor.type} into sizes of {sizes.type}"
        raise ParseError(told, place=tracing.current().place, cure=RANK_CURE)
    parts = op.Cast(Array(sizes), to=onnx.TensorProto.INT64)
    return ranks.split(side, _even_sizes(width, parts) if sizes.type.rank == 0 else parts, axis, keeps=True)


def _singles(tensor: Value, axis: int, *, keeps: bool) -> Entry:
    """Return the parts of size 1 along an axis: one by one if there are few, else as a stack."""
    shape = tensor.type.shape or ()
    count = shape[axis]
    if isinstance(count, int) and count <= MOST_ITEMS:
        return Listed(tuple(apart(tensor, count, axis, keeps=keeps)))
    moved = axis_first(Array(tensor), axis)
    return Stacked((op.Unsqueeze(moved, [axis + 1]) if keeps else moved).value)


def _even(tensor: Value, axis: int, count: dims.Dim, size: int) -> Entry:
    """Return as many parts of one size as the run knows, as a stack."""
    shape = tensor.type.shape or ()
    split_up = (*shape[:axis], count, size, *shape[axis + 1 :])
    return Stacked(axis_first(reshape_to(Array(tensor), split_up), axis).value)


def _evenly(tensor: Value, number: Array, axis: int) -> Entry:
    """Return parts of one size, which the run may compute; the last one is the rest."""
    return ragged.split_along(tensor, _even_sizes(op.Gather(op.Shape(Array(tensor)), axis, axis=0), number), axis)


def _even_sizes(whole: Array, number: Array) -> Array:
    """Return the sizes of parts of one size; the last one is the rest."""
    return op.Min(op.Sub(whole, op.Range(0, whole, number)), number)


def _pieces(tensor: Value, sizes: Value, axis: int) -> Entry:
    """Return the parts of these sizes, as many as there are sizes, which the run may compute."""
    known = known_array(sizes)
    count = (sizes.type.shape or (None,))[0] if known is None else len(known)
    if isinstance(count, int) and count == 0:
        return Listed(())
    parts = Array(sizes if known is None else Const(known.astype(np.int64)))
    if known is None and parts.dtype != np.int64:
        parts = op.Cast(parts, to=onnx.TensorProto.INT64)
    if not isinstance(count, int):
        return ragged.split_along(tensor, parts, axis)
    return Listed(tuple(p.value for p in as_list(op.Split(Array(tensor), parts, axis=axis, outputs=count))))


def concat(inputs: Inputs, attributes: Mapping[str, Any], known: Known | None = None) -> Entry:
    """Return the elements joined along one of their axes, or a new one; the run fails if they do not fit.

    `known` are the aligned values of elements of unknown rank.
    """
    held = require_sequence(inputs[0], "ConcatFromSequence")
    axis, adds = int(attributes["axis"]), bool(attributes.get("new_axis", 0))
    if isinstance(held, Stacked):
        return _merged(held.tensor, axis, adds=adds)
    if isinstance(held, Ragged):
        if held.mixed:
            return _joined_alike(held, axis, adds=adds)
        if adds:
            return _merged(ragged.stacked(held), axis, adds=True)
        _require_axis(axis, held.rank, "the elements")
        return ragged.joined_along(held, axis % held.rank)
    if not held.items:
        raise ParseError("ConcatFromSequence joins an empty sequence", place=tracing.current().place)
    return _joined(held.items, axis, {} if known is None else known, adds=adds)


def _joined(items: Sequence[Value], axis: int, known: Known, *, adds: bool) -> Value:
    """Return elements of a known number joined."""

    def plain(kind: str, inputs: Sequence[Value | None], attributes: Mapping[str, Any], _: int) -> Sequence[Value]:
        return tracing.emit(kind, inputs, attributes)

    def recorded(kind: str, *inputs: Value, **attributes: Any) -> Value:
        told = record_aligned(kind, inputs, attributes, 1, known, plain)
        return (plain(kind, inputs, attributes, 1) if told is None else told)[0]

    axes = Const(np.array([axis]))
    parts = [recorded("Unsqueeze", v, axes) for v in items] if adds else items
    return recorded("Concat", *parts, axis=axis)


def _joined_alike(held: Ragged, axis: int, *, adds: bool) -> Value:
    """Return elements joined whose number of axes only the run knows: it must be the same for all, or the run fails."""
    is_behind = axis >= 0
    more = 1 if adds else 0
    rows, rank = ranks.alike(held, (axis + 1 if axis >= 0 else -axis) - more, is_behind=is_behind)
    count = held.rank + more
    _require_axis(axis, count, "the elements")
    if not adds:
        return ranks.of_rank(ragged.joined_along(rows, axis % count), rank, is_behind=is_behind)
    made = _merged(ragged.stacked(rows), axis, adds=True)
    return ranks.of_rank(made, op.Add(rank, np.array([1])), is_behind=is_behind)


def _require_axis(axis: int, rank: int, what: str) -> None:
    if not -rank <= axis < rank:
        told = f"ConcatFromSequence along axis {axis}, and {what} have {rank}"
        raise ParseError(told, place=tracing.current().place)


def _merged(tensor: Value, axis: int, *, adds: bool) -> Value:
    """Return the parts of a stack joined along an axis, which is new, or one of theirs."""
    shape = tensor.type.shape
    rank = 0 if shape is None else len(shape) - (0 if adds else 1)
    if shape is None:
        raise ParseError(f"ConcatFromSequence of {tensor.type}", place=tracing.current().place)
    _require_axis(axis, rank, f"{tensor.type}, the elements stacked,")
    place = axis % rank
    order = [*range(1, place + 1), 0, *range(place + 1, len(shape))]
    moved = Array(tensor) if place == 0 else op.Transpose(Array(tensor), perm=order)
    if adds:
        return moved.value
    sizes = moved.shape
    return op.Reshape(moved, [*sizes[:place], sizes[place] * sizes[place + 1], *sizes[place + 2 :]], allowzero=1).value
