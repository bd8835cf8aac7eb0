"""Combine arrays of short rows with columns or with one row at full length.

```
Add(x: [10000,3], column: [10000,1])   ->   Add(x, Transpose(Expand(Reshape(column, [1,10000]), [3,10000])))
Add(x: [10000,3], row: [3])            ->   Reshape(Add(Reshape(x, [80,375]), Tile(row, 125)), [10000,3])
```

onnxruntime broadcasts along the rows or columns of `x[n, k]` row by row, 6 to 12 ns each, however few numbers a row
has: ten times as long as the operation itself. A column is expanded to as many rows before it is transposed, which is
two copies of memory, once for all ops that read it; one row is repeated to some hundreds of numbers beside `x` as a
matrix of as many columns, which is a view.
"""

import math
from collections.abc import Sequence

import numpy as np

from primsplit.ir import Block, Const, Op, Type, Value, Var
from primsplit.rewrites.columns_of_numbers import KINDS
from primsplit.rewrites.rewriting import Rewriter, literal_shape

SHORT = 8
"""The longest rows for which this is faster."""
MANY = 2**12
"""The number of rows from which on it is."""
NARROW = 32
"""The most bytes of a row along which a column is expanded: transposing longer ones takes as long as it saves."""
LONG = 512
"""About the length of one row that is repeated."""


def lengthen_rows(block: Block) -> Block:
    """Return the block with such operators on arrays of one shape; itself if there are none."""
    return _Lengthening().run(block)


class _Lengthening(Rewriter):
    """The walk. `spread` are columns at full length, by the length of the rows, in the blocks from outside in."""

    kinds = KINDS

    def __init__(self) -> None:
        super().__init__()
        self.spread: list[dict[tuple[Value, int], Var]] = []

    def enter(self, block: Block) -> None:
        """Keep columns that a block expands until its end."""
        self.spread.append({})

    def leave(self, block: Block) -> None:
        """Forget them."""
        self.spread.pop()

    def visit(self, op: Op) -> Op | None:
        """Return the op on arrays of one shape, or the view of its result."""
        shape = literal_shape(op.outputs[0].type) if op.kind in KINDS and len(op.outputs) == 1 else None
        if shape is None or len(shape) < 2 or not 1 < shape[-1] <= SHORT or math.prod(shape[:-1]) < MANY:
            return super().visit(op)
        forms = [_form(v, shape) for v in op.inputs if v is not None]
        if len(forms) < len(op.inputs) or "other" in forms or {"column", "row"}.isdisjoint(forms):
            return super().visit(op)
        inputs = [v for v in op.inputs if v is not None]
        if any(
            f == "column" and v.type.dtype.itemsize * shape[-1] > NARROW for v, f in zip(inputs, forms, strict=True)
        ):
            return super().visit(op)
        width = _width(shape) if "row" in forms else None
        if "row" in forms and (width is None or set(forms) <= {"row", "number"}):
            return super().visit(op)
        values = [self.spread_out(op, v, shape) if f == "column" else v for v, f in zip(inputs, forms, strict=True)]
        if width is None:
            return op.beside(op.kind, tuple(values), op.outputs, op.attributes)
        return self.beside_row(op, values, forms, width)

    def spread_out(self, op: Op, column: Value, shape: Sequence[int]) -> Var:
        """Return a column repeated along rows of a shape."""
        rows, length = math.prod(shape[:-1]), shape[-1]
        known = next((s[column, length] for s in self.spread if (column, length) in s), None)
        if known is not None and known.type.shape == tuple(shape):
            return known
        dtype = column.type.dtype
        line = self.add(op, "Reshape", (column, _sizes(1, rows)), (1, rows), dtype, allowzero=1)
        lines = self.add(op, "Expand", (line, _sizes(length, rows)), (length, rows), dtype)
        turned = self.add(op, "Transpose", (lines,), (rows, length), dtype, perm=[1, 0])
        made = turned if len(shape) == 2 else self.add(op, "Reshape", (turned, _sizes(*shape)), shape, dtype)
        self.spread[-1][column, length] = made
        return made

    def beside_row(self, op: Op, values: Sequence[Value], forms: Sequence[str], width: int) -> Op:
        """Return the op on arrays as matrices of so many columns, and on a row that is repeated along these."""
        result = op.outputs[0]
        shape = literal_shape(result.type) or ()
        wide = (math.prod(shape) // width, width)
        found = []
        for value, form in zip(values, forms, strict=True):
            dtype = value.type.dtype
            if form == "row":
                found.append(self.repeated(op, value, width))
            elif form == "number":
                found.append(value)
            else:
                found.append(self.add(op, "Reshape", (value, _sizes(*wide)), wide, dtype, allowzero=1))
        made = self.add(op, op.kind, found, wide, result.type.dtype, **op.attributes)
        return op.beside("Reshape", (made, _sizes(*shape)), op.outputs, {"allowzero": 1})

    def repeated(self, op: Op, row: Value, width: int) -> Value:
        """Return a row repeated as often as it fits."""
        if isinstance(row, Const) and row.number is not None:
            return Const(np.full((1, width), row.number))
        length = (literal_shape(row.type) or (1,))[-1]
        line = self.add(op, "Reshape", (row, _sizes(1, length)), (1, length), row.type.dtype, allowzero=1)
        return self.add(op, "Tile", (line, _sizes(1, width // length)), (1, width), row.type.dtype)

    def add(
        self, op: Op, kind: str, inputs: Sequence[Value], shape: Sequence[int], dtype: np.dtype, **attributes: object
    ) -> Var:
        """Return the result of an op before this one."""
        made = Var(Type(dtype, shape))
        self.kept.append(op.beside(kind, tuple(inputs), (made,), attributes))
        return made


def _form(value: Value, shape: Sequence[int]) -> str:
    """Return the role of an operand beside a result of a shape: "full", "column", "row", "number", or "other"."""
    own = literal_shape(value.type)
    if own is None:
        return "other"
    padded = (1,) * (len(shape) - len(own)) + own
    if padded == tuple(shape):
        return "full"
    if padded == (*shape[:-1], 1):
        return "column"
    if all(d == 1 for d in padded):
        return "number" if len(own) <= 2 else "other"
    return "row" if padded[-1] == shape[-1] and all(d == 1 for d in padded[:-1]) else "other"


def _width(shape: Sequence[int]) -> int | None:
    """Return a multiple of the length of a row, about `LONG`, that divides the array; None if there is none."""
    rows, length = math.prod(shape[:-1]), shape[-1]
    return next((length * n for n in range(LONG // length, LONG // length // 8, -1) if rows % n == 0), None)


def _sizes(*sizes: int) -> Const:
    return Const(np.array(sizes, np.int64))
