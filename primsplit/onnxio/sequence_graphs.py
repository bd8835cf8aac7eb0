"""If, Loop and SequenceMap where sequences or optional values go in or come out.

A branch or a body is recorded with the tensors of its sequences as results. What holds them together must be the same
on both sides of an If and before and after the step of a Loop; a Loop of few steps is unrolled, and in one of many a
sequence that grows by as many elements in each step is stacked.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import onnx

from primsplit import dims, nested, tracing
from primsplit.array import Array
from primsplit.errors import ParseError, UnsupportedFunction
from primsplit.ir import Block, Op, Type, Value, free
from primsplit.nested import ScanForm, Walk, element, emit_if, emit_loop, emit_scan, visible
from primsplit.onnxio.known import known_number
from primsplit.onnxio.nested_nodes import steady, without_invariants
from primsplit.onnxio.sequences import (
    Absent,
    Entry,
    Growing,
    Listed,
    Stacked,
    element_shape,
    is_held,
    is_same_form,
    leaves,
    listed,
    rebuilt,
    require_sequence,
    require_tensor,
    scalar,
    stack,
    stacked_like,
    told,
)
from primsplit.ops import op

MOST_STEPS = 256
"""The most steps of a Loop that are recorded one after the other."""

MOST_OPS = 100_000
"""The most ops that these may be."""

Graph = onnx.GraphProto
Inner = Callable[[Graph, Sequence[Entry]], list[Entry]]
"""Records the nodes of a graph where it is called, on these inputs, and gives what its outputs are."""


def record_if(condition: Entry | None, graphs: Sequence[Graph], inner: Inner) -> list[Entry]:
    """Record an If of the graphs for false and true; only the one that is taken, where that is known.

    Raises UnsupportedFunction where a sequence would have a length, or an optional value be given, as the run decides.
    """
    chosen = require_tensor(condition, "If")
    known = known_number(chosen)
    if known is not None:
        return inner(graphs[bool(known)], [])
    recorded = [_recorded(functools.partial(inner, graph, [])) for graph in graphs]
    pairs = [_met(a, b) for a, b in zip(recorded[0][1], recorded[1][1], strict=True)]
    low, high = (_Side(ops, [pair[i] for pair in pairs]) for i, (ops, _) in enumerate(recorded))
    return rebuilt(high.entries, emit_if(chosen, high.block("then"), low.block("else")))


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
        shape = element_shape(low) or element_shape(high)
        dtype = next((v.type.dtype for v in leaves([low, high])), None)
        sides = [_shapes_fit(side, shape) for side in (low, high)]
        if shape is not None and dtype is not None and all(sides):
            return (lambda: _stacked(low, shape, dtype)), (lambda: _stacked(high, shape, dtype))
    raise UnsupportedFunction(
        f"one branch of an If gives {told(high)}, the other {told(low)}",
        place=tracing.current().place,
        because=("the run decides which, and the two cannot be told as one tensor",),
        cure="Let both branches give the same number of elements.",
    )


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
    lengths = [None if x.type.shape is None else x.type.shape[0] for x in stacks]
    known = lengths[0] is not None and all(d is not None and dims.same(d, lengths[0]) for d in lengths)
    if any(isinstance(x, Listed) for x in given) or not known:
        raise UnsupportedFunction(
            "SequenceMap takes several sequences whose lengths only the run knows",
            place=tracing.current().place,
            because=("whether they are equal is not known",),
            cure="Give the sequences a fixed length.",
        )

    def record(*parts: Array) -> list[Value]:
        left = iter(parts)
        taken = [next(left).value if isinstance(x, Stacked) else x for x in given]
        return [require_tensor(v, "SequenceMap") for v in inner(body, taken)]

    block = nested.record("map", [element(x.type, Walk()) for x in stacks], record)
    block = without_invariants(block)
    _require_steady(block.results, block, stacks, "SequenceMap")
    form = ScanForm(block, 0, tuple(Walk() for _ in stacks), tuple(Walk() for _ in block.results))
    return [Stacked(v) for v in emit_scan(form, [], stacks)]


def _require_steady(items: Iterable[Value], body: Block, around: Sequence[Value], kind: str) -> None:
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


def record_loop(inputs: Sequence[Entry | None], body: Graph, inner: Inner) -> list[Entry]:
    """Record a Loop that carries sequences or optional values."""
    trips, condition = (None if x is None else require_tensor(x, "Loop") for x in inputs[:2])
    carries: list[Entry] = [Absent() if x is None else x for x in inputs[2:]]
    unrolled = _unrolled(trips, condition, carries, body, inner)
    return _Carried(carries, body, inner).record(trips, condition) if unrolled is None else unrolled


def _unrolled(
    trips: Value | None, condition: Value | None, carries: Sequence[Entry], body: Graph, inner: Inner
) -> list[Entry] | None:
    """The steps one after the other; None, and nothing recorded, where the run alone knows how many there are."""
    count = None if trips is None else known_number(trips)
    goes = 1 if condition is None else known_number(condition)
    if count is None or goes is None or not goes or not 0 < count <= MOST_STEPS:
        return None
    rows: list[list[Value]] = []
    held = list(carries)
    with tracing.recording(place=tracing.current().place, remark=tracing.current().remark) as whole:
        for step in range(count):
            with tracing.recording(place=whole.place, remark=whole.remark) as part:
                after, *found = inner(body, [scalar(step), scalar(True), *held])
                goes = known_number(require_tensor(after, "Loop"))
            for each in part.ops:
                tracing.append(each)
            held = found[: len(carries)]
            rows.append([require_tensor(v, "Loop") for v in found[len(carries) :]])
            if goes is None or len(whole.ops) > MOST_OPS:
                return None
            if not goes:
                break
        stacks = [stack(column) for column in zip(*rows, strict=True)]
    for each in whole.ops:
        tracing.append(each)
    return [*held, *stacks]


class _Changed(Exception):
    """A step of a Loop changes the lengths of the sequences that are carried at these places."""

    def __init__(self, places: Sequence[int]) -> None:
        super().__init__(places)
        self.places = places


class _Carried:
    """A Loop of steps that only the run counts.

    `growing` are the carries that steps append to, and by how many elements; those are stacked.
    """

    def __init__(self, carries: Sequence[Entry], body: Graph, inner: Inner) -> None:
        self.carries = carries
        self.body = body
        self.inner = inner
        self.growing: dict[int, int] = {}

    @property
    def kept(self) -> list[Entry]:
        """The carries that have one form in every step."""
        return [x for i, x in enumerate(self.carries) if i not in self.growing]

    def record(self, trips: Value | None, condition: Value | None) -> list[Entry]:
        """Record the Loop; the carries after it, and what it stacks."""
        while True:
            starts = leaves(self.kept)
            try:
                block, types = steady(self.block, [v.type for v in starts], 2, 1)
            except _Changed as changed:
                self.growing.update(dict.fromkeys(changed.places, 0))
                continue
            break
        block = without_invariants(block)
        count = len(starts)
        fresh = block.results[1 + count : 1 + count + sum(map(bool, self.growing.values()))]
        _require_steady(fresh, block, starts, "a Loop")
        return self.results(emit_loop(trips, condition, block, starts, types), count)

    def block(self, types: Sequence[Type]) -> Block:
        """The body for kept tensors of these types: after the condition those, what is appended, what is stacked.

        Raises _Changed where a step gives a sequence of another length.
        """

        def record(*params: Array) -> list[Value]:
            kept = iter(rebuilt(self.kept, [p.value for p in params[2:]]))
            given = [Growing(i) if i in self.growing else next(kept) for i in range(len(self.carries))]
            after, *found = self.inner(self.body, [params[0].value, params[1].value, *given])
            count = len(self.carries)
            stacked = [require_tensor(v, "Loop") for v in found[count:]]
            changed = [i for i, (a, b) in enumerate(zip(given, found, strict=False)) if not self.is_kept(i, a, b)]
            if changed:
                raise _Changed(changed)
            grown = [_together(leaves([found[i]])) for i in sorted(self.growing) if leaves([found[i]])]
            same = [x for i, x in enumerate(found[:count]) if i not in self.growing]
            return [require_tensor(after, "Loop"), *leaves(same), *grown, *stacked]

        return nested.record("loop", [Type(np.int64, ()), Type(np.bool_, ()), *types], record)

    def is_kept(self, place: int, before: Entry, after: Entry) -> bool:
        """True where a step keeps what a carry is. Raises UnsupportedFunction where it cannot be carried at all."""
        if isinstance(before, Growing):
            if not isinstance(after, Growing) or after.place != place:
                raise self.refused(place, "a step does more than append elements to it")
            self.growing[place] = len(after.items)
            return True
        if not is_same_form(before, after) and not isinstance(before, Listed | Stacked):
            raise self.refused(place, f"it is {told(before)} before, and {told(after)} after")
        return is_same_form(before, after)

    def refused(self, place: int, why: str) -> UnsupportedFunction:
        name = self.body.input[place + 2].name
        return UnsupportedFunction(
            f"{name} changes from step to step of a Loop, and only the run knows how many those are",
            place=tracing.current().place,
            because=(why,),
            cure="Make the number of steps a constant, or append to the sequence only.",
        )

    def results(self, found: Sequence[Value], count: int) -> list[Entry]:
        """What the Loop gives, from its outputs: kept tensors, then what was appended, then what was stacked."""
        kept = iter(rebuilt(self.kept, found[:count]))
        left = iter(found[count:])
        ends = [
            self.grown(i, next(left) if self.growing[i] else None) if i in self.growing else next(kept)
            for i in range(len(self.carries))
        ]
        return [*ends, *left]

    def grown(self, place: int, tensor: Value | None) -> Entry:
        """The sequence after the Loop. Raises UnsupportedFunction where old and new elements differ in shape."""
        start = self.carries[place]
        if tensor is None or not isinstance(start, Listed | Stacked):
            return start
        whole = Array(tensor)
        if self.growing[place] > 1:
            sizes = whole.shape
            whole = op.Reshape(whole, [sizes[0] * sizes[1], *sizes[2:]], allowzero=1)
        if isinstance(start, Listed) and not start.items:
            return Stacked(whole.value)
        before = stacked_like(start, whole.shape[1:])
        if before is None:
            raise self.refused(place, "the elements that it has before may have another shape than those appended")
        return Stacked(op.Concat(Array(before), whole, axis=0).value)


def _together(items: Sequence[Value]) -> Value:
    """What a step appends, as one tensor."""
    return items[0] if len(items) == 1 else stack(items)
