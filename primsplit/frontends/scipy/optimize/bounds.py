"""Bounds of unknowns, as scipy.optimize takes them."""

import math
from typing import Any, NamedTuple

import numpy as np

from primsplit import tracing
from primsplit.ir.errors import ShapeError
from primsplit.numpy.refusing import refusing
from primsplit.numpy.ufuncs import cast_to
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import array_like


class Box(NamedTuple):
    """Bounds of each unknown, [n] both, infinite where there is none."""

    low: Any
    high: Any

    def clipped(self, x: Any) -> Any:
        """`x` within the bounds."""
        return np.minimum(np.maximum(x, self.low), self.high)

    def is_free(self, x: Any, gradient: Any) -> Any:
        """Return where an unknown is not held at its bound."""
        held_low, held_high = (x <= self.low) & (gradient > 0), (x >= self.high) & (gradient < 0)
        return ~(held_low | held_high)


def box_of(bounds: Any, start: Array) -> Box:
    """The bounds as arrays. Raises ShapeError for another number of pairs."""
    if hasattr(bounds, "lb"):
        low, high = bounds.lb, bounds.ub
    else:
        pairs = list(bounds)
        if len(pairs) != start.shape[0]:
            raise ShapeError(f"{len(pairs)} bounds for {start.shape[0]} unknowns", place=tracing.user_place())
        low = np.stack([array_like(-math.inf if a is None else a) * 1.0 for a, _ in pairs])
        high = np.stack([array_like(math.inf if b is None else b) * 1.0 for _, b in pairs])
    ones = start * 0.0
    low, high = (cast_to(array_like(b), np.float64) + ones for b in (low, high))
    crossed = ValueError("An upper bound is less than the corresponding lower bound.")
    return Box(refusing(low, low > high, crossed), high)
