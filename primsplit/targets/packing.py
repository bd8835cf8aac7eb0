"""Tell whether onnxruntime packs large constant matrices for nothing.

A session keeps each constant matrix of a product a second time, in the order in which its kernel reads it; a gradient
that reads the transposed matrix keeps a third. For one row the kernel does not profit, and for many rows packing at
each run is a small part of the product: with 2,048 x 2,048 and float32 it takes 0.97 to 1.15 of the time for one row,
1.4 to 3 times for 2 to 64 rows, 1.0 to 1.05 from 512 rows on.
"""

import math

from primsplit.ir import Block, Const, Op, Value, Var, walk

LARGE = 2**26
"""The bytes of constant matrices whose second copy matters."""
FEW, MANY = 1, 512
"""The rows up to which, and from which on, packing gains little."""


def packs_for_nothing(block: Block) -> bool:
    """Whether the block has large constant matrices, and no product for which packing them helps."""
    ops = [*walk(block)]
    turned = {op.outputs[0]: op.inputs[0] for op in ops if op.kind in {"Transpose", "Identity"}}
    total, seen = 0, set[int]()
    for op in ops:
        if op.kind not in {"MatMul", "Gemm"} or (matrix := _constant(op.inputs[1], turned)) is None:
            continue
        rows = _rows(op)
        if rows is None or FEW < rows < MANY:
            return False
        size = matrix.type.literal_nbytes()
        if id(matrix) not in seen and size is not None:
            total += size
        seen.add(id(matrix))
    return total >= LARGE


def _constant(value: Value | None, turned: dict[Var, Value | None]) -> Const | None:
    """Return the constant that a value is, or is the transpose of."""
    while isinstance(value, Var) and value in turned:
        value = turned[value]
    return value if isinstance(value, Const) else None


def _rows(op: Op) -> int | None:
    """Return the rows of the matrix that a product multiplies by its second operand; None if they are unknown."""
    first = op.inputs[0]
    shape = None if first is None else first.type.shape
    if shape is None:
        return None
    kept = shape[1:] if op.attributes.get("transA") else shape[:-1]
    sizes = [d for d in kept if isinstance(d, int)]
    return math.prod(sizes) if len(sizes) == len(kept) else None
