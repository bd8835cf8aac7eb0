"""Write products with a transposed matrix as Gemm, which reads the matrix as it lies in memory.

```
MatMul(x, Transpose(w))                    ->   Gemm(x, w, transB=1)
MatMul(x: [8,16,32], Transpose(w))         ->   Reshape(Gemm(Reshape(x, [128,32]), w, transB=1))
```

onnxruntime itself would fuse the Transpose into the MatMul, but it puts the fused product at the end of the graph,
which changes the order of execution: all cotangents of a network would stay in memory until the last layer's weight
gradient is computed. A Gemm stays in its place. A stack of matrices is one tall matrix, which costs two Reshapes.

A transposed float32 matrix on the left is packed again for every 128 columns of the product. If these are many, it is
cheaper to transpose it once before: 0.83 to 0.96 of the time for the shapes that `WIDE` and `TALL` let through. A
Flatten, which changes nothing about a matrix, keeps onnxruntime from fusing the two again.
"""

import numpy as np

from primsplit.ir import Block, Const, Op, Type, Value, Var, dims
from primsplit.ir.dims import Shape
from primsplit.rewrites.rewriting import Rewriter

DTYPES = frozenset({"float32", "float64"})
WIDE = 512
"""Columns of a product from which on its left matrix is transposed beforehand."""
TALL = 256
"""Rows of the product likewise."""
SHORT = 1024
"""Up to so many terms of each sum, the copy of the matrix is small beside the product."""


def gemm_of_transposed(block: Block) -> Block:
    """Return the block with each MatMul of two matrices, one at least a Transpose, as Gemm."""
    return _Products().run_and_drop(block)


class _Products(Rewriter):
    """The walk; `turned` maps the results of Transposes of matrices to their inputs."""

    kinds = frozenset({"MatMul"})

    def __init__(self) -> None:
        super().__init__()
        self.turned: dict[Value | None, Value | None] = {}

    def visit(self, op: Op) -> Op | None:
        """Return a product as Gemm if an operand is transposed."""
        if all(map(_is_matrix, op.inputs)):
            if op.kind == "Transpose" and op.attributes.get("perm", (1, 0))[0] == 1:
                self.turned[op.outputs[0]] = op.inputs[0]
            elif op.kind == "MatMul" and not self.turned.keys().isdisjoint(op.inputs):
                left, right = op.inputs
                copied = left in self.turned and _gains_by_copying(op)
                first = self._copied(op) if copied else self.turned.get(left, left)
                attributes = {"transA": int(left in self.turned and not copied), "transB": int(right in self.turned)}
                operands = (first, self.turned.get(right, right))
                return op.beside("Gemm", operands, op.outputs, attributes)
        elif op.kind == "MatMul" and op.inputs[1] in self.turned and (shapes := _flat(op)) is not None:
            return self._of_stack(op, *shapes)
        return super().visit(op)

    def _of_stack(self, product: Op, flat: Shape, whole: Shape) -> Op:
        """Return the product as one of two matrices, in shapes with at most one size that is not literal."""
        (left, right), (result,) = product.inputs, product.outputs
        assert left is not None
        rows = dims.product(_shape(left)[:-1])
        tall = Var(Type(left.type.dtype, (rows, _shape(left)[-1])))
        matrix = Var(Type(left.type.dtype, (rows, _shape(result)[-1])))
        self.kept.append(_reshaped(left, flat, tall, product))
        attributes = {"transA": 0, "transB": 1}
        self.kept.append(product.beside("Gemm", (tall, self.turned[right]), (matrix,), attributes))
        return _reshaped(matrix, whole, result, product)

    def _copied(self, product: Op) -> Var:
        """Return the transposed left matrix, in a shape that onnxruntime does not look through."""
        matrix = product.inputs[0]
        assert matrix is not None
        apart = Var(matrix.type)
        self.kept.append(product.beside("Flatten", (matrix,), (apart,), {"axis": 1}))
        return apart


def _reshaped(value: Value, shape: Shape, result: Var, product: Op) -> Op:
    sizes = Const(np.array(shape, np.int64))
    return product.beside("Reshape", (value, sizes), (result,), {"allowzero": 0})


def _flat(product: Op) -> tuple[Shape, Shape] | None:
    """Return the shapes of the left stack as a matrix and of the product, with -1 for the one size that is not literal.

    None if there are more, or if a literal is 0, which -1 cannot stand beside.
    """
    left, right = product.inputs
    if left is None or left.type.rank is None or left.type.rank < 3 or left.type.key[0] not in DTYPES:
        return None
    if not _is_matrix(right):
        return None
    *before, terms = _shape(left)
    leading = [d if isinstance(d, int) else -1 for d in before]
    columns = _shape(product.outputs[0])[-1]
    if not isinstance(terms, int) or not isinstance(columns, int) or leading.count(-1) > 1:
        return None
    if 0 in {*leading, terms, columns}:
        return None
    return (-1, terms), (*leading, columns)


def _gains_by_copying(product: Op) -> bool:
    """Whether the product is of float32 matrices of known sizes within the bounds."""
    rows, terms, columns = (*_shape(product.inputs[0]), _shape(product.inputs[1])[1])
    if not (isinstance(rows, int) and isinstance(terms, int) and isinstance(columns, int)):
        return False
    return product.outputs[0].type.dtype == np.float32 and rows >= TALL and terms <= SHORT and columns >= WIDE


def _shape(value: Value | None) -> Shape:
    assert value is not None
    assert value.type.shape is not None
    return value.type.shape


def _is_matrix(value: Value | None) -> bool:
    return value is not None and value.type.rank == 2 and value.type.key[0] in DTYPES
