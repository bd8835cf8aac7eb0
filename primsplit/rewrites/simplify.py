"""Algebra: ops that do nothing, or undo each other, are dropped.

Every rewrite gives the same bits, for every input (NaN and infinities included; the sign and payload of a NaN aside,
which IEEE 754 leaves open). So x * 1, x / 1, x - 0.0 and x + (-0.0) go, and x + 0.0 stays: it turns -0.0 into 0.0.
Two sums are not joined, and a factor is not moved, where that rounds differently. A value is only replaced by one of
provably the same type, so no size is assumed.
"""

from primsplit.ir import Block, Op, Value, Var, same_types
from primsplit.rewrites.rewrites import arithmetic, layout, pieces, selection
from primsplit.rewrites.rewrites.table import REWRITES, Rewritten, Site
from primsplit.rewrites.rewriting import Rewriter

families = (arithmetic, layout, pieces, selection)

DEPTH = 8
"""How often the result of a rewrite is looked at again."""


def simplify(block: Block) -> Block:
    """The block without ops that do nothing. What becomes unused by that stays for `drop_dead_code`."""
    return Simplifying().run(block)


class Simplifying(Rewriter):
    """The walk of `simplify`. `made_by` is the op that defines each Var so far."""

    def __init__(self) -> None:
        super().__init__()
        self.made_by: dict[Var, Op] = {}

    def visit(self, op: Op) -> Op | None:
        """The simplest form of the op; None where there is a value for it."""
        for _ in range(DEPTH):
            found = self.rewritten(op)
            if found is None:
                break
            if not isinstance(found, Op):
                if self.replace_all(op, found if isinstance(found, tuple) else (found,)):
                    return None
                break
            op = self.read(found)
        for var in op.outputs:
            self.made_by[var] = op
        return super().visit(op)

    def rewritten(self, op: Op) -> Rewritten:
        """What the first rewrite that fits makes of the op."""
        rewrites = REWRITES.get(op.kind)
        if rewrites is None:
            return None
        site = Site(op, self.made_by, self.add)
        for rewrite in rewrites:
            found = rewrite(site)
            if found is not None:
                return found
        return None

    def add(self, op: Op) -> None:
        """Visit an op that a rewrite made, and keep it before the op it was made for."""
        found = self.visit(self.read(op))
        if found is not None:
            self.kept.append(found)

    def replace_all(self, op: Op, values: tuple[Value, ...]) -> bool:
        """Let the values stand for the op's outputs, all or none."""
        pairs = list(zip(op.outputs, map(self.value, values), strict=True))
        return all(same_types(a.type, b.type) for a, b in pairs) and all(self.replace(a, b) for a, b in pairs)
