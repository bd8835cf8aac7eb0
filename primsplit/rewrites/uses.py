"""Look up the op that defines a value, and the ops that read it, for rewrites that match several ops together."""

import math

from primsplit.ir import Block, Const, Op, Value, Var, readers
from primsplit.rewrites.rewriting import Rewriter


class Ops:
    """The op that defines each value, and the ops that read it; `is_outermost` unless the block is inside of an op."""

    def __init__(self, block: Block, *, is_outermost: bool = True) -> None:
        self.is_outermost = is_outermost
        self.made_by: dict[Var, Op] = {v: op for op in block.ops for v in op.outputs}
        self.readers = readers(block.ops, block.results)

    def op(self, value: Value | None, kind: str, reads: int = 1) -> Op | None:
        """Return the op of this kind that defines the value, if the value has so many readers."""
        op = self.maker(value, kind)
        return op if isinstance(value, Var) and len(self.readers[value]) == reads else None

    def maker(self, value: Value | None, kind: str) -> Op | None:
        """Return the op of this kind that defines the value, whatever else reads it."""
        op = self.made_by.get(value) if isinstance(value, Var) else None
        return op if op is not None and op.kind == kind else None


class LookingUp(Rewriter):
    """A walk that looks at several ops together. `around` are the blocks that are being walked, from outside in."""

    def __init__(self) -> None:
        super().__init__()
        self.around: list[Ops] = []

    def enter(self, block: Block) -> None:
        """Look over the block."""
        self.around.append(Ops(block, is_outermost=not self.around))

    def leave(self, block: Block) -> None:
        """Forget it."""
        self.around.pop()

    @property
    def ops(self) -> Ops:
        """The ops of the block that is being walked, as they were before."""
        return self.around[-1]


def is_number(value: Value | None, number: float) -> bool:
    """Whether it is a scalar constant that is the number as far as its precision goes."""
    if not isinstance(value, Const) or value.is_weight or value.type.shape != () or not value.type.is_float:
        return False
    found = float(value.numpy())
    return math.isnan(found) if math.isnan(number) else abs(found - number) <= 1e-7 * number
