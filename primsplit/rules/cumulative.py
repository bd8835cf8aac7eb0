"""The derivative rule of running sums: the cotangent is summed from the other end."""

from primsplit.ops import op
from primsplit.rules.table import Pullback, rrule
from primsplit.tracing.array import Array


@rrule("CumSum")
def cumulative_sum(x: Array, axis: Array, *, exclusive: int, reverse: int) -> tuple[Array, Pullback]:
    """An element is in the sums at and after its place, so its cotangent is theirs summed from the other end."""
    z = op.CumSum(x, axis, exclusive=exclusive or None, reverse=reverse or None)

    def pullback(dz: Array) -> tuple[Array, None]:
        return op.CumSum(dz, axis, exclusive=exclusive or None, reverse=(1 - reverse) or None), None

    return z, pullback
