"""Remove copies: ops read the input of an Identity instead of its output, so that later passes see past it.

```
y = Identity(x)
z = Exp(y)         ->   z = Exp(x)
```
"""

from primsplit.ir import Block, Op, Value
from primsplit.ir.runtimes import fault
from primsplit.rewrites.rewriting import Rewriter


@fault(
    "copy_dropped_beside_a_fused_quotient",
    kind="refuses",
    operators=("Identity", "Div", "Mul"),
    says="`(1 / x) * y` is rewritten as `y / x`; where y is a copy, the copy is then removed although it is read: "
    "the file does not load.",
)
def read_past_copies(block: Block) -> Block:
    """Return the block in which no op reads a copy; itself if there are none. Its results may be copies."""
    return _Copies().run(block)


class _Copies(Rewriter):
    """The walk. `ends` are the results of the blocks."""

    kinds = frozenset({"Identity"})

    def __init__(self) -> None:
        super().__init__()
        self.ends: set[Value] = set()

    def enter(self, block: Block) -> None:
        """Keep the copies that the block returns."""
        self.ends.update(block.results)

    def visit(self, op: Op) -> Op | None:
        """None for a copy: its readers read its input."""
        source = op.inputs[0] if op.kind == "Identity" else None
        if source is None or op.outputs[0] in self.ends:
            return super().visit(op)
        self.replaced[op.outputs[0]] = source
        return None
