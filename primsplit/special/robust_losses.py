"""SciPy's robust losses: Huber's and its smooth variant."""

import math

import numpy as np

from primsplit import tracing
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
    """delta**2 (sqrt(1 + v**2) - 1) with v = r / delta, as delta r v / (sqrt(1 + v**2) + 1), which does not cancel."""
    none = op.Equal(delta, 0.0)
    ratio = r / op.Where(none, 1.0, delta)
    value = delta * (r * (ratio / (hypot(ratio, Array(tracing.constant(np.ones((), r.dtype)))) + 1.0)))
    return op.Where(delta < 0.0, math.inf, op.Where(none, 0.0, value))
