"""Derivative rules of products that sum over an axis."""

from primsplit.array import Array
from primsplit.broadcasting import sum_to
from primsplit.ops import op
from primsplit.rules.table import Pullback, rrule


def swap_last(x: Array) -> Array:
    """`x` with its last two axes swapped."""
    rank = len(x.shape)
    return op.Transpose(x, perm=[*range(rank - 2), rank - 1, rank - 2])


@rrule("MatMul")
def matmul(a: Array, b: Array) -> tuple[Array, Pullback]:
    """dA = dy B^T, dB = A^T dy; a 1-D operand is a row or a column."""
    y = op.MatMul(a, b)

    def pullback(dy: Array) -> tuple[Array, Array]:
        wide_a = op.Unsqueeze(a, [0]) if len(a.shape) == 1 else a
        wide_b = op.Unsqueeze(b, [1]) if len(b.shape) == 1 else b
        wide = dy if len(b.shape) > 1 else op.Unsqueeze(dy, [-1])
        wide = wide if len(a.shape) > 1 else op.Unsqueeze(wide, [-2])
        da = sum_to(op.MatMul(wide, swap_last(wide_b)), wide_a.shape)
        db = sum_to(op.MatMul(swap_last(wide_a), wide), wide_b.shape)
        return (
            op.Squeeze(da, [0]) if len(a.shape) == 1 else da,
            op.Squeeze(db, [1]) if len(b.shape) == 1 else db,
        )

    return y, pullback
