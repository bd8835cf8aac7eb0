"""Products over an axis that may be empty: those that onnxruntime leaves as memory happened to be are zeroed.

onnxruntime 1.31.1 writes nothing to the result of a matrix times a vector, or of a stack of matrices with a Transpose
that it fuses into the product, where the axis that is summed over has no elements. Those of two matrices are zeros.
"""

import numpy as np

from primsplit import dims
from primsplit.ir import Block, Const, Op, Type, Value, Var
from primsplit.passes.rewriting import Rewriter


def zero_empty_products(block: Block) -> Block:
    """The block with zeros chosen in place of the products that onnxruntime does not write; itself without such."""
    return _Zeroing().run(block)


class _Zeroing(Rewriter):
    """The walk; `turned` are the results of Transposes."""

    def __init__(self) -> None:
        super().__init__()
        self.turned: set[Value] = set()

    def visit(self, op: Op) -> Op | None:
        """A product, and after it the choice of zeros where its axis is empty."""
        if op.kind == "Transpose":
            self.turned.update(op.outputs)
        if op.kind != "MatMul" or not self.is_unwritten(op):
            return super().visit(op)
        left, result = op.inputs[0], op.outputs[0]
        if left is None:
            return super().visit(op)
        product = Var(result.type, result.hint)
        size, is_empty = Var(Type(np.int64, (1,))), Var(Type(np.bool_, (1,)))
        axis = len(left.type.shape or ()) - 1
        zero = Const(np.zeros((), result.type.dtype))
        made = (
            op.beside("MatMul", op.inputs, (product,), op.attributes),
            op.beside("Shape", (left,), (size,), {"start": axis, "end": axis + 1}),
            op.beside("Equal", (size, Const(np.zeros(1, np.int64))), (is_empty,)),
            op.beside("Where", (is_empty, zero, product), (result,)),
        )
        self.kept.extend(made[:-1])
        return made[-1]

    def is_unwritten(self, op: Op) -> bool:
        """True for a product that would not be written if its axis were empty, which it may be."""
        left, right = op.inputs
        if left is None or right is None or left.type.shape is None or right.type.shape is None:
            return False
        size = left.type.shape[-1] if left.type.shape else 1
        if dims.above(size, 0):
            return False
        is_vector = len(right.type.shape) == 1
        is_stack = len(left.type.shape) > 2 or len(right.type.shape) > 2
        return is_vector or (is_stack and (left in self.turned or right in self.turned))
