"""Fold the repeated steps of a large program into a Scan, before differentiation.

A Python loop is recorded step by step. Derivatives, passes and onnxruntime's load of 25,000 equal steps take a minute,
those of the Scan a second. Steps repeat where each op is that of one step before: it reads the same values, the results
of the step before, or constants of one type, which become a sequence.

```
b = Tanh(x); c = Mul(b, y); d = Tanh(c); e = Mul(d, y); ...   ->   z = Scan(x): b = Tanh(a); c = Mul(b, y); return c
```

The last step stays, so that nothing but what is carried from step to step is read behind the Scan. Steps of which
anything else is read from outside stay too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from primsplit.ir import Block, Const, Op, Type, Value, Var, has_blocks, reads, same_types, same_values
from primsplit.ops.schema import exists, schema
from primsplit.ops.traits import traits

LARGE = 5_000
"""The fewest ops of a program in which repeats are looked for."""
STEPS = 64
"""The fewest steps of a Scan."""
MUCH = 2**15
"""The most bytes of a result of a step: a Scan writes once more what the gradient reads of it."""
HUGE = 50_000
"""From so many ops on, larger results are folded too: loading them would take longer than many runs."""
LONGEST = 512
"""The most ops of a step."""
CANDIDATES = 16
"""The most lengths of a step that are tried at a place."""


def fold_repeats(block: Block) -> Block:
    """Return the block with its longest repeated steps in a Scan; itself if it is small, or there are none."""
    if len(block.ops) < LARGE:
        return block
    search = _Search(block)
    found = max(search.regions(), key=lambda region: region.steps * region.period, default=None)
    if found is None:
        return block
    return replace(block, ops=(*block.ops[: found.start], *found.folded(), *block.ops[found.stop :]))


@dataclass(frozen=True, slots=True)
class _Region:
    """The ops of equal steps of `period` ops from `start` on.

    `carried` are the values of the first step that the second reads, with the first value of each.
    """

    ops: Sequence[Op]
    start: int
    period: int
    steps: int
    carried: Mapping[Var, Value]

    @property
    def stop(self) -> int:
        """The place behind the steps."""
        return self.start + self.steps * self.period

    def folded(self) -> list[Op]:
        """The Scan, and what gathers its sequences. Its body is the second step; parameters are what that reads."""
        second = self.start + self.period
        elements: dict[Var, Value] = {}
        gathers: list[Op] = []
        body: list[Op] = []
        for k in range(second, second + self.period):
            rows = self.rows(k)
            if rows is None:
                body.append(self.with_elements(k, elements))
            else:
                gathers.append(rows)
                elements[self.ops[k].outputs[0]] = rows.outputs[0]
        if not elements:
            elements[Var(Type(np.int64, ()))] = Const(np.arange(self.steps))
        made = Block("step", (*self.carried, *elements), tuple(body), tuple(self.later(v, 1) for v in self.carried))
        outputs = tuple(self.later(v, self.steps - 1) for v in self.carried)
        attributes = {"body": made, "num_scan_inputs": len(elements)}
        place = self.ops[self.start].place
        return [*gathers, Op("Scan", (*self.carried.values(), *elements.values()), outputs, attributes, place)]

    def rows(self, k: int) -> Op | None:
        """One Gather of what the op reads of an array in all steps, in the order of these; None if it does not."""
        op = self.ops[k]
        if (
            op.kind != "Gather"
            or op.attributes.get("axis", 0)
            or op.inputs[0] is not self.ops[k - self.period].inputs[0]
        ):
            return None
        source, places = op.inputs[0], self.constants(k, 1)
        if source is None or source.type.shape is None or places is None or places.ndim > 1:
            return None
        made = Var(Type(source.type.dtype, (self.steps, *source.type.shape[1:])))
        return Op("Gather", (source, Const(places)), (made,), op.attributes, op.place)

    def constants(self, k: int, i: int) -> np.ndarray[Any, Any] | None:
        """The constants that an op of the second step reads there in all steps; None if they are the same."""
        value = self.ops[k].inputs[i]
        each = [self.ops[k + n * self.period].inputs[i] for n in range(-1, self.steps - 1)]
        if not isinstance(value, Const) or all(same_values(value, other) for other in each):
            return None
        return np.stack([c.numpy() for c in each if isinstance(c, Const)])

    def later(self, var: Var, steps: int) -> Var:
        """The value of so many steps later."""
        for k in range(self.start, self.start + self.period):
            if var in self.ops[k].outputs:
                return self.ops[k + steps * self.period].outputs[self.ops[k].outputs.index(var)]
        raise KeyError(var)

    def with_elements(self, k: int, elements: dict[Var, Value]) -> Op:
        """The op with parameters in the place of constants that differ from step to step."""
        inputs = list(self.ops[k].inputs)
        for i, value in enumerate(inputs):
            found = self.constants(k, i)
            if value is not None and found is not None:
                element = Var(value.type)
                inputs[i], elements[element] = element, Const(found)
        return replace(self.ops[k], inputs=tuple(inputs))


class _Search:
    """The places at which each value of a block is computed, and the ops by what they look like."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.ops = block.ops
        self.made = {v: (k, i) for k, op in enumerate(block.ops) for i, v in enumerate(op.outputs)}
        self.looks = [(op.kind, *((v.type.dtype, v.type.shape) for v in op.outputs)) for op in block.ops]

    def regions(self) -> Iterator[_Region]:
        """Yield repeated steps around a few places."""
        seen = -1
        for part in (1, 2, 3, 4, 5, 6, 7):
            middle = part * len(self.ops) // 8
            found = self.around(middle) if middle >= seen else None
            if found is not None:
                seen = found.stop
                yield found

    def around(self, middle: int) -> _Region | None:
        """Return the repeated steps around a place, those of fewest ops."""
        tried = 0
        for period in range(1, min(LONGEST, len(self.ops) - middle - 1) + 1):
            if tried == CANDIDATES:
                break
            if self.looks[middle] == self.looks[middle + period]:
                tried += 1
                start, stop = self.stretch(middle, period)
                steps = (stop - start) // period
                found = self.region(start, period, steps) if steps >= STEPS and steps * period >= LARGE // 2 else None
                if found is not None:
                    return found
        return None

    def stretch(self, middle: int, period: int) -> tuple[int, int]:
        """Return where ops begin and end that are repeated one period later."""
        start = stop = middle
        while stop + period < len(self.ops) and self.is_repeated(stop, period):
            stop += 1
        while start > 0 and self.is_repeated(start - 1, period):
            start -= 1
        return start, stop

    def is_repeated(self, k: int, period: int) -> bool:
        """Whether the op one period later does the same to the values of one period later."""
        a, b = self.ops[k], self.ops[k + period]
        if self.looks[k] != self.looks[k + period] or len(a.inputs) != len(b.inputs) or a.remark != b.remark:
            return False
        if not exists(a.kind) or not schema(a.kind).deterministic or has_blocks(a) or not _are_alike(a, b):
            return False
        if any(v.sizes is not None for v in a.outputs):
            return False
        return all(self.is_later(a, i, period, b) for i in range(len(a.inputs)))

    def is_later(self, a: Op, i: int, period: int, b: Op) -> bool:
        """Whether an input is the same, or the result of one period later, or a constant that may be an element."""
        x, y = a.inputs[i], b.inputs[i]
        if x is y:
            return True
        if isinstance(x, Const) and isinstance(y, Const):
            may_differ = traits(a.kind).elementwise or (a.kind == "Gather" and i == 1)
            return same_values(x, y) or (may_differ and _is_plain(x) and _is_plain(y) and same_types(x.type, y.type))
        if not isinstance(x, Var) or not isinstance(y, Var) or y not in self.made:
            return False
        (place, out), before = self.made[y], self.made.get(x)
        return before == (place - period, out) and same_types(x.type, y.type)

    def region(self, start: int, period: int, steps: int) -> _Region | None:
        """Return so many small steps, if each reads at most the one before, and only the last is read outside."""
        sizes = [v.type.literal_nbytes() for op in self.ops[start : start + period] for v in op.outputs]
        if len(self.ops) < HUGE and any(size is None or size > MUCH for size in sizes):
            return None
        carried: dict[Var, Value] = {}
        for k in range(start + period, start + 2 * period):
            for before, value in zip(self.ops[k - period].inputs, self.ops[k].inputs, strict=True):
                if not isinstance(value, Var) or value not in self.made or value is before:
                    continue
                place = self.made[value][0]
                if place >= start + period:
                    continue
                if place < start or before is None or carried.setdefault(value, before) is not before:
                    return None
        found = _Region(self.ops, start, period, steps, carried)
        return found if carried and self.is_apart(found) else None

    def is_apart(self, region: _Region) -> bool:
        """Whether ops behind the steps read what the last one carries, and nothing else of them."""
        last = {region.later(v, region.steps - 1) for v in region.carried}
        behind = (v for op in self.ops[region.stop :] for v in reads(op))
        read = {*behind, *(v for v in self.block.results if isinstance(v, Var))}
        return all(v in last or not region.start <= self.made[v][0] < region.stop for v in read if v in self.made)


def _are_alike(a: Op, b: Op) -> bool:
    """Whether two ops have the same attributes."""
    if a.attributes.keys() != b.attributes.keys():
        return False
    pairs = [(value, b.attributes[name]) for name, value in a.attributes.items()]
    return all(x is y or bool(np.array_equal(x, y)) for x, y in pairs)


def _is_plain(value: Const) -> bool:
    return not value.role and value.is_small
