"""Build positions along an axis, and its size, which may be known only at run time."""

from collections.abc import Sequence

import numpy as np

from primsplit.ops import op
from primsplit.tracing.array import Array


def size(x: Array, axis: int) -> Array:
    """Return the size of an axis, as int64[1]. The axis counts from the front."""
    return op.Shape(x, start=axis, end=axis + 1)


def positions(count: Array) -> Array:
    """Return 0, 1, ..., count - 1 for a count int64[1]."""
    return op.Range(np.int64(0), op.Squeeze(count, np.array([0])), np.int64(1))


def along(vector: Array, axis: int, rank: int) -> Array:
    """Return a vector as an array of this rank that varies along one axis only."""
    others = [i for i in range(rank) if i != axis]
    return op.Unsqueeze(vector, np.array(others)) if others else vector


def from_front(axis: int, rank: int) -> int:
    """Return an axis that may count from the back, counted from the front."""
    return axis + rank if axis < 0 else axis


def vector(numbers: Sequence[int]) -> np.ndarray:
    """Return an int64 vector of constants."""
    return np.array(numbers, np.int64)
