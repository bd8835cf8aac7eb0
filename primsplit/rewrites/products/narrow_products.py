"""Swap products of a few rows with a large matrix, so that onnxruntime reads the matrix in place.

```
x @ w.T   ->   (w @ x.T).T      # x: float32[16,512], w: float32[512,512]
x.T @ y   ->   (y.T @ x).T      # x: float32[1024,256], y: float32[1024,8]
```

onnxruntime packs the right matrix of a float32 product at each call, which for few rows costs as much as the product
itself; the left one it reads in place. The first swap takes 0.75 to 0.9 of the time if the rows of x are a multiple of
the 16 that its kernel takes at once. In a loop, a right matrix from outside that is not transposed is transposed once
before the loop. Constant matrices are left: they are packed beforehand.

The second is for many rows and few columns of y, as in the gradient of a last layer: a transposed left matrix is packed
in pieces, which takes longer the wider it is. The swap takes 0.45 to 0.9 of the time.
"""

from collections.abc import Mapping

import numpy as np

from primsplit.ir import Block, Const, Op, Type, Value, Var
from primsplit.rewrites.rewriting import Rewriter, literal_shape

ROWS = (16, 32, 48, 64)
LARGE = 128
"""Rows and columns from which on a matrix is costly to pack."""
COLUMNS = range(2, 17)
"""The numbers of columns of y in `x.T @ y`; a single column has a kernel of its own."""
WIDEST = 512
"""The most columns of x then."""
TALL = 256
"""The number of rows of both from which on the swap is faster."""
LOOPS = frozenset({"Scan", "Loop"})


def swap_narrow_products(block: Block) -> Block:
    """Return the block with narrow products swapped; products of unknown sizes stay."""
    return _Narrow().run(block)


class _Narrow(Rewriter):
    """The walk; `around` are the ops before the innermost loop, `own` the values of its body."""

    kinds = frozenset({"MatMul", "Gemm"})

    def __init__(self) -> None:
        super().__init__()
        self.around: list[Op] | None = None
        self.own: set[Value | None] = set()
        self.turned: dict[Value, Var] = {}

    def read(self, op: Op) -> Op:
        """Return the op with its blocks rewritten; a loop's body may put transposes before the loop."""
        if op.kind not in LOOPS:
            return super().read(op)
        outside = self.around, self.own, self.turned
        self.around, self.own, self.turned = self.kept, set(), {}
        found = super().read(op)
        self.around, self.own, self.turned = outside
        return found

    def enter(self, block: Block) -> None:
        """Note the parameters of a body as its own."""
        self.own.update(block.params)

    def visit(self, op: Op) -> Op | None:
        """Return a narrow product as the transpose of a product, else the op."""
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
        """Return the transpose of a matrix from outside the loop, computed before it."""
        assert matrix is not None
        assert self.around is not None
        if matrix not in self.turned:
            self.turned[matrix] = turned = _turned(matrix)
            self.around.append(product.beside("Transpose", (matrix,), (turned,), {"perm": (1, 0)}))
        return self.turned[matrix]

    def swapped(self, product: Op, left: Value | None, right: Value | None, *, transA: int = 0, transB: int = 1) -> Op:
        """Return `left @ right.T`, say, as `(right @ left.T).T`; the Flatten keeps onnxruntime from undoing it."""
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
    """Whether these are float32 matrices, one of a few rows, the other large."""
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
