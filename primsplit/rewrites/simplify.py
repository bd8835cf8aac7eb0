"""Simplify: drop ops that do nothing, or undo each other.

```
Mul(Transpose(Transpose(x)), 1)   ->   x
```

Every rewrite gives the same bits, for every input (NaN and infinities included; the sign and payload of a NaN aside,
which IEEE 754 leaves open). So x * 1, x / 1, x - 0.0 and x + (-0.0) are dropped, and x + 0.0 stays: it turns -0.0 into
0.0. Two sums are not joined, and a factor is not moved, if that rounds differently. A value is only replaced by one of
provably the same type, so no size is assumed.
"""

from primsplit.ir import Block, Op, Value, Var, same_types
from primsplit.rewrites.rewrites import arithmetic, layout, pieces, selection
from primsplit.rewrites.rewrites.table import REWRITES, Rewritten, Site
from primsplit.rewrites.rewriting import Rewriter

families = (arithmetic, layout, pieces, selection)

DEPTH = 8
"""The most times that the result of a rewrite is simplified again."""


def simplify(block: Block) -> Block:
    """Return the block without ops that do nothing. Ops that nobody reads then are left to `drop_dead_code`."""
    return Simplifying().run(block)


class Simplifying(Rewriter):
    """The walk of `simplify`. `made_by` maps each Var so far to the op that defines it."""

    def __init__(self) -> None:
        super().__init__()
        self.made_by: dict[Var, Op] = {}

    def visit(self, op: Op) -> Op | None:
        """Return the simplest form of the op; None if a value replaces it."""
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
        """Return the result of the first rewrite that fits."""
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
        """Visit an op that a rewrite wrote, and keep it before the op it was written for."""
        found = self.visit(self.read(op))
        if found is not None:
            self.kept.append(found)

    def replace_all(self, op: Op, values: tuple[Value, ...]) -> bool:
        """Replace all of the op's outputs by these values, or none."""
        pairs = list(zip(op.outputs, map(self.value, values), strict=True))
        return all(same_types(a.type, b.type) for a, b in pairs) and all(self.replace(a, b) for a, b in pairs)
