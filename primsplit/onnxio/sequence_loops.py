"""Loops that carry sequences or optional values.

One of few steps is unrolled. In one of many, or of a number that only the run knows, what holds a carry together must
be the same before and after a step; a sequence that each step appends as many elements to is stacked.
"""

from collections.abc import Sequence

import numpy as np

from primsplit import dims, nested, tracing
from primsplit.array import Array
from primsplit.errors import UnsupportedFunction
from primsplit.ir import Block, Type, Value
from primsplit.nested import emit_loop
from primsplit.onnxio.known import known_number
from primsplit.onnxio.nested_bodies import steady, without_invariants
from primsplit.onnxio.sequence_graphs import Graph, Inner, require_steady
from primsplit.onnxio.sequences import (
    Absent,
    Entry,
    Growing,
    Listed,
    Stacked,
    is_same_form,
    leaves,
    rebuilt,
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
    is_idle = goes == 0 or (count is not None and count <= 0)
    if is_idle and len(body.output) == 1 + len(carries):
        return list(carries)
    if is_idle or count is None or goes is None or count > MOST_STEPS:
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
        require_steady(fresh, block, starts, "a Loop")
        return self.results(emit_loop(trips, condition, block, starts, types), count)

    def block(self, types: Sequence[Type]) -> Block:
        """The body for kept tensors of these types: after the condition those, what is appended, what is stacked.

        Raises _Changed where a step gives a sequence of another length.
        """

        def record(*params: Array) -> list[Value]:
            kept = iter(rebuilt(self.kept, [p.value for p in params[2:]]))
            given = [Growing(self, i) if i in self.growing else next(kept) for i in range(len(self.carries))]
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
        if place in self.growing:
            if not isinstance(after, Growing) or after.owner is not self or after.place != place:
                raise self.refused(place, "a step does more than append elements to it")
            self.growing[place] = len(after.items)
            return True
        if not is_same_form(before, after) and not isinstance(before, Listed | Stacked):
            raise self.refused(place, f"it is {told(before)} before, and {told(after)} after")
        if isinstance(before, Stacked) and isinstance(after, Stacked):
            return _has_one_length(before, after)
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


def _has_one_length(before: Stacked, after: Stacked) -> bool:
    """False for a stack that grows; one whose length is unknown afterwards is carried as it is."""
    a, b = before.tensor.type.shape, after.tensor.type.shape
    return not a or not b or dims.same(a[0], b[0]) or not dims.symbols(a[0]) <= dims.symbols(b[0])


def _together(items: Sequence[Value]) -> Value:
    """What a step appends, as one tensor."""
    return items[0] if len(items) == 1 else stack(items)
