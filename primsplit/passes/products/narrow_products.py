"""Products of a few rows with a large matrix are computed the other way round, so that the matrix is read as it lies.

onnxruntime packs the right matrix of a float32 product at each call, which for few rows costs as much as the product
itself; the left one it reads in place. So `x @ w.T` becomes `(w @ x.T).T`, at 0.75 to 0.9 of the time where the rows of
x are a multiple of the 16 that its kernel takes at once. In a loop, where the right matrix comes from outside and is
not transposed, it is transposed once before the loop. Matrices that are constant are left: they are packed beforehand.
"""

from collections.abc import Mapping

import numpy as np

from primsplit.ir import Block, Const, Op, Type, Value, Var
from primsplit.passes.rewriting import Rewriter

ROWS = (16, 32, 48, 64)
LARGE = 128
"""Rows and columns from which on a matrix is costly to pack."""
LOOPS = frozenset({"Scan", "Loop"})


def swap_narrow_products(block: Block) -> Block:
    """The block with narrow products swapped; sizes that are not known stay as they are."""
    return _Narrow().run(block)


class _Narrow(Rewriter):
    """The walk; `around` is what precedes the innermost loop, `own` the values of its body."""

    kinds = frozenset({"MatMul", "Gemm"})

    def __init__(self) -> None:
        super().__init__()
        self.around: list[Op] | None = None
        self.own: set[Value | None] = set()
        self.turned: dict[Value, Var] = {}

    def read(self, op: Op) -> Op:
        """The op with its blocks rewritten; a loop's body may put transposes before the loop."""
        if op.kind not in LOOPS:
            return super().read(op)
        outside = self.around, self.own, self.turned
        self.around, self.own, self.turned = self.kept, set(), {}
        found = super().read(op)
        self.around, self.own, self.turned = outside
        return found

    def enter(self, block: Block) -> None:
        """The parameters of a body are its own."""
        self.own.update(block.params)

    def visit(self, op: Op) -> Op | None:
        """A narrow product as the transpose of a product, else the op."""
        self.own.update(op.outputs)
        if op.kind == "Gemm" and len(op.inputs) == 2 and _transposes(op.attributes) == (0, 1):
            narrow, large = op.inputs
            if _gains(narrow, large):
                return self.swapped(op, narrow, large)
        elif op.kind == "MatMul" and self.around is not None and op.inputs[1] not in self.own:
            narrow, large = op.inputs
            if _gains(narrow, large):
                return self.swapped(op, narrow, self.turned_outside(large, op))
        return super().visit(op)

    def turned_outside(self, matrix: Value | None, product: Op) -> Var:
        """The transpose of a matrix from outside the loop, computed before it."""
        assert matrix is not None
        assert self.around is not None
        if matrix not in self.turned:
            self.turned[matrix] = turned = _turned(matrix)
            self.around.append(product.beside("Transpose", (matrix,), (turned,), {"perm": (1, 0)}))
        return self.turned[matrix]

    def swapped(self, product: Op, narrow: Value | None, large: Value | None) -> Op:
        """`narrow @ large.T` as `(large @ narrow.T).T`; the Flatten keeps onnxruntime from undoing it."""
        swapped, apart = _turned(product.outputs[0]), _turned(product.outputs[0])
        self.kept.append(product.beside("Gemm", (large, narrow), (swapped,), {"transA": 0, "transB": 1}))
        self.kept.append(product.beside("Flatten", (swapped,), (apart,), {"axis": 1}))
        return product.beside("Transpose", (apart,), product.outputs, {"perm": (1, 0)})


def _transposes(attributes: Mapping[str, object]) -> tuple[object, object]:
    return attributes.get("transA", 0), attributes.get("transB", 0)


def _turned(matrix: Value) -> Var:
    shape = matrix.type.shape
    assert shape is not None
    return Var(Type(matrix.type.dtype, shape[::-1]))


def _gains(narrow: Value | None, large: Value | None) -> bool:
    """Whether these are float32 matrices of a few rows, and large."""
    if narrow is None or large is None or isinstance(large, Const):
        return False
    if any(v.type.rank != 2 or v.type.dtype != np.float32 for v in (narrow, large)):
        return False
    assert narrow.type.shape is not None
    assert large.type.shape is not None
    rows = narrow.type.shape[0]
    return isinstance(rows, int) and rows in ROWS and all(isinstance(n, int) and n >= LARGE for n in large.type.shape)
