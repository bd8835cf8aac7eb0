"""Merge sums of choices: a transposed list adds what came through one side of a choice to what came through the other.

```
Where(c, x, 0) + Where(c, 0, y)   ->   Where(c, x, y)
```
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from primsplit.ir import Block, Op, Value, Var, reads, same_types
from primsplit.rewrites.rewrites.table import is_zero, number
from primsplit.rewrites.rewriting import Rewriter


def join_choices(block: Block) -> Block:
    """Return the block with `Where(c, x, 0) + Where(c, 0, y)` as `Where(c, x, y)`, if nothing else reads the two.

    If y is multiplied by a number, or chosen by another condition with zeros, before it is added, that is done after
    the merged choice. A tangent may become -0.0 where it was 0.0, so this is for derivatives only.
    """
    return _Joining().run_and_drop(block)


class _Joining(Rewriter):
    """The walk. `keeping` maps results to ops that are zero where one operand is, with the operand's position.

    `uses` is how often each Var is read.
    """

    def __init__(self) -> None:
        super().__init__()
        self.keeping: dict[Value | None, tuple[Op, int]] = {}
        self.uses: Counter[Value | None] = Counter()

    def enter(self, block: Block) -> None:
        """Count the block's reads."""
        self.uses.update(v for op in block.ops for v in reads(op))
        self.uses.update(r for r in block.results if isinstance(r, Var))

    def visit(self, op: Op) -> Op | None:
        """Return a sum of two sides as one choice."""
        place = _zero_keeping(op)
        if place is not None:
            self.keeping[op.outputs[0]] = op, place
        elif op.kind == "Add":
            op = self.joined(op, *op.inputs) or self.joined(op, *op.inputs[::-1]) or op
        return super().visit(op)

    def joined(self, total: Op, one: Value | None, other: Value | None) -> Op | None:
        """One choice for the sum of a choice with zeros and a value that is zero on the other side of its condition."""
        first = next(self.made_of(one), None)
        if first is None or first[0].kind != "Where":
            return None
        choice, side = first
        behind: list[tuple[Op, int]] = []
        for op, place in self.made_of(other):
            if op.kind == "Where" and op.inputs[0] is choice.inputs[0] and place != side:
                break
            behind.append((op, place))
        else:
            return None
        kept = total.outputs[0].type
        if other is None or not all(same_types(kept, v.type) for v in (choice.outputs[0], op.outputs[0], other)):
            return None
        value = op.inputs[place]
        for each, position in reversed(behind):
            value = self.again(each, position, value)
        sides = {side: choice.inputs[side], place: value}
        return total.beside("Where", (choice.inputs[0], sides[1], sides[2]), total.outputs)

    def made_of(self, value: Value | None) -> Iterator[tuple[Op, int]]:
        """Yield the ops that compute a value from another one, back to the first.

        Only they read the values in between.
        """
        while value in self.keeping and self.uses[value] == 1:
            op, place = self.keeping[value]
            yield op, place
            value = op.inputs[place]

    def again(self, op: Op, place: int, value: Value | None) -> Var:
        """Return the result of the op with another value in that place."""
        result = Var(op.outputs[0].type)
        inputs = (*op.inputs[:place], value, *op.inputs[place + 1 :])
        self.kept.append(replace(op, inputs=inputs, outputs=(result,)))
        return result


def _zero_keeping(op: Op) -> int | None:
    """Return the position of the operand without which the result is zero, if there is one."""
    if op.kind == "Neg":
        return 0
    if op.kind == "Where":
        return next((side for side in (1, 2) if is_zero(op.inputs[3 - side])), None)
    if op.kind == "Mul":
        return next((place for place in (0, 1) if _is_finite(op.inputs[1 - place])), None)
    return None


def _is_finite(value: Value | None) -> bool:
    """Whether the value is one finite number everywhere."""
    found = number(value)
    return found is not None and bool(np.isfinite(found))
