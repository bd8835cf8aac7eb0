"""Implements NumPy's `order=`: the order in which elements are read, and how a new array lies in memory."""

from primsplit import tracing
from primsplit.ir.errors import TraceError
from primsplit.tracing.array import Array


def order_name(order: str | None) -> str:
    """The order that NumPy was asked for, "C", "F", "A" or "K"; None is "C". Raises ValueError for another."""
    name = "C" if order is None else order.upper()
    if name not in {"C", "F", "A", "K"}:
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    return name


def reading_order(order: str | None, x: Array) -> str:
    """Return the order in which the elements of `x` are read, "C" or "F".

    Raises TraceError if it depends on their memory.
    """
    name = order_name(order)
    if name in {"C", "F"}:
        return name
    if not x.contiguous and x.ndim > 1:
        raise TraceError(
            f"order={order!r} reads elements as they lie in memory, which a program does not know",
            place=tracing.user_place(),
            cure='Write order="C", or order="F" for a transposed array.',
        )
    return "C"
