"""SciPy's robust losses: Huber's and its smooth variant."""

import math

from primsplit.numpy.trigonometric import hypot
from primsplit.numpy.ufuncs import elementwise
from primsplit.ops import op
from primsplit.tracing.array import Array


@elementwise("huber", is_total=True)
def huber(delta: Array, r: Array) -> Array:
    """r**2 / 2 for |r| <= delta, delta (|r| - delta / 2) beyond; infinite for negative delta."""
    size = op.Abs(r)
    value = op.Where(size <= delta, r * r * 0.5, delta * (size - delta * 0.5))
    return op.Where(delta < 0.0, math.inf, value)


@elementwise("pseudo_huber", is_total=True)
def pseudo_huber(delta: Array, r: Array) -> Array:
    """delta (sqrt(delta**2 + r**2) - delta), as delta r**2 / (sqrt(delta**2 + r**2) + delta), which does not cancel."""
    none = op.And(op.Equal(delta, 0.0), op.Equal(r, 0.0))
    below = hypot(r, delta) * 0.5 + delta * 0.5  # halves, because the sum may overflow
    value = delta * (r * 0.5 * (r / op.Where(none, 1.0, below)))
    return op.Where(delta < 0.0, math.inf, value)
