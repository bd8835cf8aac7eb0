"""Write products of a matrix and a vector with the vector as a column, where that is safer.

```
MatMul(Transpose(x), v)   ->   Squeeze(MatMul(Transpose(x), Unsqueeze(v, [1])), [1])
```

onnxruntime 1.31.1 fuses a Transpose of the last two axes into the MatMul that reads it, and if the other operand is a
vector the fused product is wrong: other numbers, no error. It refuses the product of a matrix without rows, or of a
stack without matrices, and a vector. With a column either is right.
"""

import numpy as np

from primsplit.ir import Block, Const, Op, Type, Value, Var, dims
from primsplit.ir.dims import Shape
from primsplit.ir.runtimes import OLDEST, Runtime, fault
from primsplit.rewrites.rewriting import Rewriter


@fault(
    "transpose_fused_into_product_with_vector",
    kind="wrong",
    operators=("Transpose", "MatMul"),
    says="The product of a transposed matrix and a vector is computed without the Transpose: other numbers, or an "
    "error.",
)
@fault(
    "matrix_of_no_rows_times_vector",
    kind="refuses",
    operators=("MatMul",),
    says="The product of a matrix without rows and a vector is refused when it runs.",
    before="1.32",
)
def write_vectors_as_columns(block: Block, runtime: Runtime = OLDEST, *, is_function: bool = False) -> Block:
    """Return the block without products of a vector and something transposed or without rows; itself if it has none.

    A function's inputs may be transposed where it is called.
    """
    return _Columns(runtime, is_function=is_function).run(block)


class _Columns(Rewriter):
    """The walk; `turned` are the results of Transposes."""

    kinds = frozenset({"MatMul"})

    def __init__(self, runtime: Runtime, *, is_function: bool) -> None:
        super().__init__()
        self.runtime = runtime
        self.turned: set[Value] = set()
        self.is_function = is_function

    def enter(self, block: Block) -> None:
        """Note the inputs of a function: they may come from a Transpose outside."""
        if self.is_function:
            self.turned.update(block.params)

    def visit(self, op: Op) -> Op | None:
        """Return a product with a vector as: the vector as a column, the product, and the column removed."""
        if op.kind == "Transpose":
            self.turned.update(op.outputs)
        if op.kind != "MatMul":
            return super().visit(op)
        left, right = op.inputs
        result = op.outputs[0]
        if left is None or right is None or right.type.rank != 1 or right.type.shape is None or not left.type.shape:
            return super().visit(op)
        if not (self.is_fused(left) or self.is_refused(left.type.shape)):
            return super().visit(op)
        column = Var(Type(right.type.dtype, (*right.type.shape, 1)))
        product = Var(Type(result.type.dtype, (*left.type.shape[:-1], 1)))
        last = Const(np.array([len(left.type.shape) - 1]))
        self.kept.append(op.beside("Unsqueeze", (right, Const(np.array([1]))), (column,)))
        self.kept.append(op.beside("MatMul", (left, column), (product,), op.attributes))
        return op.beside("Squeeze", (product, last), op.outputs)

    def is_fused(self, left: Value) -> bool:
        """Whether the value is the result of a Transpose, which may be fused into the product."""
        return left in self.turned and self.runtime.has("transpose_fused_into_product_with_vector")

    def is_refused(self, shape: Shape) -> bool:
        """Whether the matrix may have no rows."""
        return self.runtime.has("matrix_of_no_rows_times_vector") and not all(dims.above(d, 0) for d in shape[:-1])
