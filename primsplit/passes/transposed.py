"""Products with a transposed matrix are written as Gemm, which reads the matrix as it lies in memory.

onnxruntime would fuse the Transpose into the MatMul by itself, but it puts the fused product at the end of the graph,
and with it changes the order of execution: all cotangents of a network would stay in memory until the last layer's
weight gradient is computed. A Gemm stays in its place.

A float32 matrix on the left is turned again for every 128 columns of the product. Where these are many it is cheaper to
turn it once before: 0.83 to 0.96 of the time for the shapes that `WIDE` and `TALL` let through. A Flatten, which
changes nothing about a matrix, keeps onnxruntime from fusing the two again.
"""

import numpy as np

from primsplit.dims import Shape
from primsplit.ir import Block, Op, Value, Var
from primsplit.passes.dead_code import drop_dead_code
from primsplit.passes.rewriting import Rewriter

DTYPES = frozenset({"float32", "float64"})
WIDE = 512
"""Columns of a product from which on its left matrix is turned beforehand."""
TALL = 256
"""Rows of the product likewise."""
SHORT = 1024
"""Terms of each sum up to which the copy of the matrix is small beside the product."""


def gemm_of_transposed(block: Block) -> Block:
    """The block with each MatMul of two matrices, one at least a Transpose, as Gemm."""
    found = _Products().run(block)
    return block if found is block else drop_dead_code(found)


class _Products(Rewriter):
    """The walk; `turned` are the results of Transposes of matrices, and what was transposed."""

    def __init__(self) -> None:
        super().__init__()
        self.turned: dict[Value | None, Value | None] = {}

    def visit(self, op: Op) -> Op | None:
        """A product as Gemm where an operand is transposed."""
        if all(map(_is_matrix, op.inputs)):
            if op.kind == "Transpose" and op.attributes.get("perm", (1, 0))[0] == 1:
                self.turned[op.outputs[0]] = op.inputs[0]
            elif op.kind == "MatMul" and not self.turned.keys().isdisjoint(op.inputs):
                left, right = op.inputs
                copied = left in self.turned and _gains_by_copying(op)
                first = self._copied(op) if copied else self.turned.get(left, left)
                attributes = {"transA": int(left in self.turned and not copied), "transB": int(right in self.turned)}
                operands = (first, self.turned.get(right, right))
                return Op("Gemm", operands, op.outputs, attributes, op.place, op.remark)
        return super().visit(op)

    def _copied(self, product: Op) -> Var:
        """The transposed left matrix, in a shape that onnxruntime does not look through."""
        matrix = product.inputs[0]
        assert matrix is not None
        apart = Var(matrix.type)
        self.kept.append(Op("Flatten", (matrix,), (apart,), {"axis": 1}, product.place, product.remark))
        return apart


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
    return value is not None and value.type.rank == 2 and value.type.dtype.name in DTYPES
