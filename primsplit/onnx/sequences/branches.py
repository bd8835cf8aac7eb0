"""Record an If with sequences or optional values as inputs or outputs.

A branch is recorded with the tensors of its sequences as results. The form of a sequence must be the same on both
sides: sequences of elements of one shape become stacks, others rows of elements.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx

from primsplit import tracing
from primsplit.ir import Block, Op, Value, dims, free
from primsplit.ir.errors import ShapeError, TraceError, UnsupportedFunction
from primsplit.onnx.known import known_number
from primsplit.onnx.ranks import Wide, Widened, is_one_element, with_axes
from primsplit.onnx.sequences import ragged
from primsplit.onnx.sequences.forms import (
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
    is_same_form,
    leaves,
    rebuilt,
    require_sequence,
    require_tensor,
    scalar,
    stacked_like,
    told,
)
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.regions import Walk, element, emit_if, visible

Graph = onnx.GraphProto
Inner = Callable[[Graph, Sequence[Entry]], list[Entry]]
"""Records the nodes of a graph where it is called, on these inputs, and returns its outputs."""


def record_if(condition: Entry | None, graphs: Sequence[Graph], inner: Inner, widened: Widened) -> list[Entry]:
    """Record an If of the graphs for false and true; only the one that is taken, if that is known.

    `widened` learns of results that are a number on one side, and on the other an array of one element. Raises
    UnsupportedFunction if the run decides on the length of a sequence, or whether an optional value is given.
    """
    chosen = require_tensor(condition, "If")
    if not dims.could_be(dims.product(chosen.type.shape or ()), 1):
        raise ShapeError(f"the condition of an If is one number, and not {chosen.type}")
    known = known_number(chosen)
    if known is not None:
        return inner(graphs[bool(known)], [])
    recorded = [_recorded(functools.partial(inner, graph, [])) for graph in graphs]
    results = list(zip(recorded[0][1], recorded[1][1], strict=True))
    wide = {i: rank for i, (a, b) in enumerate(results) if (rank := _rank_of_one(a, b)) is not None}
    pairs = [_met(a, b) for a, b in results] + [_made_wide(*results[i], rank) for i, rank in wide.items()]
    low, high = (_Side(ops, [pair[i] for pair in pairs]) for i, (ops, _) in enumerate(recorded))
    made = rebuilt(high.entries, emit_if(chosen, high.block(graphs[1].name), low.block(graphs[0].name)))
    count = len(results)
    for position, value in zip(wide, made[count:], strict=True):
        widened[require_tensor(made[position], "If")] = Wide(require_tensor(value, "If"), leads=True)
    return made[:count]


def _rank_of_one(low: Entry, high: Entry) -> int | None:
    """Return the greater rank of two tensors of one element each, if the ranks differ."""
    if is_held(low) or is_held(high):
        return None
    sides = [require_tensor(x, "If") for x in (low, high)]
    ranks = [v.type.rank or 0 for v in sides]
    return max(ranks) if all(map(is_one_element, sides)) and ranks[0] != ranks[1] else None


def _made_wide(low: Entry, high: Entry, rank: int) -> "tuple[Made, Made]":
    sides = [require_tensor(x, "If") for x in (low, high)]
    return (lambda: with_axes(sides[0], rank)), (lambda: with_axes(sides[1], rank))


def _recorded(record: Callable[[], list[Entry]]) -> tuple[list[Op], list[Entry]]:
    """Record ops separately from those around them."""
    with tracing.recording(place=tracing.current().place, remark=tracing.current().remark) as recording:
        entries = record()
    return recording.ops, entries


Made = Callable[[], Entry]
"""Creates a result of a branch, where that is recorded."""


class _Side:
    """A branch, whose results are created from its own values at its end."""

    def __init__(self, ops: Sequence[Op], makes: Sequence[Made]) -> None:
        self.entries: list[Entry] = []

        def record() -> list[Entry]:
            for step in ops:
                tracing.append(step)
            return [make() for make in makes]

        self.ops, self.entries = _recorded(record)

    def block(self, name: str) -> Block:
        return Block(name, (), tuple(self.ops), tuple(leaves(self.entries)))


def _met(low: Entry, high: Entry) -> tuple[Made, Made]:
    """Return how each side of an If creates a result of one form: as it is, or a stack if lengths differ."""
    if is_same_form(low, high):
        return (lambda: low), (lambda: high)
    if isinstance(low, Growing) or isinstance(high, Growing):
        low, high = require_sequence(low, "If"), require_sequence(high, "If")
    if isinstance(low, Listed | Stacked) and isinstance(high, Listed | Stacked):
        shape = next((s for s in map(element_shape, (low, high)) if s is not None), None)
        dtype = next((v.type.dtype for v in leaves([low, high])), None)
        sides = [_shapes_fit(side, shape) for side in (low, high)]
        if shape is not None and dtype is not None and all(sides):
            return (
                lambda: require_sequence(stacked_of(low, shape, dtype), "If"),
                lambda: require_sequence(stacked_of(high, shape, dtype), "If"),
            )
    made = _unlike(low, high) or _maybe(low, high) or _maybe_sequence(low, high)
    if made is not None:
        return made
    raise UnsupportedFunction(
        f"one branch of an If gives {told(high)}, the other {told(low)}",
        place=tracing.current().place,
        because=("the run decides which, and the two have no common form as one tensor",),
        cure="Let both branches give the same number of elements.",
    )


def _unlike(low: Entry, high: Entry) -> tuple[Made, Made] | None:
    """Return how each side creates a sequence of elements that may differ in shape; None if they differ in rank."""
    form = ragged.form_of(low, high)
    if form is None:
        return None
    return (lambda: _rows(low, form)), (lambda: _rows(high, form))


def _rows(entry: Entry, form: ragged.Form) -> Entry:
    rows = require_sequence(ragged.ragged(entry, form), "If")
    return rebuilt([rows], [op.Identity(Array(v)).value for v in leaves([rows])])[0]


def _maybe(low: Entry, high: Entry) -> tuple[Made, Made] | None:
    """Return how each side creates an optional value that only one may give; None if its content is no tensor."""
    sides = (low, high)
    if not any(isinstance(x, Absent | Maybe) for x in sides):
        return None
    types = [element(v.type, Walk()) if isinstance(x, Maybe) else v.type for x in sides for v in leaves([x])]
    if len(types) == 0 or any(is_held(x) and not isinstance(x, Absent | Maybe) for x in sides):
        return None
    shape, dtype = types[0].shape, types[0].dtype
    if shape is None:
        return None
    return (lambda: row_of(low, shape, dtype)), (lambda: row_of(high, shape, dtype))


def _maybe_sequence(low: Entry, high: Entry) -> tuple[Made, Made] | None:
    """Return how each side creates an optional sequence that only one may give; None if its elements have no form."""
    sides = (low, high)
    if not all(isinstance(x, Absent | MaybeSequence | Sequenced) for x in sides):
        return None
    given = [x.rows if isinstance(x, MaybeSequence) else x for x in sides if not isinstance(x, Absent)]
    form = ragged.form_of(*given)
    if form is None:
        return None
    return (lambda: _given_or_not(low, form)), (lambda: _given_or_not(high, form))


def _given_or_not(entry: Entry, form: ragged.Form) -> Entry:
    if isinstance(entry, MaybeSequence):
        (same,) = rebuilt([entry], [op.Identity(Array(v)).value for v in leaves([entry])])
        return same
    rows = require_sequence(ragged.ragged(Listed(()) if isinstance(entry, Absent) else entry, form), "Optional")
    given = scalar(not isinstance(entry, Absent))
    made = MaybeSequence(given, rows) if isinstance(rows, Ragged) else entry
    return rebuilt([made], [op.Identity(Array(v)).value for v in leaves([made])])[0]


def row_of(entry: Entry, shape: dims.Shape, dtype: np.dtype[Any]) -> Entry:
    """Return a value as the one row of a tensor; no rows for one that is not given."""
    if isinstance(entry, Maybe):
        return Maybe(op.Identity(Array(entry.tensor)).value)
    if isinstance(entry, Absent):
        return Maybe(op.Expand(np.zeros((), dtype), [0, *map(_readable, shape)]).value)
    return Maybe(op.Unsqueeze(Array(require_tensor(entry, "Optional")), [0]).value)


def _readable(dim: dims.Dim) -> dims.Dim:
    """Return a size that some value here has; 0 for any other."""
    try:
        tracing.size_of(dim)
    except TraceError:
        return 0
    return dim


def _shapes_fit(entry: Listed | Stacked, shape: tuple[dims.Dim, ...] | None) -> bool:
    known = element_shape(entry)
    if known is None or shape is None:
        return isinstance(entry, Listed) and not entry.items
    return dims.same_shape(known, shape)


def stacked_of(entry: Sequenced, shape: Sequence[dims.Dim], dtype: np.dtype[Any]) -> Stacked | None:
    """Return the sequence as a stack of elements of this shape, also of none; None if they may have another."""
    if isinstance(entry, Listed) and not entry.items:
        return Stacked(op.Expand(np.zeros((), dtype), [0, *shape]).value)
    whole = None if isinstance(entry, Ragged) else stacked_like(entry, shape)
    return None if whole is None else Stacked(whole)


def is_steady(item: Value, body: Block, around: Sequence[Value]) -> bool:
    """Whether a step's result has the same shape in each step: sizes that are known around the loop."""
    known = visible([*around, *free(body)])
    shape = item.type.shape
    return shape is not None and all(dims.symbols(d) <= known for d in shape)
