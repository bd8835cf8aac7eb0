"""The walk of passes that round otherwise, so that they are for what only derivatives need."""

from collections.abc import Sequence

from primsplit.ir import Block, Op, Var
from primsplit.orders import ops_of_values
from primsplit.passes.rewriting import Rewriter


class OfDerivatives(Rewriter):
    """A walk over a block. `early` are the Vars of what results need that are not in `gradients`, by position."""

    def __init__(self, block: Block, gradients: Sequence[int]) -> None:
        super().__init__()
        self.early: set[Var] = {v for op in ops_of_values(block, gradients) for v in op.outputs}

    def read(self, op: Op) -> Op:
        """The op with its blocks rewritten; those of a value's loops and branches are left."""
        return super().read(op) if self.early.isdisjoint(op.outputs) else op
