"""The operators of sequences and optional values, read away: what they do to what stands for those.

Positions are numbers where they are computed from constants. One that only the run knows chooses among elements of one
dtype and number of axes; where there is no such position the run fails, as onnxruntime's own operators do.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from primsplit import dims, tracing
from primsplit.array import Array
from primsplit.broadcasting import reshape_to
from primsplit.control import switch
from primsplit.errors import ParseError, UnsupportedFunction
from primsplit.ir import Const, Value
from primsplit.onnxio.known import known_array, known_number
from primsplit.onnxio.sequence_stacks import erased, inserted
from primsplit.onnxio.sequences import (
    MOST_ITEMS,
    Absent,
    Entry,
    Growing,
    Listed,
    Maybe,
    Stacked,
    apart,
    element_shape,
    is_held,
    listed,
    require_sequence,
    require_tensor,
    scalar,
    stack,
    stacked_like,
)
from primsplit.ops import op

MOST_PIECES = 10_000
"""The most pieces that a tensor is split into."""

Inputs = Sequence[Entry | None]


def is_of_sequences(kind: str, inputs: Inputs) -> bool:
    """True for an operator of sequences or optional values, and for an Identity of one."""
    return kind in OPERATORS and (kind != "Identity" or any(map(is_held, inputs)))


def record_sequence(kind: str, inputs: Inputs, attributes: Mapping[str, Any]) -> Entry:
    """Record an operator of `OPERATORS`; the one output of it.

    Raises ParseError for a position that a sequence does not have, UnsupportedFunction for what only a run could tell.
    """
    return OPERATORS[kind]([*inputs, None, None, None], attributes)


def _refused(what: str, why: str, cure: str) -> UnsupportedFunction:
    return UnsupportedFunction(what, place=tracing.current().place, because=(why,), cure=cure)


def _position(value: Value, count: int, kind: str, *, ends: int = 0) -> int | None:
    """The number of a position, counted from the front; `ends` is 1 where the place after the last is one."""
    number = known_number(value)
    if number is None:
        return None
    found = number + count if number < 0 else number
    if not 0 <= found < count + ends:
        told = f"{kind} asks for position {number} of a sequence of {count}"
        raise ParseError(told, place=tracing.current().place)
    return found


def _construct(inputs: Inputs, _: Mapping[str, Any]) -> Entry:
    return Listed(tuple(require_tensor(x, "SequenceConstruct") for x in inputs if x is not None))


def _insert(inputs: Inputs, _: Mapping[str, Any]) -> Entry:
    tensor = require_tensor(inputs[1], "SequenceInsert")
    position = None if inputs[2] is None else require_tensor(inputs[2], "SequenceInsert")
    if isinstance(inputs[0], Growing) and position is None:
        return Growing(inputs[0].owner, inputs[0].place, (*inputs[0].items, tensor))
    held = require_sequence(inputs[0], "SequenceInsert")
    known = listed(held)
    if known is None:
        return _appended(held, tensor, position)
    at = len(known.items) if position is None else _position(position, len(known.items), "SequenceInsert", ends=1)
    if at is None and position is not None:
        return _inserted(known.items, tensor, position)
    return Listed((*known.items[:at], tensor, *known.items[at:]))


def _appended(held: Listed | Stacked, tensor: Value, position: Value | None) -> Entry:
    """A sequence of unknown length with one more at a position, by default its end."""
    whole = None if tensor.type.shape is None else stacked_like(held, tensor.type.shape)
    if whole is None:
        raise _refused(
            "SequenceInsert into a sequence whose length only the run knows",
            "told in tensors it takes elements of one shape, and that this one has it is not known",
            "Give the sequence a fixed length, or pad its elements.",
        )
    if position is not None:
        return Stacked(inserted(whole, tensor, _scalar(position)))
    return Stacked(op.Concat(Array(whole), op.Unsqueeze(Array(tensor), [0]), axis=0).value)


def _inserted(items: Sequence[Value], tensor: Value, position: Value) -> Entry:
    """The elements with one more at a position that only the run knows."""
    _require_alike([*items, tensor], "SequenceInsert")
    count = len(items)
    shifted = op.Add(_scalar(position), count)
    places = np.array([*range(count), *range(count + 1)])
    place = op.Gather(places, op.Where(op.Less(shifted, 0), len(places), shifted), axis=0)
    if not items:
        return Listed((op.Gather(Array(stack([tensor])), place, axis=0).value,))
    around = [[*items[max(j - 1, 0) : j], tensor, *items[j : j + 1]] for j in range(count + 1)]
    return Listed(tuple(_chosen(op.Sub(place, max(j - 1, 0)), near) for j, near in enumerate(around)))


def _erased(items: Sequence[Value], position: Value) -> Entry:
    """The elements without the one at a position that only the run knows."""
    _require_alike(items, "SequenceErase")
    if len(items) == 1:
        why = "nothing is left that could fail where there is no such position"
        raise _refused("SequenceErase of a sequence's one element", why, "Make the position a constant.")
    place = op.Gather(np.arange(len(items)), _scalar(position), axis=0)
    return Listed(tuple(_chosen(op.Sub(place, j), [items[j + 1], items[j]]) for j in range(len(items) - 1)))


def _erase(inputs: Inputs, _: Mapping[str, Any]) -> Entry:
    held = require_sequence(inputs[0], "SequenceErase")
    known = listed(held)
    position = scalar(-1) if inputs[1] is None else require_tensor(inputs[1], "SequenceErase")
    if known is None and isinstance(held, Stacked):
        return Stacked(erased(held.tensor, _scalar(position)))
    items = () if known is None else known.items
    count = len(items)
    at = _position(position, count, "SequenceErase")
    if at is None:
        return _erased(items, position)
    return Listed(items[:at] + items[at + 1 :])


def _at(inputs: Inputs, _: Mapping[str, Any]) -> Entry:
    held = require_sequence(inputs[0], "SequenceAt")
    position = require_tensor(inputs[1], "SequenceAt")
    if isinstance(held, Listed) and (at := _position(position, len(held.items), "SequenceAt")) is not None:
        return held.items[at]
    index = _scalar(position)
    if isinstance(held, Stacked):
        return op.Gather(Array(held.tensor), index, axis=0).value
    if element_shape(held) is not None:
        return op.Gather(Array(stack(held.items)), index, axis=0).value
    _require_alike(held.items, "SequenceAt")
    return _chosen(op.Gather(np.arange(len(held.items)), index, axis=0), held.items)


def _scalar(position: Value) -> Array:
    """A position as an int64 without axes."""
    found = Array(position) if position.type.rank == 0 else op.Reshape(Array(position), np.zeros(0, np.int64))
    widened: Array = found if found.dtype == np.int64 else op.Cast(found, to=onnx.TensorProto.INT64)
    return widened


def _require_alike(items: Sequence[Value], kind: str) -> None:
    """Raise UnsupportedFunction for elements of which an If cannot give the one or the other."""
    kinds = {(v.type.dtype, v.type.rank) for v in items}
    if len(kinds) > 1:
        why = "its elements have several dtypes or numbers of axes"
    elif not items or len(items) > MOST_ITEMS:
        why = "it is empty" if not items else f"it has more than {MOST_ITEMS} elements"
    elif items[0].type.rank is None:
        why = "how many axes its elements have is not known"
    else:
        return
    raise _refused(f"{kind} at a position that only the run knows", why, "Make the position a constant.")


def _chosen(index: Array, items: Sequence[Value]) -> Value:
    """The element at an index, which is held to the first and the last."""

    def side(item: Value) -> Callable[[], Array]:
        return lambda: op.Identity(Array(item))

    found: Array = switch(index, [side(item) for item in items])
    return found.value


def _length(inputs: Inputs, _: Mapping[str, Any]) -> Entry:
    held = require_sequence(inputs[0], "SequenceLength")
    if isinstance(held, Listed):
        return scalar(len(held.items))
    return op.Squeeze(op.Shape(Array(held.tensor), start=0, end=1), [0]).value


def _split(inputs: Inputs, attributes: Mapping[str, Any]) -> Entry:
    """The parts of a tensor.

    The standard ignores `keepdims` where sizes are given. Exporters for PyTorch write it beside a scalar 1 and mean
    it, and onnxruntime obeys it there, so it is obeyed here too.
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
    if number is None or not isinstance(whole, int) or number <= 0:
        why = "how many pieces there are, only the run knows, and the last one may be shorter"
        raise _refused("SplitToSequence into pieces of one size", why, "Say the size of each piece.")
    if whole > number * MOST_PIECES:
        why = f"told in tensors, a sequence has at most {MOST_PIECES} elements"
        raise _refused(f"SplitToSequence into {-(-whole // number)} pieces", why, "Split it into fewer pieces.")
    counts = [min(number, whole - start) for start in range(0, whole, number)]
    return _pieces(tensor, Const(np.array(counts, np.int64)), axis)


def _singles(tensor: Value, axis: int, *, keeps: bool) -> Entry:
    """The parts of size 1 along an axis: one by one where there are few, else as a stack."""
    shape = tensor.type.shape or ()
    count = shape[axis]
    if isinstance(count, int) and count <= MOST_ITEMS:
        return Listed(tuple(apart(tensor, count, axis, keeps=keeps)))
    order = [axis, *(i for i in range(len(shape)) if i != axis)]
    moved = Array(tensor) if axis == 0 else op.Transpose(Array(tensor), perm=order)
    return Stacked((op.Unsqueeze(moved, [axis + 1]) if keeps else moved).value)


def _even(tensor: Value, axis: int, count: dims.Dim, size: int) -> Entry:
    """As many parts of one size as the run knows, as a stack."""
    shape = tensor.type.shape or ()
    split_up = (*shape[:axis], count, size, *shape[axis + 1 :])
    parted = reshape_to(Array(tensor), split_up)
    order = [axis, *(i for i in range(len(split_up)) if i != axis)]
    return Stacked((parted if axis == 0 else op.Transpose(parted, perm=order)).value)


def _pieces(tensor: Value, sizes: Value, axis: int) -> Entry:
    """The parts of these sizes, as many as there are sizes, which the run may compute."""
    known = known_array(sizes)
    count = (sizes.type.shape or (None,))[0] if known is None else len(known)
    if not isinstance(count, int):
        why = "how many pieces there are, only the run knows"
        raise _refused("SplitToSequence with sizes that the model computes", why, "Say the size of each piece.")
    if count == 0:
        return Listed(())
    parts = Array(sizes if known is None else Const(known.astype(np.int64)))
    if known is None and parts.dtype != np.int64:
        parts = op.Cast(parts, to=7)
    return Listed(tuple(p.value for p in _as_tuple(op.Split(Array(tensor), parts, axis=axis, outputs=count))))


def _as_tuple(made: Any) -> tuple[Array, ...]:
    return made if isinstance(made, tuple) else (made,)


def _concat(inputs: Inputs, attributes: Mapping[str, Any]) -> Entry:
    held = require_sequence(inputs[0], "ConcatFromSequence")
    axis, adds = int(attributes["axis"]), bool(attributes.get("new_axis", 0))
    if isinstance(held, Stacked):
        return _merged(held.tensor, axis, adds=adds)
    if not held.items:
        raise ParseError("ConcatFromSequence joins an empty sequence", place=tracing.current().place)
    parts = [op.Unsqueeze(Array(v), [axis]) if adds else Array(v) for v in held.items]
    joined: Array = op.Concat(*parts, axis=axis)
    return joined.value


def _merged(tensor: Value, axis: int, *, adds: bool) -> Value:
    """The parts of a stack joined along an axis, which is new, or one of theirs."""
    shape = tensor.type.shape
    rank = 0 if shape is None else len(shape) - (0 if adds else 1)
    if shape is None or not -rank <= axis < rank:
        raise ParseError(f"ConcatFromSequence along axis {axis}, the elements stacked being {tensor.type}")
    place = axis % rank
    order = [*range(1, place + 1), 0, *range(place + 1, len(shape))]
    moved = Array(tensor) if place == 0 else op.Transpose(Array(tensor), perm=order)
    if adds:
        return moved.value
    sizes = moved.shape
    return op.Reshape(moved, [*sizes[:place], sizes[place] * sizes[place + 1], *sizes[place + 2 :]], allowzero=1).value


def _same(inputs: Inputs, _: Mapping[str, Any]) -> Entry:
    if inputs[0] is None:
        raise ParseError("Identity has no input", place=tracing.current().place)
    return inputs[0]


def _optional(inputs: Inputs, _: Mapping[str, Any]) -> Entry:
    return Absent() if inputs[0] is None else inputs[0]


def _has_element(inputs: Inputs, _: Mapping[str, Any]) -> Entry:
    if isinstance(inputs[0], Maybe):
        return op.Greater(op.Squeeze(op.Shape(Array(inputs[0].tensor), start=0, end=1), [0]), 0).value
    return scalar(inputs[0] is not None and not isinstance(inputs[0], Absent))


def _get_element(inputs: Inputs, _: Mapping[str, Any]) -> Entry:
    if isinstance(inputs[0], Maybe):
        return op.Gather(Array(inputs[0].tensor), 0, axis=0).value
    if inputs[0] is None or isinstance(inputs[0], Absent):
        raise ParseError("OptionalGetElement of a value that is not given", place=tracing.current().place)
    return inputs[0]


OPERATORS: Mapping[str, Callable[[Inputs, Mapping[str, Any]], Entry]] = {
    "Identity": _same,
    "SequenceEmpty": lambda inputs, attributes: Listed(()),
    "SequenceConstruct": _construct,
    "SequenceInsert": _insert,
    "SequenceErase": _erase,
    "SequenceAt": _at,
    "SequenceLength": _length,
    "SplitToSequence": _split,
    "ConcatFromSequence": _concat,
    "Optional": _optional,
    "OptionalHasElement": _has_element,
    "OptionalGetElement": _get_element,
}
