"""Dequantized values that are moved and then read in a branch or a loop: a copy is read there.

onnxruntime puts a pair of QuantizeLinear and DequantizeLinear behind each operator that only moves dequantized values,
before each operator that reads it. One that reads it inside of its bodies has no input there, and the process ends
while the file is loaded.
"""

from dataclasses import replace

from primsplit.ir import Block, Op, Value, Var, free
from primsplit.ir.runtimes import fault
from primsplit.rewrites.rewriting import Rewriter

MOVES = frozenset({"Reshape", "Transpose", "Squeeze", "Unsqueeze", "Slice", "MaxPool"})
"""What onnxruntime moves a DequantizeLinear past."""


@fault(
    "moved_dequantized_value_in_body",
    kind="aborts",
    operators=("DequantizeLinear", "If", "Loop", "Scan"),
    says="A dequantized value that is moved (Reshape, Transpose, ...) and then read inside a branch or a loop ends "
    "the process while the file is loaded.",
)
def copy_captured_dequantized(block: Block) -> Block:
    """The block with a copy of each such value that a body captures; itself without such."""
    return _Copying().run(block)


class _Copying(Rewriter):
    """The walk. `dequantized` are such values, moved or not; `captured` is what bodies read of the blocks around."""

    kinds = frozenset({"DequantizeLinear"})

    def __init__(self) -> None:
        super().__init__()
        self.dequantized: set[Value | None] = set()
        self.captured: set[Value] = set()

    def enter(self, block: Block) -> None:
        """Note what the bodies in this block read of it."""
        self.captured.update(v for op in block.ops for body in op.blocks() for v in free(body))

    def visit(self, op: Op) -> Op | None:
        """A move of a captured value, with a copy behind it: a sum of one term, which stays where it is."""
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
