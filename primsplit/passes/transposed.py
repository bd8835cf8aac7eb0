"""Products with a transposed matrix are written as Gemm, which reads the matrix as it lies in memory.

onnxruntime would fuse the Transpose into the MatMul by itself, but it puts the fused product at the end of the graph,
and with it changes the order of execution: all cotangents of a network would stay in memory until the last layer's
weight gradient is computed. A Gemm stays in its place.
"""

from primsplit.ir import Block, Op, Value
from primsplit.passes.dead_code import drop_dead_code
from primsplit.passes.rewriting import Rewriter

DTYPES = frozenset({"float32", "float64"})


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
                left, right = (self.turned.get(v, v) for v in op.inputs)
                attributes = {"transA": int(left is not op.inputs[0]), "transB": int(right is not op.inputs[1])}
                return Op("Gemm", (left, right), op.outputs, attributes, op.place, op.remark)
        return super().visit(op)


def _is_matrix(value: Value | None) -> bool:
    return value is not None and value.type.rank == 2 and value.type.dtype.name in DTYPES
