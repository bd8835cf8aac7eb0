"""If and SequenceMap where sequences or optional values go in or come out.

A branch is recorded with the tensors of its sequences as results. What holds them together must be the same on both
sides, or sequences of one shape of element, which are stacked.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import onnx

from primsplit import dims, nested, tracing
from primsplit.array import Array
from primsplit.errors import ParseError, TraceError, UnsupportedFunction
from primsplit.ir import Block, Op, Value, free
from primsplit.nested import ScanForm, Walk, element, emit_if, emit_scan, visible
from primsplit.onnxio.known import known_number
from primsplit.onnxio.nested_bodies import without_invariants
from primsplit.onnxio.ranks import Wide, Widened, is_one_element, with_axes
from primsplit.onnxio.sequence_stacks import of_length
from primsplit.onnxio.sequences import (
    Absent,
    Entry,
    Listed,
    Maybe,
    Stacked,
    element_shape,
    is_held,
    is_same_form,
    leaves,
    listed,
    rebuilt,
    require_sequence,
    require_tensor,
    stacked_like,
    told,
)
from primsplit.ops import op

Graph = onnx.GraphProto
Inner = Callable[[Graph, Sequence[Entry]], list[Entry]]
"""Records the nodes of a graph where it is called, on these inputs, and gives what its outputs are."""


def record_if(condition: Entry | None, graphs: Sequence[Graph], inner: Inner, widened: Widened) -> list[Entry]:
    """Record an If of the graphs for false and true; only the one that is taken, where that is known.

    `widened` learns of results that are a number on one side, and on the other an array of one. Raises
    UnsupportedFunction where a sequence would have a length, or an optional value be given, as the run decides.
    """
    chosen = require_tensor(condition, "If")
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
    """The greater rank of two tensors of one element each, where the ranks differ."""
    if is_held(low) or is_held(high):
        return None
    sides = [require_tensor(x, "If") for x in (low, high)]
    ranks = [v.type.rank or 0 for v in sides]
    return max(ranks) if all(map(is_one_element, sides)) and ranks[0] != ranks[1] else None


def _made_wide(low: Entry, high: Entry, rank: int) -> "tuple[Made, Made]":
    sides = [require_tensor(x, "If") for x in (low, high)]
    return (lambda: with_axes(sides[0], rank)), (lambda: with_axes(sides[1], rank))


def _recorded(record: Callable[[], list[Entry]]) -> tuple[list[Op], list[Entry]]:
    """What is recorded inside, apart from what is around it."""
    with tracing.recording(place=tracing.current().place, remark=tracing.current().remark) as recording:
        entries = record()
    return recording.ops, entries


Made = Callable[[], Entry]
"""Makes a result of a branch, where that is recorded."""


class _Side:
    """A branch, what it gives being made from its own values at its end."""

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
    """How each side of an If makes a result of one form: as it is, or a stack where lengths differ."""
    if is_same_form(low, high):
        return (lambda: low), (lambda: high)
    if isinstance(low, Listed | Stacked) and isinstance(high, Listed | Stacked):
        shape = next((s for s in map(element_shape, (low, high)) if s is not None), None)
        dtype = next((v.type.dtype for v in leaves([low, high])), None)
        sides = [_shapes_fit(side, shape) for side in (low, high)]
        if shape is not None and dtype is not None and all(sides):
            return (lambda: _stacked(low, shape, dtype)), (lambda: _stacked(high, shape, dtype))
    if (made := _maybe(low, high)) is not None:
        return made
    raise UnsupportedFunction(
        f"one branch of an If gives {told(high)}, the other {told(low)}",
        place=tracing.current().place,
        because=("the run decides which, and the two cannot be told as one tensor",),
        cure="Let both branches give the same number of elements.",
    )


def _maybe(low: Entry, high: Entry) -> tuple[Made, Made] | None:
    """How each side makes an optional value that only one may give; None where what it gives is no tensor."""
    sides = (low, high)
    if not any(isinstance(x, Absent | Maybe) for x in sides):
        return None
    types = [element(v.type, Walk()) if isinstance(x, Maybe) else v.type for x in sides for v in leaves([x])]
    if len(types) == 0 or any(is_held(x) and not isinstance(x, Absent | Maybe) for x in sides):
        return None
    shape, dtype = types[0].shape, types[0].dtype
    if shape is None:
        return None
    return (lambda: _row(low, shape, dtype)), (lambda: _row(high, shape, dtype))


def _row(entry: Entry, shape: dims.Shape, dtype: np.dtype[Any]) -> Entry:
    """A value as the one row of a tensor; no rows for one that is not given."""
    if isinstance(entry, Maybe):
        return Maybe(op.Identity(Array(entry.tensor)).value)
    if isinstance(entry, Absent):
        return Maybe(op.Expand(np.zeros((), dtype), [0, *map(_readable, shape)]).value)
    return Maybe(op.Unsqueeze(Array(require_tensor(entry, "Optional")), [0]).value)


def _readable(dim: dims.Dim) -> dims.Dim:
    """A size that some value here has; 0 for any other."""
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


def _stacked(entry: Listed | Stacked, shape: Sequence[dims.Dim], dtype: np.dtype[Any]) -> Entry:
    """The sequence as a stack of elements of this shape; also of none."""
    whole = stacked_like(entry, shape)
    if whole is None:
        whole = op.Expand(np.zeros((), dtype), [0, *shape]).value
    return Stacked(whole)


def record_map(inputs: Sequence[Entry | None], body: Graph, inner: Inner) -> list[Entry]:
    """Record a SequenceMap: its body for each element in turn, or a Scan over a stack.

    Raises ParseError for sequences of several lengths.
    """
    first = require_sequence(inputs[0] if inputs else None, "SequenceMap")
    given: list[Entry] = [Absent() if x is None else x for x in inputs]
    told_apart = [listed(x) if isinstance(x, Listed | Stacked) else None for x in given]
    if all(x is not None for x, entry in zip(told_apart, given, strict=True) if is_held(entry)):
        lists = [x for x in told_apart if x is not None]
        count = len(lists[0].items)
        if any(len(x.items) != count for x in lists):
            lengths = ", ".join(str(len(x.items)) for x in lists)
            raise ParseError(f"SequenceMap takes sequences of one length, not {lengths}", place=tracing.current().place)
        rows = [
            inner(body, [e if x is None else x.items[i] for x, e in zip(told_apart, given, strict=True)])
            for i in range(count)
        ]
        columns = zip(*rows, strict=True) if rows else [() for _ in body.output]
        return [Listed(tuple(require_tensor(v, "SequenceMap") for v in column)) for column in columns]
    return _scanned(first, given, body, inner)


def _scanned(first: Listed | Stacked, given: Sequence[Entry], body: Graph, inner: Inner) -> list[Entry]:
    """A SequenceMap of stacks."""
    stacks = [x.tensor for x in given if isinstance(x, Stacked)]
    shapes = [x.type.shape for x in stacks]
    length = shapes[0][0] if shapes[0] else None
    if any(isinstance(x, Listed) for x in given) or length is None or not all(shapes):
        raise UnsupportedFunction(
            "SequenceMap takes several sequences, of which only some have a length that is known",
            place=tracing.current().place,
            because=("they are read element by element, or as stacks, all in the same way",),
            cure="Give all the sequences a fixed length.",
        )
    stacks = [of_length(x, length) for x in stacks]

    def record(*parts: Array) -> list[Value]:
        left = iter(parts)
        taken = [next(left).value if isinstance(x, Stacked) else x for x in given]
        return [require_tensor(v, "SequenceMap") for v in inner(body, taken)]

    block = nested.record("map", [element(x.type, Walk()) for x in stacks], record)
    block = without_invariants(block)
    require_steady(block.results, block, stacks, "SequenceMap")
    form = ScanForm(block, 0, tuple(Walk() for _ in stacks), tuple(Walk() for _ in block.results))
    return [Stacked(v) for v in emit_scan(form, [], stacks)]


def require_steady(items: Iterable[Value], body: Block, around: Sequence[Value], kind: str) -> None:
    """Raise UnsupportedFunction where the elements that steps make may differ in shape."""
    known = visible([*around, *free(body)])
    for item in items:
        shape = item.type.shape
        if shape is None or not all(dims.symbols(d) <= known for d in shape):
            raise UnsupportedFunction(
                f"the elements that {kind} makes may have another shape in each step: {item.type}",
                place=tracing.current().place,
                because=("a sequence whose length only the run knows is told as one tensor",),
                cure="Give the sequence a fixed length, a Loop a constant number of steps, or pad its elements.",
            )
