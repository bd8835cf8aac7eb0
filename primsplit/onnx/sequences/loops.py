"""Record Loops that carry sequences or optional values.

A Loop of few steps is unrolled. In one of many, or of a number that only the run knows, the form of a carry must be the
same before and after a step. A sequence to which each step appends the same number of elements of one shape is stacked
by the Loop itself; one that steps change otherwise is carried as a stack, or as elements in a row.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import onnx

from primsplit import tracing
from primsplit.ir import Block, Const, Type, Value, Var, dims
from primsplit.ir.errors import UnsupportedFunction
from primsplit.onnx.known import known_number
from primsplit.onnx.nested_bodies import after_steps, again, steady
from primsplit.onnx.sequences import ragged
from primsplit.onnx.sequences.branches import Graph, Inner, is_steady, row_of, stacked_of
from primsplit.onnx.sequences.forms import (
    Absent,
    Entry,
    Growing,
    GrowingRead,
    Listed,
    Maybe,
    Ragged,
    Sequenced,
    Stacked,
    element_shape,
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
from primsplit.ops.inference import fresh
from primsplit.rewrites.loops.hoist import without_invariants
from primsplit.tracing import regions as nested
from primsplit.tracing.array import Array
from primsplit.tracing.regions import VARYING, Walk, element, emit_loop

MOST_STEPS = 256
"""The most steps of a Loop that are recorded one after the other."""

MOST_OPS = 100_000
"""The most ops of such a recording."""

Step = Callable[[Sequence[Entry]], list[Entry]]
"""Records a step where it is called, for its number, a condition and the carries.

Returns the next condition and carries, and the stacked results.
"""


def record_loop(inputs: Sequence[Entry | None], body: Graph, inner: Inner) -> list[Entry]:
    """Record a Loop that carries sequences or optional values."""
    trips, condition = (None if x is None else require_tensor(x, "Loop") for x in inputs[:2])
    carries: list[Entry] = [Absent() if x is None else x for x in inputs[2:]]
    unrolled = _unrolled(trips, condition, carries, body, inner)
    if unrolled is not None:
        return unrolled
    return Carried(carries, body.input[2:], lambda given: inner(body, given)).record(trips, condition)


def _unrolled(
    trips: Value | None, condition: Value | None, carries: Sequence[Entry], body: Graph, inner: Inner
) -> list[Entry] | None:
    """Record the steps one after the other; None, and nothing recorded, if only the run knows how many there are."""
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
    """A step of a Loop changes the lengths of the sequences that are carried at these positions."""

    def __init__(self, places: Sequence[int]) -> None:
        super().__init__(places)
        self.places = places


class _Outgrown(Exception):
    """A step changes the sequence at a position in a way that its form cannot express; it is `after` the step."""

    def __init__(self, place: int, after: Entry) -> None:
        super().__init__(place)
        self.place = place
        self.after = after


class Carried:
    """A Loop whose number of steps only the run knows, with its declared carries.

    `growing` are the carries that steps append to, and by how many elements; those are stacked by the Loop.
    `lengthening` are those carried as stacks of any length.
    """

    def __init__(self, carries: Sequence[Entry], declared: Sequence[onnx.ValueInfoProto], step: Step) -> None:
        self.carries = list(carries)
        self.declared = declared
        self.step = step
        self.growing: dict[int, int] = {}
        self.lengthening: set[int] = set()

    @property
    def kept(self) -> list[Entry]:
        """Return the carries that have one form in every step."""
        return [x for i, x in enumerate(self.carries) if i not in self.growing]

    def record(self, trips: Value | None, condition: Value | None) -> list[Entry]:
        """Record the Loop; return the carries after it, and its stacked results."""
        before = tracing.current()
        once_more: Callable[[], AbstractContextManager[None]] = nullcontext
        while True:
            try:
                with once_more(), tracing.recording(place=before.place, remark=before.remark) as tried:
                    found = self.recorded(trips, condition)
            except _Changed as changed:
                self.growing.update(dict.fromkeys(changed.places, 0))
            except _Outgrown as outgrown:
                self.retold(outgrown.place, outgrown.after)
            except GrowingRead as read:
                if read.entry.owner is not self:
                    raise
                self.retold(read.entry.place, read.entry)
            else:
                for each in tried.ops:
                    tracing.append(each)
                return found
            once_more = again

    def recorded(self, trips: Value | None, condition: Value | None) -> list[Entry]:
        """Record the Loop with its carries in their present forms. Raises an error that says which must change."""
        starts = leaves(self.kept)
        varying = self.varying()
        told = [VARYING if k in varying else "changing" for k in range(len(starts))]
        block, types = steady(self.block, [v.type for v in starts], 2, 1, told.__getitem__)
        block = without_invariants(block)
        count = len(starts)
        growing = [place for place in sorted(self.growing) if self.growing[place]]
        for place, appended in zip(growing, block.results[1 + count :], strict=False):
            if not is_steady(appended, block, starts):
                items = (appended,) if self.growing[place] == 1 else ()
                raise _Outgrown(place, Listed(items))
        ends = after_steps(types, starts)
        return self.results(emit_loop(trips, condition, block, starts, ends), count)

    def varying(self) -> set[int]:
        """Return the kept tensors that steps are known to change in size, by their positions."""
        kept = [i for i in range(len(self.carries)) if i not in self.growing]
        held = [(i, leaf) for i in kept for leaf in leaves([self.carries[i]])]
        return {k for k, (i, _) in enumerate(held) if i in self.lengthening or isinstance(self.carries[i], Ragged)}

    def block(self, types: Sequence[Type]) -> Block:
        """The body for kept tensors of these types: after the condition those, the appended, and the stacked values.

        Raises _Changed if a step returns a sequence of another length, _Outgrown if it changes more.
        """

        def record(*params: Array) -> list[Value]:
            kept = iter(rebuilt(self.kept, [p.value for p in params[2:]]))
            given = [Growing(self, i) if i in self.growing else next(kept) for i in range(len(self.carries))]
            after, *found = self.step([params[0].value, params[1].value, *given])
            count = len(self.carries)
            stacked = [require_tensor(v, "Loop") for v in found[count:]]
            found = [_told_like(a, b) for a, b in zip(given, found, strict=False)]
            changed = [i for i, (a, b) in enumerate(zip(given, found, strict=True)) if not self.is_kept(i, a, b)]
            if changed:
                raise _Changed(changed)
            grown = [_together(leaves([found[i]])) for i in sorted(self.growing) if leaves([found[i]])]
            same = [x for i, x in enumerate(found) if i not in self.growing]
            return [require_tensor(after, "Loop"), *leaves(same), *grown, *stacked]

        return nested.record("loop", [Type(np.int64, ()), Type(np.bool_, ()), *types], record)

    def is_kept(self, place: int, before: Entry, after: Entry) -> bool:
        """Whether a step keeps the form of a carry. Raises UnsupportedFunction if it cannot be carried at all."""
        if place in self.growing:
            if not isinstance(after, Growing) or after.owner is not self or after.place != place:
                raise _Outgrown(place, after)
            self.growing[place] = len(after.items)
            return True
        is_same = is_same_form(before, after)
        if isinstance(before, Absent) and isinstance(after, Var | Const | Maybe):
            raise _Outgrown(place, after)
        if not is_same and not isinstance(before, Listed | Stacked):
            raise self.refused(place, f"it is {told(before)} before, and {told(after)} after")
        if place in self.lengthening:
            if not is_same:
                raise _Outgrown(place, after)
            return True
        if isinstance(before, Stacked) and isinstance(after, Stacked):
            return _has_one_length(before, after)
        return is_same

    def retold(self, place: int, after: Entry) -> None:
        """Carry a sequence as a stack, or as a row if its elements differ in shape.

        Raises UnsupportedFunction if the type of its elements is not known.
        """
        start, declared = self.carries[place], _declared(self.declared[place])
        self.growing.pop(place, None)
        if isinstance(start, Absent) and isinstance(after, Var | Const | Maybe):
            self.carries[place] = self.row(place, after)
            self.lengthening.add(place)
            return
        if isinstance(after, Growing) and isinstance(start, Listed | Stacked) and place not in self.lengthening:
            whole = _whole(start, declared)
            if whole is not None:
                self.carries[place] = whole
                self.lengthening.add(place)
                return
        self.lengthening.discard(place)
        sequences = [x for x in (start, after) if isinstance(x, Sequenced) and leaves([x])]
        form = ragged.form_of(*sequences) if sequences else None if declared is None else ragged.form_of_type(declared)
        rows = None if form is None else ragged.ragged(start, form)
        if rows is None or is_same_form(rows, start):
            raise self.refused(place, "its elements have several dtypes, or how many axes they have is not known")
        self.carries[place] = rows

    def row(self, place: int, after: Value | Maybe) -> Entry:
        """An optional value that is not given at first, as a tensor of no rows like the one that a step gives."""
        (value,) = leaves([after])
        kind = element(value.type, Walk()) if isinstance(after, Maybe) else value.type
        if kind.shape is None:
            raise self.refused(place, "it is given by a step, and how many axes it has is not known")
        return row_of(Absent(), kind.shape, kind.dtype)

    def refused(self, place: int, why: str) -> UnsupportedFunction:
        name = self.declared[place].name
        return UnsupportedFunction(
            f"{name} changes from step to step of a Loop, and only the run knows how many those are",
            place=tracing.current().place,
            because=(why,),
            cure="Make the number of steps a constant, append to the sequence only, or say what its elements are: "
            "ps.load(path, specs={'x': 'f32[N,3]'}), or --spec x:f32[N,3].",
        )

    def results(self, found: Sequence[Value], count: int) -> list[Entry]:
        """Return the Loop's results from its outputs: kept tensors, then appended ones, then stacked ones."""
        kept = iter(rebuilt(self.kept, found[:count]))
        left = iter(found[count:])
        ends = [
            self.grown(i, next(left) if self.growing[i] else None) if i in self.growing else next(kept)
            for i in range(len(self.carries))
        ]
        return [*ends, *left]

    def grown(self, place: int, tensor: Value | None) -> Entry:
        """Return the sequence after the Loop. Raises _Outgrown if old and new elements may differ in shape."""
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
            raise _Outgrown(place, Stacked(whole.value))
        return Stacked(op.Concat(Array(before), whole, axis=0).value)


def _told_like(before: Entry, after: Entry) -> Entry:
    """Return a sequence after a step in the form that it has before it, if possible; else as it is."""
    if isinstance(before, Maybe) and not isinstance(after, Maybe | Sequenced):
        kind = element(before.tensor.type, Walk())
        return after if kind.shape is None else row_of(after, kind.shape, kind.dtype)
    if isinstance(before, Ragged) and isinstance(after, Listed | Stacked):
        form = ragged.form_of(before)
        return after if form is None else ragged.ragged(after, form) or after
    if isinstance(before, Stacked) and isinstance(after, Listed):
        shape = element_shape(before)
        return after if shape is None else stacked_of(after, shape, before.tensor.type.dtype) or after
    return after


def _whole(start: Listed | Stacked, declared: Type | None) -> Stacked | None:
    """Return the sequence as a stack; None if the shape of its elements, which may be declared, is not known."""
    if isinstance(start, Stacked):
        return start
    if start.items:
        shape = element_shape(start)
        return None if shape is None else stacked_of(start, shape, start.items[0].type.dtype)
    if declared is None or declared.shape is None or not all(isinstance(d, int) for d in declared.shape):
        return None
    return stacked_of(start, declared.shape, declared.dtype)


def _declared(value: onnx.ValueInfoProto) -> Type | None:
    """Return the type that a graph declares for a tensor, or for the elements of a sequence.

    None if it says nothing.
    """
    kind = value.type.sequence_type.elem_type if value.type.HasField("sequence_type") else value.type
    tensor = kind.tensor_type
    if not tensor.elem_type:
        return None
    sizes: list[Any] = [d.dim_value if d.HasField("dim_value") else fresh(value.name) for d in tensor.shape.dim]
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    return Type(dtype, sizes if tensor.HasField("shape") else None)


def _has_one_length(before: Stacked, after: Stacked) -> bool:
    """Return False for a stack that grows; one whose length is unknown afterwards is carried as it is."""
    a, b = before.tensor.type.shape, after.tensor.type.shape
    return not a or not b or dims.same(a[0], b[0]) or not dims.symbols(a[0]) <= dims.symbols(b[0])


def _together(items: Sequence[Value]) -> Value:
    """Return the elements that a step appends, as one tensor."""
    return items[0] if len(items) == 1 else stack(items)
