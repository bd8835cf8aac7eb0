"""Base classes of rewrites that round differently, and therefore rewrite only ops that derivatives alone need."""

from collections import Counter
from collections.abc import Sequence

from primsplit.ir import Block, Op, Value, Var, reads, walk
from primsplit.ir.analysis.dependence import needed
from primsplit.ir.analysis.orders import ops_of_values, role_of
from primsplit.ops.traits import traits
from primsplit.rewrites.rewriting import Rewriter


class OfDerivatives(Rewriter):
    """A walk over a block. `early` are the Vars that results outside of `gradients`, by position, need.

    A loop may carry values with their tangents, so that ops inside of it may be early or not.
    """

    def __init__(self, block: Block, gradients: Sequence[int]) -> None:
        super().__init__()
        ops = ops_of_values(block, gradients)
        read = {*block.results, *(v for op in ops for v in reads(op))}
        self.early: set[Var] = needed(ops, (v for op in ops for v in op.outputs if v in read or len(op.outputs) == 1))

    def read(self, op: Op) -> Op:
        """Return the op with its blocks rewritten, if they compute derivatives and do not recompute values."""
        if role_of(op.remark) == "computed again":
            self.early.update(v for block in op.blocks() for inner in walk(block) for v in inner.outputs)
        is_open = traits(op.kind).bodies and not all(v in self.early for v in op.outputs)
        # A function may compute with derivatives of its own: what makes these may be rewritten.
        is_of_rewritten = not self.replaced.keys().isdisjoint(reads(op))
        return super().read(op) if is_open or is_of_rewritten or self.early.isdisjoint(op.outputs) else op


class OfReadOnce(OfDerivatives):
    """A walk that knows the ops that `made` the current block's Vars so far, in order, and how often a Var is read."""

    def __init__(self, block: Block, gradients: Sequence[int]) -> None:
        super().__init__(block, gradients)
        self.uses: Counter[Value | None] = Counter()
        self.made: dict[Value | None, tuple[int, Op]] = {}
        self.around: list[dict[Value | None, tuple[int, Op]]] = []

    def enter(self, block: Block) -> None:
        """Forget the ops around the block: a loop would repeat them at each step."""
        self.uses.update(v for op in block.ops for v in reads(op))
        self.uses.update(r for r in block.results if isinstance(r, Var))
        self.around.append(self.made)
        self.made = {}

    def leave(self, block: Block) -> None:
        """Return to the block around."""
        self.made = self.around.pop()

    def visit(self, op: Op) -> Op | None:
        """Return the op, which is noted; override to replace it."""
        return self.noted(op)

    def noted(self, op: Op) -> Op:
        """Return the op, noted as the one that defines its results."""
        for var in op.outputs:
            self.made[var] = len(self.made), op
        return op

    def maker(self, value: Value | None, *kinds: str) -> Op | None:
        """Return the op of these kinds that defines a value for this one reader, in this block, if any."""
        _, op = self.made.get(value, (0, None))
        return op if op is not None and op.kind in kinds and self.uses[value] == 1 else None

    def keep(self, op: Op) -> None:
        """Put an op, whose results are read once, before the one that is visited."""
        self.uses.update(op.outputs)
        self.kept.append(self.noted(op))
