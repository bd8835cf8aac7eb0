"""Choices that meet: a transposed list adds what came through one side of a choice to what came through the other."""

from collections import Counter

from primsplit.ir import Block, Op, Value, Var, reads, same_types
from primsplit.passes.dead_code import drop_dead_code
from primsplit.passes.rewrites.table import number
from primsplit.passes.rewriting import Rewriter


def join_choices(block: Block) -> Block:
    """The block with `Where(c, x, 0) + Where(c, 0, y)` as `Where(c, x, y)`, where nothing else reads the two.

    A tangent may become -0.0 where it was 0.0, so that this is for derivatives alone.
    """
    found = _Joining().run(block)
    return block if found is block else drop_dead_code(found)


class _Joining(Rewriter):
    """The walk. `choices` are the Wheres of which one side is zero, `uses` how often each Var is read."""

    def __init__(self) -> None:
        super().__init__()
        self.choices: dict[Value | None, Op] = {}
        self.uses: Counter[Value | None] = Counter()

    def enter(self, block: Block) -> None:
        """Count what the block reads."""
        self.uses.update(v for op in block.ops for v in reads(op))
        self.uses.update(r for r in block.results if isinstance(r, Var))

    def visit(self, op: Op) -> Op | None:
        """A sum of two sides as one choice."""
        if op.kind == "Where" and any(_is_zero(side) for side in op.inputs[1:]):
            self.choices[op.outputs[0]] = op
        elif op.kind == "Add":
            first, second = (self.choices.get(v) if self.uses[v] == 1 else None for v in op.inputs)
            if first is not None and second is not None:
                return _joined(op, first, second) or _joined(op, second, first) or op
        return super().visit(op)


def _joined(total: Op, first: Op, second: Op) -> Op | None:
    """One choice for both, where the first is zero on the second side, and the second on the first."""
    condition, x, below = first.inputs
    other, above, y = second.inputs
    if condition is not other or not _is_zero(below) or not _is_zero(above):
        return None
    kept = total.outputs[0].type
    if not all(same_types(kept, op.outputs[0].type) for op in (first, second)):
        return None
    return total.beside("Where", (condition, x, y), total.outputs)


def _is_zero(value: Value | None) -> bool:
    found = number(value)
    return found is not None and bool(found == 0)
