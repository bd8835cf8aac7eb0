"""Products of a few rows with a large matrix are computed the other way round, so that the matrix is read as it lies.

onnxruntime packs the right matrix of a float32 product at each call, which for few rows costs as much as the product
itself; the left one it reads in place. So `x @ w.T` becomes `(w @ x.T).T`, at 0.75 to 0.9 of the time where the rows of
x are a multiple of the 16 that its kernel takes at once. In a loop, where the right matrix comes from outside and is
not transposed, it is transposed once before the loop. Matrices that are constant are left: they are packed beforehand.

So does `x.T @ y` of many rows become `(y.T @ x).T` where y has few columns, as the gradient of a last layer has: the
left one is turned in pieces, which takes the longer the wider it is, 0.45 to 0.9 of the time where it is the other.
"""

from collections.abc import Mapping

import numpy as np

from primsplit.ir import Block, Const, Op, Type, Value, Var
from primsplit.rewrites.rewriting import Rewriter, literal_shape

ROWS = (16, 32, 48, 64)
LARGE = 128
"""Rows and columns from which on a matrix is costly to pack."""
COLUMNS = range(2, 17)
"""So few columns y has in `x.T @ y`; one has a kernel of its own."""
WIDEST = 512
"""The most columns of x then."""
TALL = 256
"""Rows of both from which on it takes less."""
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
        elif op.kind == "Gemm" and len(op.inputs) == 2 and _transposes(op.attributes) == (1, 0) and _is_of_tall(op):
            return self.swapped(op, *op.inputs, transA=1, transB=0)
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

    def swapped(self, product: Op, left: Value | None, right: Value | None, *, transA: int = 0, transB: int = 1) -> Op:
        """`left @ right.T`, say, as `(right @ left.T).T`; the Flatten keeps onnxruntime from undoing it."""
        swapped, apart = _turned(product.outputs[0]), _turned(product.outputs[0])
        self.kept.append(product.beside("Gemm", (right, left), (swapped,), {"transA": transA, "transB": transB}))
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


def _is_of_tall(product: Op) -> bool:
    """Whether these are float32 matrices of many rows, the right one much narrower."""
    shapes = [None if v is None or v.type.dtype != np.float32 else literal_shape(v.type) for v in product.inputs]
    if any(shape is None or len(shape) != 2 for shape in shapes):
        return False
    (rows, wide), (_, narrow) = (shape for shape in shapes if shape is not None)
    return rows >= TALL and narrow in COLUMNS and narrow < wide <= WIDEST
