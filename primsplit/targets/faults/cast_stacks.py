"""Keep onnxruntime from fusing a Transpose into a product of stacks across a Cast.

```
MatMul(Cast(Transpose(x, [1,0,2])), y)   ->   MatMul(Squeeze(Unsqueeze(Cast(Transpose(x, [1,0,2])))), y)
```

onnxruntime 1.23 to 1.32 fuses a Transpose that moves the first axis into a product of stacks, also past a Cast, which
for 16 bits it puts there itself. The fused product has no type, and an operator with a constant after it ends the
process while the file is loaded.
"""

from primsplit.ir import Block, Op, Var
from primsplit.ir.runtimes import fault
from primsplit.rewrites.rewriting import Rewriter, reading_again
from primsplit.targets.faults.moved_transposes import Reached, moves_first


@fault(
    "transpose_fused_past_cast",
    kind="aborts",
    operators=("Transpose", "Cast", "MatMul"),
    says="A Transpose that moves the first axis is fused into a product of stacks past a Cast; an operator with a "
    "constant behind the product then ends the process while the file is loaded.",
    since="1.23",
)
def keep_cast_stacks(block: Block) -> Block:
    """Return the block with such operands of products kept apart from their Transposes; itself if there are none."""
    return _Apart().run(block)


class _Apart(Rewriter):
    """The walk. `moved` are values that a Transpose of the first axis may be moved to, `cast` those cast since."""

    kinds = frozenset({"MatMul"})

    def __init__(self) -> None:
        super().__init__()
        self.moved = Reached(moves_first)
        self.cast = Reached(lambda op: op.kind == "Cast" and self.moved.meets(op))

    def visit(self, op: Op) -> Op | None:
        """Return a product of stacks, after ops that recompute its operands."""
        self.moved.follow(op)
        self.cast.follow(op)
        if op.kind != "MatMul" or all(v is None or v.type.rank == 2 for v in op.inputs):
            return super().visit(op)
        suspected = [v for v in op.inputs if isinstance(v, Var) and self.is_suspected(v)]
        if not suspected:
            return super().visit(op)
        *made, product = reading_again(op, suspected)
        self.kept.extend(made)
        return product

    def is_suspected(self, value: Var) -> bool:
        """Whether an operand has been, or will be, cast after such a Transpose."""
        return value in self.cast or (value in self.moved and value.type.dtype.itemsize == 2)
