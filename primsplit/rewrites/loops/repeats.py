"""Fold the repeated steps of a large program into a Scan.

A Python loop is recorded step by step. Derivatives, passes and onnxruntime's load of 25,000 equal steps take a minute,
those of the Scan a second. Steps repeat where each op is that of one step before: it reads the same values, the results
of the step before, or constants or values of one type, which become a sequence.

```
b = Tanh(x); c = Mul(b, y); d = Tanh(c); e = Mul(d, y); ...   ->   z = Scan(x): b = Tanh(a); c = Mul(b, y); return c
```

The last step stays: what is carried is read behind the Scan as it was. For what else is read there see
`read_behind.py`.
"""

import math
from collections.abc import Iterator
from typing import Any

from primsplit.ir import Block, Const, Op, Value, Var, has_blocks, same_types, same_values
from primsplit.ir.caching.fingerprint import fingerprint
from primsplit.ops.traits import traits
from primsplit.rewrites.cse import attribute_key
from primsplit.rewrites.loops import LARGE
from primsplit.rewrites.loops.read_behind import folded, with_readers
from primsplit.rewrites.loops.steps import Steps
from primsplit.rewrites.same_values import is_repeatable

STEPS = 64
"""The fewest steps of a Scan."""
MUCH = 2**15
"""The most bytes of a result of a step: a Scan writes once more what the gradient reads of it."""
OPEN = 32
"""What a size that only the run knows counts for: a usual batch."""
HUGE = 50_000
"""From so many ops on, larger results are folded too: loading them would take longer than many runs."""
LONGEST = 512
"""The most ops of a step."""
MOST = 4
"""The most Scans that are made."""
CANDIDATES = 16
"""The most lengths of a step that are tried at a place."""


def fold_repeats(block: Block) -> Block:
    """Return the block with its repeated steps in Scans, the longest first; itself if it is small or has none."""
    if len(block.ops) < LARGE:
        return block
    for _ in range(MOST):
        steps = sorted(_Search(block).regions(), key=lambda steps: -steps.count * steps.period)
        made = (folded(block, found) or _folded_with_readers(block, found) for found in steps)
        found = next((each for each in made if each is not None), None)
        if found is None:
            break
        block = found
    return block


def _folded_with_readers(block: Block, steps: Steps) -> Block | None:
    """Return the block with the steps in a Scan after ops behind them joined them; None if that cannot be."""
    moved = with_readers(block, steps)
    if moved is None:
        return None
    found = max(_Search(moved).regions(), key=lambda steps: steps.count * steps.period, default=None)
    return None if found is None else folded(moved, found)


class _Search:
    """The places at which each value of a block is computed, and the ops by what they look like."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.ops = block.ops
        self.made = {v: (k, i) for k, op in enumerate(block.ops) for i, v in enumerate(op.outputs)}
        self.looks = [(op.kind, *(v.type.key for v in op.outputs)) for op in block.ops]

    def regions(self) -> Iterator[Steps]:
        """Yield repeated steps around a few places."""
        seen = -1
        for part in (1, 2, 3, 4, 5, 6, 7):
            middle = part * len(self.ops) // 8
            found = self.around(middle) if middle >= seen else None
            if found is not None:
                seen = found.stop
                yield found

    def around(self, middle: int) -> Steps | None:
        """Return the repeated steps around a place, those of fewest ops; if there are none, steps with own values."""
        alike = [n for n in range(1, min(LONGEST, len(self.ops) - middle - 1) + 1) if self._may_repeat(middle, n)]
        for may_take in (False, True):
            for period in alike[:CANDIDATES]:
                start, stop = self.stretch(middle, period, may_take=may_take)
                # The first steps may read what is computed before the steps where the others read values of steps.
                for first in range(start, start + (3 if may_take else 1) * period, period):
                    steps = (stop - first) // period
                    is_long = steps >= STEPS and steps * period >= LARGE // 2
                    found = self.region(first, period, steps) if is_long else None
                    if found is not None:
                        return found
        return None

    def _may_repeat(self, middle: int, period: int) -> bool:
        return self.looks[middle] == self.looks[middle + period]

    def stretch(self, middle: int, period: int, *, may_take: bool) -> tuple[int, int]:
        """Return where ops begin and end that are repeated one period later.

        With `may_take` they may read values of their own that are computed before the steps, such as weights.
        """
        start = stop = middle
        while stop + period < len(self.ops) and self.is_repeated(stop, period, middle if may_take else -1):
            stop += 1
        while start > 0 and self.is_repeated(start - 1, period, start - 1 if may_take else -1):
            start -= 1
        return start, stop

    def is_repeated(self, k: int, period: int, before: int) -> bool:
        """Whether the op one period later does the same to the values of one period later.

        Instead it may read others that were computed before the place `before`, if that is not negative.
        """
        a, b = self.ops[k], self.ops[k + period]
        if self.looks[k] != self.looks[k + period] or len(a.inputs) != len(b.inputs) or a.remark != b.remark:
            return False
        if has_blocks(a) or not _are_alike(a, b) or not is_repeatable(a):
            return False
        if any(v.sizes is not None for v in a.outputs):
            return False
        return all(self.is_later(a, i, period, b, before) for i in range(len(a.inputs)))

    def is_later(self, a: Op, i: int, period: int, b: Op, before: int) -> bool:
        """Whether an input is the same, or the result of one period later, or one that may be an element."""
        x, y = a.inputs[i], b.inputs[i]
        if x is y:
            return True
        if x is None or y is None or not same_types(x.type, y.type):
            return False
        if isinstance(x, Const) and isinstance(y, Const):
            may_differ = traits(a.kind).elementwise or traits(a.kind).contracts or (a.kind == "Gather" and i == 1)
            return same_values(x, y) or (may_differ and _is_plain(x) and _is_plain(y))
        if not isinstance(x, Var) or not isinstance(y, Var):
            return False
        if y in self.made and self.made.get(x) == (self.made[y][0] - period, self.made[y][1]):
            return True
        return max(self.place(x), self.place(y)) < before and self.is_light(x) and x.type.literal_nbytes() is not None

    def region(self, start: int, period: int, steps: int) -> Steps | None:
        """Return so many small steps, if each reads at most the one before."""
        if not all(self.is_light(v) for op in self.ops[start : start + period] for v in op.outputs):
            return None
        carried: dict[Var, Value] = {}
        for k in range(start + period, start + 2 * period):
            for before, value in zip(self.ops[k - period].inputs, self.ops[k].inputs, strict=True):
                if not isinstance(value, Var) or self.place(value) < start or self.place(value) >= start + period:
                    continue
                if before is None or carried.setdefault(value, before) is not before:
                    return None
        found = Steps(self.ops, start, period, steps, carried)
        return found if carried and self.is_regular(found) else None

    def is_light(self, value: Value) -> bool:
        """Whether a value of a step, or one that it reads alone, may be a row of what a Scan reads or writes."""
        shape = value.type.shape
        if len(self.ops) >= HUGE or shape is None:
            return shape is not None
        sizes = [d if isinstance(d, int) else OPEN for d in shape]
        return math.prod(sizes) * value.type.dtype.itemsize <= MUCH

    def place(self, value: Value | None) -> int:
        """The place at which a value is computed; -1 for parameters, constants and what captures read."""
        return self.made[value][0] if isinstance(value, Var) and value in self.made else -1

    def is_regular(self, steps: Steps) -> bool:
        """Whether each input comes in all steps from the steps, from one step before, or from before the steps."""
        slots = steps.slots()
        for k in range(steps.start + steps.period, steps.start + 2 * steps.period):
            for i, value in enumerate(self.ops[k].inputs):
                column = steps.column(k, i)
                if isinstance(value, Var) and value in slots:
                    slot, step = slots[value]
                    expected = [steps.value(slot, step + n) for n in range(steps.count - 1)]
                    if any(a is not b for a, b in zip(column[1:], expected, strict=True)):
                        return False
                elif any(self.place(v) >= steps.start for v in column):
                    return False
        return True


def _are_alike(a: Op, b: Op) -> bool:
    """Whether two ops have the same attributes: calls have one body, and rules that read the same."""
    if a.attributes.keys() != b.attributes.keys():
        return False
    return all(_are_equal(value, b.attributes[name]) for name, value in a.attributes.items())


def _are_equal(x: Any, y: Any) -> bool:
    if x is y or type(x) is not type(y):
        return x is y
    if hasattr(type(x), "depends_on"):
        return bool(fingerprint(x) == fingerprint(y))
    return attribute_key({"": x}) == attribute_key({"": y})


def _is_plain(value: Const) -> bool:
    return not value.is_weight and (value.type.literal_nbytes() or 0) <= MUCH
