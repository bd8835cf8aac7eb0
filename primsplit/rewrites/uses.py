"""What passes that recognize several ops together ask of a block: what makes a value, and what reads it."""

import math

from primsplit.ir import Block, Const, Op, Value, Var, readers
from primsplit.rewrites.rewriting import Rewriter


class Ops:
    """What makes a value, and what reads it."""

    def __init__(self, block: Block) -> None:
        self.made_by: dict[Var, Op] = {v: op for op in block.ops for v in op.outputs}
        self.readers = readers(block.ops, block.results)

    def op(self, value: Value | None, kind: str, reads: int = 1) -> Op | None:
        """The op of this kind that makes the value, where so many reads are all there are."""
        op = self.maker(value, kind)
        return op if isinstance(value, Var) and len(self.readers[value]) == reads else None

    def maker(self, value: Value | None, kind: str) -> Op | None:
        """The op of this kind that makes the value, whatever else reads it."""
        op = self.made_by.get(value) if isinstance(value, Var) else None
        return op if op is not None and op.kind == kind else None


class LookingUp(Rewriter):
    """A walk that looks at several ops together. `around` are the blocks that are being walked, from outside in."""

    def __init__(self) -> None:
        super().__init__()
        self.around: list[Ops] = []

    def enter(self, block: Block) -> None:
        """Look over the block."""
        self.around.append(Ops(block))

    def leave(self, block: Block) -> None:
        """Forget it."""
        self.around.pop()

    @property
    def ops(self) -> Ops:
        """Those of the block that is being walked, as they were before."""
        return self.around[-1]


def is_number(value: Value | None, number: float) -> bool:
    """True for a scalar constant that is the number as far as its precision goes."""
    if not isinstance(value, Const) or value.is_weight or value.type.shape != () or not value.type.is_float:
        return False
    found = float(value.numpy())
    return math.isnan(found) if math.isnan(number) else abs(found - number) <= 1e-7 * number
