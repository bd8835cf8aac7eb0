"""Equal steps of a block, one behind the other, and the Scan that computes them.

`repeats.py` finds the steps. Each op of a step is that of the step before on the values of the step before. What it
reads from outside is the same in all steps, or one value a step, which becomes a sequence of the Scan.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from primsplit.ir import Block, Const, Op, Type, Value, Var, same_values

Slot = tuple[int, int]
"""A value of each step: the place of its op in the step, and which output of it."""


@dataclass(frozen=True, slots=True)
class Steps:
    """`count` equal steps of `period` ops from `start` on.

    `carried` are the values of the first step that the second reads, with the first value of each.
    """

    ops: Sequence[Op]
    start: int
    period: int
    count: int
    carried: Mapping[Var, Value]

    @property
    def stop(self) -> int:
        """The place behind the steps."""
        return self.start + self.count * self.period

    def value(self, slot: Slot, step: int) -> Var:
        """The value of a slot in a step."""
        place, output = slot
        return self.ops[self.start + step * self.period + place].outputs[output]

    def stacked(self, slot: Slot) -> Type:
        """The type of the values of a slot in all steps, stacked."""
        return _stacked(self.value(slot, 0).type, self.count)

    def slots(self) -> dict[Var, tuple[Slot, int]]:
        """The slot and the step of each value of the steps."""
        found = {}
        for k in range(self.start, self.stop):
            step, place = divmod(k - self.start, self.period)
            found.update({v: ((place, i), step) for i, v in enumerate(self.ops[k].outputs)})
        return found

    def as_scan(self, kept: Mapping[Slot, Var]) -> list[Op]:
        """Return what gathers the Scan's sequences, and the Scan, which also stacks the slots that are kept.

        The body is the second step; its parameters are what that reads.
        """
        second = self.start + self.period
        elements: dict[Var, Value] = {}
        before: list[Op] = []
        body: list[Op] = []
        for k in range(second, second + self.period):
            rows = self._rows(k)
            if rows:
                before += rows
                elements[self.ops[k].outputs[0]] = rows[-1].outputs[0]
            else:
                body.append(self._with_elements(k, elements, before))
        if not elements:
            elements[Var(Type(np.int64, ()))] = Const(np.arange(self.count))
        places = {v: slot for v, (slot, step) in self.slots().items() if step == 0}
        carried = [places[v] for v in self.carried]
        results = tuple(self.value(slot, 1) for slot in (*carried, *kept))
        made = Block("step", (*self.carried, *elements), tuple(body), results)
        outputs = (*(self.value(slot, self.count - 1) for slot in carried), *kept.values())
        attributes = {"body": made, "num_scan_inputs": len(elements)}
        place = self.ops[self.start].place
        return [*before, Op("Scan", (*self.carried.values(), *elements.values()), outputs, attributes, place)]

    def column(self, k: int, i: int) -> list[Value | None]:
        """Return the values that an op of the second step reads there, in all steps."""
        return [self.ops[k + n * self.period].inputs[i] for n in range(-1, self.count - 1)]

    def _rows(self, k: int) -> list[Op]:
        """A Gather of what the op reads of an array in all steps, in the order of these; nothing if it does not."""
        op = self.ops[k]
        source = op.inputs[0] if op.inputs else None
        if op.kind != "Gather" or source is None or source.type.shape is None:
            return []
        if any(other is not source for other in self.column(k, 0)):
            return []
        places = self._constants(k, 1)
        if places is None or places.ndim > 1:
            return []
        shape, axis = source.type.shape, int(op.attributes.get("axis", 0)) % len(source.type.shape)
        made = Var(Type(source.type.dtype, (*shape[:axis], self.count, *shape[axis + 1 :])))
        gather = Op("Gather", (source, Const(places)), (made,), op.attributes, op.place)
        if axis == 0:
            return [gather]
        order = [axis, *(n for n in range(len(shape)) if n != axis)]
        first = Var(_stacked(op.outputs[0].type, self.count))
        return [gather, Op("Transpose", (made,), (first,), {"perm": order}, op.place)]

    def _constants(self, k: int, i: int) -> np.ndarray[Any, Any] | None:
        """The constants that an op of the second step reads there in all steps; None if they are the same."""
        value, each = self.ops[k].inputs[i], self.column(k, i)
        if not isinstance(value, Const) or all(same_values(value, other) for other in each):
            return None
        return np.stack([c.numpy() for c in each if isinstance(c, Const)])

    def _with_elements(self, k: int, elements: dict[Var, Value], before: list[Op]) -> Op:
        """The op with parameters in the place of what differs from step to step; `before` learns what stacks it."""
        inputs = list(self.ops[k].inputs)
        for i, value in enumerate(inputs):
            if value is None:
                continue
            found = self._constants(k, i)
            if found is not None:
                inputs[i] = _element(value, Const(found), elements)
            elif self.is_taken(k, i):
                ops = _stack([v for v in self.column(k, i) if v is not None], self.ops[k])
                before += ops
                inputs[i] = _element(value, ops[-1].outputs[0], elements)
        return replace(self.ops[k], inputs=tuple(inputs))

    def is_taken(self, k: int, i: int) -> bool:
        """Whether an op of the second step reads one value a step there, each computed before the steps."""
        value = self.ops[k].inputs[i]
        if not isinstance(value, Var):
            return False
        return self.ops[k - self.period].inputs[i] is not value and not self._is_inside(value)

    def _is_inside(self, value: Var) -> bool:
        second = self.start + self.period
        return any(value in op.outputs for op in self.ops[self.start : second + self.period])


def _element(value: Value, sequence: Value, elements: dict[Var, Value]) -> Var:
    element = Var(value.type)
    elements[element] = sequence
    return element


def _stack(values: Sequence[Value], reader: Op) -> list[Op]:
    """Return the ops that stack the values."""
    rows = [Var(_stacked(v.type, 1)) for v in values]
    ops = [
        Op("Unsqueeze", (v, Const(np.array([0]))), (row,), {}, reader.place)
        for v, row in zip(values, rows, strict=True)
    ]
    stacked = Var(_stacked(values[0].type, len(values)))
    return [*ops, Op("Concat", tuple(rows), (stacked,), {"axis": 0}, reader.place)]


def _stacked(of: Type, count: int) -> Type:
    if of.shape is None:
        raise ValueError("steps have arrays of known rank")
    return Type(of.dtype, (count, *of.shape))
