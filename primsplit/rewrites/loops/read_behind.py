"""Write equal steps as a Scan where ops behind them read values of single steps.

A list that a loop appends to is read behind the loop: stacked, concatenated, or summed up. The Scan has one more
result, the values of all steps.

```
h1 = Tanh(h0); h2 = Tanh(h1); ...; y = Concat(h1, h2, ..., axis=0)   ->   _, rows = Scan(h0): ...; y = Reshape(rows)
```

Ops behind the steps that each step has one of, such as those of `sum(losses)`, become ops of the steps.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from primsplit.ir import Block, Const, Op, Type, Var, has_blocks, reads
from primsplit.ir.dims import Dim
from primsplit.rewrites.loops.steps import Slot, Steps
from primsplit.rewrites.same_values import is_repeatable

FEW = 16
"""The most values of single steps that are read behind a Scan, each by a Gather, and the fewest of one that is not."""


def folded(block: Block, steps: Steps) -> Block | None:
    """Return the block with the steps in a Scan; None if more than a FEW values of single steps are read behind it."""
    slots = steps.slots()
    carried = {steps.value(slots[v][0], steps.count - 1) for v in steps.carried}
    inside = {v: found for v, found in slots.items() if v not in carried}
    rows = _Rows(steps)
    behind = [rows.joined(op, inside) for op in block.ops[steps.stop :]]
    read = dict.fromkeys(v for ops in behind for op in ops for v in reads(op) if v in inside)
    read |= dict.fromkeys(v for v in block.results if isinstance(v, Var) and v in inside)
    if len(read) > FEW:
        return None
    single = [_row(v, rows.of(inside[v][0]), inside[v][1], steps.ops[steps.start]) for v in read]
    scan = steps.as_scan(rows.stacked)
    return replace(block, ops=(*block.ops[: steps.start], *scan, *single, *(op for ops in behind for op in ops)))


def _row(value: Var, rows: Var, step: int, reader: Op) -> Op:
    return Op("Gather", (rows, Const(np.array(step))), (value,), {"axis": 0}, reader.place)


@dataclass(slots=True)
class _Rows:
    """The values of slots in all steps, stacked, for what reads them behind the steps."""

    steps: Steps
    stacked: dict[Slot, Var] = field(default_factory=dict)

    def of(self, slot: Slot) -> Var:
        """The values of the slot in all steps."""
        if slot not in self.stacked:
            self.stacked[slot] = Var(self.steps.stacked(slot))
        return self.stacked[slot]

    def joined(self, op: Op, inside: Mapping[Var, tuple[Slot, int]]) -> list[Op]:
        """Return the op, a Concat with one array in the place of values of many steps in their order."""
        if op.kind != "Concat":
            return [op]
        made: list[Op] = []
        inputs: list[Any] = []
        for run in _runs(op.inputs, inside):
            shape = run[0].type.shape if len(run) >= FEW else None
            known = [d for d in shape or () if isinstance(d, int)]
            if shape is None or 0 in known or len(known) < len(shape) - 1:
                inputs += run
            else:
                made += self._joined(op, shape, inside[run[0]][0], [inside[v][1] for v in run])
                inputs.append(made[-1].outputs[0])
        return [*made, replace(op, inputs=tuple(inputs))] if made else [op]

    def _joined(self, op: Op, shape: Sequence[Dim], slot: Slot, at: Sequence[int]) -> Iterator[Op]:
        """Yield the ops that concatenate the values of a slot, of that shape, of steps that are equally far apart.

        The shape has at most one size that is open.
        """
        found, dtype, count = self.of(slot), op.outputs[0].type.dtype, len(at)
        axis = int(op.attributes["axis"]) % len(shape)
        if list(at) != list(range(self.steps.count)):
            stride = at[1] - at[0]
            end = at[-1] + stride if at[-1] + stride >= 0 else np.iinfo(np.int64).min
            part = Var(Type(dtype, (count, *shape)))
            yield op.beside("Slice", (found, *(Const(np.array([n])) for n in (at[0], end, 0, stride))), (part,))
            found = part
        if axis:
            turned = Var(Type(dtype, (*shape[:axis], count, *shape[axis:])))
            order = [*range(1, axis + 1), 0, *range(axis + 1, len(shape) + 1)]
            yield op.beside("Transpose", (found,), (turned,), {"perm": order})
            found = turned
        sizes = (*shape[:axis], count * shape[axis], *shape[axis + 1 :])
        told = np.array([d if isinstance(d, int) else -1 for d in sizes])
        yield op.beside("Reshape", (found, Const(told)), (Var(Type(dtype, sizes)),))


def _runs(values: Sequence[Any], inside: Mapping[Var, tuple[Slot, int]]) -> Iterator[list[Any]]:
    """Yield the values in runs of those of one slot in steps that are equally far apart; others alone."""
    run: list[Any] = []
    for value in values:
        if run and not _continues([inside.get(v) for v in (*run[:2], run[-1], value)], len(run)):
            yield run
            run = []
        run.append(value)
    if run:
        yield run


def _continues(found: Sequence[tuple[Slot, int] | None], length: int) -> bool:
    """Whether the last of the values goes on with a run of so many, of which the others are the first and the last."""
    places = [place for place in found if place is not None]
    if len(places) < len(found) or len({slot for slot, _ in places}) > 1:
        return False
    steps = [step for _, step in places]
    stride = steps[-1] - steps[-2]
    return stride != 0 and (length == 1 or stride == steps[1] - steps[0])


def with_readers(block: Block, steps: Steps) -> Block | None:
    """Return the block with ops behind the steps moved to the end of the step that they read; None if there are none.

    An op moves where most steps have one that looks like it.
    """
    slots = steps.slots()
    allowed: Set[Any] | None = None
    while True:
        moved, looks = _moved(block, steps, slots, allowed)
        found = Counter(looks.values())
        common = {look for look, count in found.items() if count > steps.count // 2}
        if len(common) == len(found):
            break
        allowed = common
    if not moved:
        return None
    ops = list(block.ops[: steps.start])
    for step in range(steps.count):
        place = steps.start + step * steps.period
        ops += [*block.ops[place : place + steps.period], *moved.get(step, ())]
    gone = {id(op) for each in moved.values() for op in each}
    return replace(block, ops=(*ops, *(op for op in block.ops[steps.stop :] if id(op) not in gone)))


def _moved(
    block: Block, steps: Steps, slots: Mapping[Var, tuple[Slot, int]], allowed: Set[Any] | None
) -> tuple[dict[int, list[Op]], dict[int, Any]]:
    """Return the ops that could be in each step, among those of the looks that are allowed, and how each looks."""
    step_of = {v: step for v, (_, step) in slots.items()}
    unmoved: set[Var] = set()
    moved: dict[int, list[Op]] = {}
    looks: dict[int, Any] = {}
    for op in block.ops[steps.stop :]:
        of = frozenset(slots[v][0] for v in reads(op) if v in slots)
        look = (op.kind, *(v.type.key for v in op.outputs), of)
        read = [step_of[v] for v in reads(op) if v in step_of]
        is_apart = any(v in unmoved for v in reads(op)) or has_blocks(op) or not is_repeatable(op)
        if is_apart or not read or (allowed is not None and look not in allowed):
            unmoved.update(op.outputs)
            continue
        step_of.update(dict.fromkeys(op.outputs, max(read)))
        moved.setdefault(max(read), []).append(op)
        looks[id(op)] = look
    return moved, looks
