"""Copy dequantized values that are moved and then read in a branch or a loop, and let these read the copy.

```
y = Transpose(DequantizeLinear(q));  If(c): Exp(y)   ->   t = Transpose(...);  y = Sum(t);  If(c): Exp(y)
```

onnxruntime puts a pair of QuantizeLinear and DequantizeLinear after each operator that only moves dequantized values,
before each operator that reads it. One that reads it inside of its bodies has no such input, and the process ends while
the file is loaded.
"""

from dataclasses import replace

from primsplit.ir import Block, Op, Value, Var, free
from primsplit.ir.runtimes import fault
from primsplit.rewrites.rewriting import Rewriter

MOVES = frozenset({"Reshape", "Transpose", "Squeeze", "Unsqueeze", "Slice", "MaxPool"})
"""Operators past which onnxruntime moves a DequantizeLinear. No trait: a choice of onnxruntime."""


@fault(
    "moved_dequantized_value_in_body",
    kind="aborts",
    operators=("DequantizeLinear", "If", "Loop", "Scan"),
    says="A dequantized value that is moved (Reshape, Transpose, ...) and then read inside a branch or a loop ends "
    "the process while the file is loaded.",
)
def copy_captured_dequantized(block: Block) -> Block:
    """Return the block with a copy of each such value that a body captures; itself if there are none."""
    return _Copying().run(block)


class _Copying(Rewriter):
    """The walk. `dequantized` are such values, moved or not; `captured` are the Vars that bodies read from around."""

    kinds = frozenset({"DequantizeLinear"})

    def __init__(self) -> None:
        super().__init__()
        self.dequantized: set[Value | None] = set()
        self.captured: set[Value] = set()

    def enter(self, block: Block) -> None:
        """Note which Vars of this block its bodies read."""
        self.captured.update(v for op in block.ops for body in op.blocks() for v in free(body))

    def visit(self, op: Op) -> Op | None:
        """Return a move of a captured value, then its copy: a sum of one term, which onnxruntime leaves in place."""
        is_move = op.kind in MOVES and op.inputs[0] in self.dequantized
        if not is_move and op.kind != "DequantizeLinear":
            return super().visit(op)
        self.dequantized.update(op.outputs)
        result = op.outputs[0]
        if not is_move or result not in self.captured:
            return super().visit(op)
        made = Var(result.type, sizes=result.sizes)
        self.kept.append(replace(op, outputs=(made, *op.outputs[1:])))
        return op.beside("Sum", (made,), (result,))
