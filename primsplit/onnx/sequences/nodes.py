"""Record the operators of sequences and optional values, on the tensors that replace these.

Positions are numbers if they are computed from constants. One that only the run knows selects among elements of one
dtype and rank; if there is no such position the run fails, as onnxruntime's own operators do.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Value
from primsplit.ir.errors import ParseError
from primsplit.onnx.aligned import Known
from primsplit.onnx.known import known_number
from primsplit.onnx.sequences import ragged
from primsplit.onnx.sequences.forms import (
    MOST_ITEMS,
    Absent,
    Entry,
    Growing,
    Listed,
    Maybe,
    MaybeSequence,
    Ragged,
    Sequenced,
    Stacked,
    element_shape,
    is_held,
    listed,
    refused,
    require_sequence,
    require_tensor,
    scalar,
    stack,
    stacked_like,
)
from primsplit.onnx.sequences.pieces import Inputs, concat, split, split_of_unknown_rank
from primsplit.onnx.sequences.stacks import count_of, erased, inserted, unless
from primsplit.ops import op
from primsplit.tracing import regions as nested
from primsplit.tracing.array import Array
from primsplit.tracing.control import switch
from primsplit.tracing.operators import cast_to


def is_of_sequences(kind: str, inputs: Inputs) -> bool:
    """Whether it is an operator of sequences or optional values, or an Identity of one."""
    return kind in OPERATORS and (kind != "Identity" or any(map(is_held, inputs)))


def record_sequence(kind: str, inputs: Inputs, attributes: Mapping[str, Any], known: Known | None = None) -> Entry:
    """Record an operator of `OPERATORS`; return its one output. `known` are the aligned values of unknown rank.

    Raises ParseError for a position that a sequence does not have, UnsupportedFunction for results that depend on the
    run.
    """
    given = [*inputs, None, None, None]
    if kind == "ConcatFromSequence":
        return concat(given, attributes, known)
    if kind == "SplitToSequence" and require_tensor(given[0], kind).type.rank is None:
        return split_of_unknown_rank(given, attributes, {} if known is None else known)
    return OPERATORS[kind](given, attributes)


def _position(value: Value, count: int, kind: str, *, ends: int = 0) -> int | None:
    """Return the number of a position, counted from the front; `ends` is 1 if the place after the last is one."""
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


def _appended(held: Sequenced, tensor: Value, position: Value | None) -> Entry:
    """Return a sequence of unknown length with one more element at a position, by default its end."""
    shape = tensor.type.shape
    whole = None if shape is None or isinstance(held, Ragged) else stacked_like(held, shape)
    if whole is None:
        return _appended_unlike(held, tensor, position)
    if position is not None:
        return Stacked(inserted(whole, tensor, _scalar(position)))
    return Stacked(op.Concat(Array(whole), op.Unsqueeze(Array(tensor), [0]), axis=0).value)


def _appended_unlike(held: Sequenced, tensor: Value, position: Value | None) -> Entry:
    """A sequence of unknown length with one more element, which may have another shape, at a position, or its end."""
    form = ragged.form_of(held, Listed((tensor,)))
    rows = None if form is None else ragged.ragged(held, form)
    if rows is None:
        raise refused(
            "SequenceInsert into a sequence whose length only the run knows",
            "its elements and the new one have several dtypes, or how many axes they have is not known",
            "Give the sequence a fixed length.",
        )
    return ragged.inserted(rows, tensor, None if position is None else _scalar(position))


def _inserted(items: Sequence[Value], tensor: Value, position: Value) -> Entry:
    """Return the elements with one more at a position that only the run knows."""
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
    """Return the elements without the one at a position that only the run knows."""
    _require_alike(items, "SequenceErase")
    if len(items) == 1:
        why = "nothing is left that could fail where there is no such position"
        raise refused("SequenceErase of a sequence's one element", why, "Make the position a constant.")
    place = op.Gather(np.arange(len(items)), _scalar(position), axis=0)
    return Listed(tuple(_chosen(op.Sub(place, j), [items[j + 1], items[j]]) for j in range(len(items) - 1)))


def _erase(inputs: Inputs, _: Mapping[str, Any]) -> Entry:
    held = require_sequence(inputs[0], "SequenceErase")
    known = listed(held)
    position = scalar(-1) if inputs[1] is None else require_tensor(inputs[1], "SequenceErase")
    if known is None and isinstance(held, Stacked):
        return Stacked(erased(held.tensor, _scalar(position)))
    if isinstance(held, Ragged):
        return ragged.erased(held, _scalar(position))
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
    if isinstance(held, Ragged):
        return ragged.at(held, index)
    if element_shape(held) is not None:
        return op.Gather(Array(stack(held.items)), index, axis=0).value
    _require_alike(held.items, "SequenceAt")
    return _chosen(op.Gather(np.arange(len(held.items)), index, axis=0), held.items)


def _scalar(position: Value) -> Array:
    """Return a position as a scalar int64."""
    found = Array(position) if position.type.rank == 0 else op.Reshape(Array(position), np.zeros(0, np.int64))
    return cast_to(found, np.int64)


def _require_alike(items: Sequence[Value], kind: str) -> None:
    """Raise UnsupportedFunction for elements among which an If cannot choose."""
    dtypes = {v.type.dtype for v in items}
    ranks = {v.type.rank for v in items} - {None}
    if max(len(dtypes), len(ranks)) > 1:
        why = "its elements have several dtypes or numbers of axes"
    elif not items or len(items) > MOST_ITEMS:
        why = "it is empty" if not items else f"it has more than {MOST_ITEMS} elements"
    else:
        return
    raise refused(f"{kind} at a position that only the run knows", why, "Make the position a constant.")


def _chosen(index: Array, items: Sequence[Value]) -> Value:
    """Return the element at an index, which is clipped to the first and the last."""
    if any(v.type.rank is None for v in items):
        found = items[-1]
        for i, item in reversed(list(enumerate(items[:-1]))):
            here, after = (nested.record("side", (), lambda v=v: [op.Identity(Array(v)).value]) for v in (item, found))
            (found,) = nested.emit_if(op.LessOrEqual(index, i).value, here, after)
        return found

    def side(item: Value) -> Callable[[], Array]:
        return lambda: op.Identity(Array(item))

    chosen: Array = switch(index, [side(item) for item in items])
    return chosen.value


def _length(inputs: Inputs, _: Mapping[str, Any]) -> Entry:
    held = require_sequence(inputs[0], "SequenceLength")
    if isinstance(held, Listed):
        return scalar(len(held.items))
    return count_of(held.shapes if isinstance(held, Ragged) else held.tensor).value


def _same(inputs: Inputs, _: Mapping[str, Any]) -> Entry:
    if inputs[0] is None:
        raise ParseError("Identity has no input", place=tracing.current().place)
    return inputs[0]


def _optional(inputs: Inputs, _: Mapping[str, Any]) -> Entry:
    return Absent() if inputs[0] is None else inputs[0]


def _has_element(inputs: Inputs, _: Mapping[str, Any]) -> Entry:
    if isinstance(inputs[0], MaybeSequence):
        return inputs[0].given
    if isinstance(inputs[0], Maybe):
        return op.Greater(op.Squeeze(op.Shape(Array(inputs[0].tensor), start=0, end=1), [0]), 0).value
    return scalar(inputs[0] is not None and not isinstance(inputs[0], Absent))


def _get_element(inputs: Inputs, _: Mapping[str, Any]) -> Entry:
    if isinstance(inputs[0], MaybeSequence):
        rows = inputs[0].rows
        shapes = unless(op.Not(Array(inputs[0].given)), op.Unsqueeze(Array(rows.shapes), [0]))
        return Ragged(rows.elements, shapes.value, rows.mixed)
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
    "SplitToSequence": split,
    "ConcatFromSequence": concat,
    "Optional": _optional,
    "OptionalHasElement": _has_element,
    "OptionalGetElement": _get_element,
}
