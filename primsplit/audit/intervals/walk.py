"""Walk a program with ranges in the place of arrays: the range of each value, and the hazards of each op.

```
y = Sub(x, 1.0)      x in [0, 1]     y in [-1, 0]
z = Log(y)                           logarithm of a negative number, of 0
```

A branch is walked on both sides. The body of a loop is walked step by step, if the number of steps is small, and
known or certain as it is walked, else again and again with wider carries until they are wide enough for the next
step.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from primsplit.audit.intervals.at import At, Compute, Hazard
from primsplit.audit.intervals.functions import FUNCTIONS, cast_target
from primsplit.audit.intervals.ranges import Range, Shape, either, of_array, unbounded
from primsplit.audit.intervals.sizes import within_limits
from primsplit.audit.intervals.structure import STRUCTURE, folded, known_shape, moved
from primsplit.audit.intervals.sums import SUMS
from primsplit.ir import AnyArray, Block, Const, Op, Value, Var, reads, walk
from primsplit.ir.analysis.carries import lead_and_carries, settled
from primsplit.ir.dims import Dim, substitute
from primsplit.ops.traits import moved_inputs, traits
from primsplit.rewrites.evaluation import evaluate

TRANSFERS: Mapping[str, Callable[[At], Range | list[Range]]] = {**FUNCTIONS, **SUMS, **STRUCTURE}
STEPS = 300
"""The most steps of a loop that are walked one by one."""
ROUNDS = 3
"""The rounds after which a carry that still grows is widened to the next of `WIDER`."""
WIDER = (0.0, 1.0, 1e3, 1e6, 1e12, 1e30, 1e300, np.inf)
Errors = Callable[[At, Range], AnyArray]
"""Bounds the error of an op's first result, whose range is known."""


def compute_plainly(op: Op, inputs: Sequence[AnyArray | None]) -> AnyArray | None:
    """Compute an op by NumPy, where that is exact; None for other operators."""
    there = [a for a in inputs if a is not None]
    return evaluate(op.kind, there, op.attributes) if len(there) == len(inputs) else None


@dataclass
class Walk:
    """One walk. `found` has the range of each value, `hazards` those of each op, `unknown` the ops without a transfer.

    `sizes` are the numbers of symbolic sizes, where inputs tell them. `open` are ops whose results may be infinite only
    because inputs have no range. `unbound` are ops at which the errors begin to have no bound, though those of the
    inputs have one, each with the steps of the loops around it that are walked.
    """

    sizes: Mapping[str, Dim] = field(default_factory=dict)
    compute: Compute = compute_plainly
    errors: Errors | None = None
    found: dict[Var, Range] = field(default_factory=dict)
    hazards: dict[Op, dict[str, Hazard]] = field(default_factory=dict)
    unknown: dict[Op, None] = field(default_factory=dict)
    open: dict[Op, None] = field(default_factory=dict)
    unbound: dict[Op, tuple[int, ...]] = field(default_factory=dict)
    turns: list[int] = field(default_factory=list)
    is_settling: bool = False
    """Whether a body is walked with carries that are not known yet."""
    made: dict[Var, Op] = field(default_factory=dict)
    constants: dict[int, Range] = field(default_factory=dict)

    def block(self, block: Block, params: Sequence[Range]) -> list[Range]:
        """Walk a block whose parameters have these ranges; return those of its results."""
        self.found.update(zip(block.params, params, strict=True))
        for op in block.ops:
            self.op(op)
        return [self.range(r) for r in block.results]

    def range(self, value: Value) -> Range:
        """Return the range of a value."""
        if isinstance(value, Var):
            return self.found[value]
        if id(value) not in self.constants:
            found = of_array(value.numpy())
            self.constants[id(value)] = replace(found, error=np.zeros(())) if self.errors is not None else found
        return self.constants[id(value)]

    def op(self, op: Op) -> None:
        """Walk an op."""
        results = self.results(op)
        for var, found in zip(op.outputs, results, strict=False):
            self.found[var] = self.checked(var, found)
            self.made[var] = op
        if self.errors is not None and not self.is_settling:
            self.note_unbound(op)

    def note_unbound(self, op: Op) -> None:
        """Keep an op at which errors begin to have no bound; not a branch or loop that holds one."""
        if not any(self.has_no_bound(v) for v in op.outputs) or any(self.has_no_bound(v) for v in reads(op)):
            return
        if op not in self.unbound and not any(inner in self.unbound for block in op.blocks() for inner in walk(block)):
            self.unbound[op] = tuple(self.turns)

    def has_no_bound(self, var: Var) -> bool:
        """Return whether the error of a value that was met has no bound."""
        found = self.found.get(var)
        return found is not None and (found.error is None or bool(np.any(np.isinf(found.error))))

    def checked(self, var: Var, found: Range) -> Range:
        """Return a range with the sizes that the program declares, where the walk does not know better."""
        declared = self.type_of(var)[1]
        if found.shape is None or None in found.shape:
            return replace(found, shape=declared)
        return found

    def results(self, op: Op) -> list[Range]:
        """Return the ranges of an op's outputs."""
        if op.kind == "If":
            return self.branches(op)
        if op.kind in {"Loop", "Scan"}:
            return _Loop(self, op).results()
        given = within_limits(op, [None if v is None else self.range(v) for v in op.inputs])
        at = At(op, given, self.types(op), self.made, self.compute, self.found)
        results = self.transferred(at)
        if self.errors is not None:
            results = [self.with_error(at, r, is_first=i == 0) for i, r in enumerate(results)]
        self.keep(at)
        return results

    def with_error(self, at: At, found: Range, *, is_first: bool) -> Range:
        """Return a range with a bound of its error; elements that are moved have theirs already."""
        wrong = [r is not None and (r.error is None or bool(np.any(r.error))) for r in at.inputs]
        positions = moved_inputs(at.op)
        may_move = bool(positions) and any(is_wrong for i, is_wrong in enumerate(wrong) if i not in positions)
        if self.errors is None or (found.error is not None and not may_move):
            return found
        is_exact = not any(wrong)
        if not is_first:
            return replace(found, error=np.asarray(0.0 if is_exact and found.dtype.kind in "iub" else np.inf))
        return replace(found, error=self.errors(at, found))

    def transferred(self, at: At) -> list[Range]:
        """Return the ranges of outputs by the operator's transfer; unknown ones if there is none."""
        known = folded(at)
        if known is not None:
            return [replace(known, error=np.zeros(())) if self.errors is not None else known]
        positions = moved_inputs(at.op)
        if positions and not traits(at.op.kind).elementwise and at.op.kind != "Split":
            return moved(at, positions)
        if at.op.kind == "Identity":
            return [at.take(0)]
        transfer = TRANSFERS.get(at.op.kind)
        if transfer is None:
            self.unknown[at.op] = None
            return at.unknown()
        found = transfer(at)
        return found if isinstance(found, list) else [found, *at.unknown()[1:]]

    def keep(self, at: At) -> None:
        """Keep the hazards of an op, beside those of steps before."""
        known = self.hazards.setdefault(at.op, {}) if at.hazards else {}
        for hazard in at.hazards:
            before = known.get(hazard.kind)
            known[hazard.kind] = replace(hazard, always=hazard.always or (before is not None and before.always))
        if at.is_open:
            self.open[at.op] = None

    def types(self, op: Op) -> list[tuple[np.dtype[Any], Shape | None]]:
        """Return the dtypes and sizes of an op's outputs."""
        found = [self.type_of(v) for v in op.outputs]
        return [(cast_target(op), found[0][1])] if op.kind == "Cast" else found

    def type_of(self, var: Var) -> tuple[np.dtype[Any], Shape | None]:
        """Return the dtype and the sizes of a value."""
        if var.type.shape is None:
            return var.type.dtype, None
        return var.type.dtype, known_shape([substitute(d, self.sizes) for d in var.type.shape])

    def branches(self, op: Op) -> list[Range]:
        """Return the ranges of an If's outputs: those of the side that is taken, or of either."""
        condition = self.range(op.inputs[0]) if op.inputs[0] is not None else unbounded(np.bool_)
        low, high = condition.ends
        names = [n for n, there in (("then_branch", high > 0), ("else_branch", low < 1)) if there]
        sides = [self.block(op.attributes[name], ()) for name in names]
        results = [either(side) for side in zip(*sides, strict=True)]
        if self.errors is not None and len(sides) > 1:
            results = [replace(r, error=_either_way(r, condition)) for r in results]
        return results


def _either_way(r: Range, condition: Range) -> AnyArray:
    """Return the error of a result of an If: exact arithmetic goes another way if the condition is not exact."""
    if r.error is None or condition.error is None or np.any(condition.error > 0):
        return np.asarray(np.inf)
    return r.error


@dataclass
class _Loop:
    """A Loop or Scan that is walked."""

    walk: Walk
    op: Op

    def __post_init__(self) -> None:
        (self.body,) = self.op.blocks()
        self.lead, self.carries = lead_and_carries(self.op)
        self.given = [None if v is None else self.walk.range(v) for v in self.op.inputs]

    def results(self) -> list[Range]:
        """Return the ranges of the outputs."""
        steps = self.steps()
        if steps is not None and steps <= STEPS:
            return self.one_by_one(steps)
        found = self.as_decided() if self.op.kind == "Loop" else None
        return self.until_settled() if found is None else found

    def steps(self) -> int | None:
        """Return the number of steps; None if it is not known, or a condition may end the loop before."""
        if self.op.kind == "Scan":
            sizes = {
                None if r is None or not r.shape else r.shape[a] for r, a in zip(self.rows(), self.axes(), strict=True)
            }
            known = sizes - {None}
            return known.pop() if len(known) == 1 else None
        count, going = self.given[0], self.given[1] if len(self.given) > 1 else None
        is_counted = isinstance(self.body.results[0], Const) and bool(self.body.results[0].numpy().reshape(-1)[0])
        is_counted = is_counted or self.body.results[0] is self.body.params[1]
        if count is None or count.value is None or not is_counted or (going is not None and going.ends[0] < 1):
            return None
        return max(int(count.value.reshape(-1)[0]), 0)

    def rows(self) -> list[Range | None]:
        """Return the ranges of the inputs that a Scan takes a slice of in each step."""
        return self.given[self.lead + self.carries :]

    def axes(self) -> list[int]:
        """Return the axis of each of these inputs."""
        return list(self.op.attributes.get("scan_input_axes") or [0] * len(self.rows()))

    def one_by_one(self, steps: int) -> list[Range]:
        """Walk each step; return the last carries, and the ranges of the rows of all steps."""
        turns = _Turns(self)
        for step in range(steps):
            turns.take(self.slices(step, steps))
        return turns.results()

    def as_decided(self) -> list[Range] | None:
        """Walk each step as long as the condition is certain; None where it is not, or for too many steps."""
        count, going = self.given[0], self.given[1] if len(self.given) > 1 else None
        limit = None if count is None else count.value
        if count is not None and limit is None:
            return None
        most = np.inf if limit is None else int(limit.reshape(-1)[0])
        is_going = True if going is None else self.decided(going)
        turns = _Turns(self)
        while is_going and turns.taken < min(most, STEPS + 1):
            is_going = self.decided(turns.take([]))
        return turns.results() if is_going is not None and turns.taken <= STEPS else None

    def decided(self, condition: Range) -> bool | None:
        """Return a bool that is certain, in exact arithmetic too; None for another one."""
        if self.walk.errors is not None and (condition.error is None or bool(np.any(condition.error))):
            return None
        low, high = condition.ends
        return True if low >= 1 else False if high < 1 else None

    def remember(self, seen: dict[Var, Range]) -> None:
        """Join the ranges of the values in the body with those of the steps before."""
        for var in (*self.body.params, *(v for op in walk(self.body) for v in op.outputs)):
            found = self.walk.found.get(var)
            if found is not None:
                seen[var] = either([seen[var], found.hull()]) if var in seen else found.hull()

    def slices(self, step: int, steps: int) -> list[Range]:
        """Return the range of each slice of a step."""
        back = self.op.attributes.get("scan_input_directions") or [0] * len(self.rows())
        return [
            sliced(r, axis, steps - 1 - step if is_back else step)
            for r, axis, is_back in zip(self.rows(), self.axes(), back, strict=True)
            if r is not None
        ]

    def stack(self, rows: Sequence[Range], position: int) -> Range:
        """Return the range of the rows along a new axis."""
        dtype, shape = self.walk.type_of(self.op.outputs[self.carries + position])
        if not rows:
            found = of_array(np.zeros((0,), dtype))
            return replace(found, value=None, shape=shape, error=np.zeros(()) if self.walk.errors is not None else None)
        axis = (self.op.attributes.get("scan_output_axes") or [0] * 100)[position]
        back = (self.op.attributes.get("scan_output_directions") or [0] * 100)[position]
        ordered = list(rows)[::-1] if back else list(rows)
        ends = [r.whole() for r in ordered]
        if any(e is None for e in ends):
            return replace(either([r.hull() for r in rows]), shape=shape)
        known = [e for e in ends if e is not None]
        low, high = (np.stack([e[i] for e in known], axis) for i in (0, 1))
        errors = [
            np.broadcast_to(r.error, e[0].shape) for r, e in zip(ordered, known, strict=True) if r.error is not None
        ]
        error = np.stack(errors, axis) if len(errors) == len(rows) else None
        nonzero = all(r.nonzero for r in rows)
        return rows[0].like(low, high, *rows[1:], dtype=dtype, shape=low.shape, nonzero=nonzero, error=error)

    def until_settled(self) -> list[Range]:
        """Walk the body with wider and wider carries; return ranges that hold for any number of steps."""
        rounds = 0

        def step(params: Sequence[Range]) -> list[Range]:
            nonlocal rounds
            rounds += 1
            slices = [sliced(r, axis, None) for r, axis in zip(self.rows(), self.axes(), strict=True) if r is not None]
            lead = [self.counter(), unbounded(np.bool_, ())][: self.lead]
            return self.walk.block(self.body, [*lead, *params[self.lead : self.lead + self.carries], *slices])

        given = [r if r is not None else unbounded(np.bool_) for r in self.given]
        begun = [
            *given[: self.lead],
            *map(_loose, given[self.lead : self.lead + self.carries]),
            *given[self.lead + self.carries :],
        ]
        was_settling, self.walk.is_settling = self.walk.is_settling, True
        _, found = settled(self.op, begun, unbounded(np.bool_), step, lambda a, b: _wider(a, b, rounds))
        self.walk.is_settling = was_settling
        shapes = [self.walk.type_of(v)[1] for v in self.op.outputs]
        outputs = [replace(r.hull(), shape=s) for r, s in zip(found, shapes, strict=True)]
        if self.walk.errors is not None:
            outputs = [replace(r, error=np.asarray(np.inf if r.dtype.kind not in "iub" else 0.0)) for r in outputs]
        return outputs

    def counter(self) -> Range:
        """Return the range of the number of a step."""
        count = self.given[0] if self.lead else None
        most = 2.0**62 if count is None else max(count.ends[1] - 1, 0.0)
        return Range(np.zeros(()), np.asarray(most), np.dtype(np.int64), ())


class _Turns:
    """The steps of a loop that are walked one after the other."""

    def __init__(self, loop: _Loop) -> None:
        self.loop = loop
        self.carried = [r for r in loop.given[loop.lead : loop.lead + loop.carries] if r is not None]
        self.stacked: list[list[Range]] = [[] for _ in loop.body.results[loop.lead // 2 + loop.carries :]]
        self.seen: dict[Var, Range] = {}
        self.taken = 0

    def take(self, slices: Sequence[Range]) -> Range:
        """Walk a step; return the range of the first result of the body, which of a Loop is whether it goes on."""
        loop, walk = self.loop, self.loop.walk
        lead = [of_array(np.asarray(self.taken, np.int64)), of_array(np.asarray(True))][: loop.lead]
        lead = [replace(r, error=np.zeros(())) if walk.errors is not None else r for r in lead]
        walk.turns.append(self.taken)
        every = walk.block(loop.body, [*lead, *self.carried, *slices])
        walk.turns.pop()
        results = every[loop.lead // 2 :]
        self.carried = results[: loop.carries]
        for column, row in zip(self.stacked, results[loop.carries :], strict=True):
            column.append(row)
        loop.remember(self.seen)
        self.taken += 1
        return every[0]

    def results(self) -> list[Range]:
        """Return the last carries, and the ranges of the rows of all steps."""
        self.loop.walk.found.update(self.seen)
        return [*self.carried, *(self.loop.stack(column, i) for i, column in enumerate(self.stacked))]


def sliced(r: Range, axis: int, index: int | None) -> Range:
    """Return the range of a slice, or of any slice for None."""
    shape = None if r.shape is None else tuple(d for i, d in enumerate(r.shape) if i != axis % len(r.shape))
    value = None if r.value is None or index is None else np.take(r.value, index, axis)
    ends = r.whole()
    if ends is None or r.is_uniform or index is None:
        return replace(r.hull(), shape=shape, value=value)
    low, high = (np.take(end, index, axis) for end in ends)
    error = None if r.error is None else np.take(np.broadcast_to(r.error, ends[0].shape), index, axis)
    return replace(r, low=low, high=high, shape=shape, value=value, error=error, attains=None)


def _loose(r: Range) -> Range:
    return replace(r.hull(), attains=None)


def _wider(one: Range, other: Range, rounds: int) -> Range:
    """Return a range that holds both; after some rounds its bounds jump, so that they settle."""
    joined = either([one.hull(), other.hull()])
    low, high = joined.ends
    if rounds > ROUNDS:
        low = one.ends[0] if low >= one.ends[0] else -next(w for w in WIDER if w >= -low) if low < 0 else 0.0
        high = one.ends[1] if high <= one.ends[1] else next(w for w in WIDER if w >= high) if high > 0 else 0.0
    found = replace(joined, low=np.asarray(low), high=np.asarray(high), shape=one.shape, error=None)
    levels = ("nan", "inf", "nonzero", "ends")
    return one if all(getattr(found, n) == getattr(one, n) for n in levels) else found
