"""Lists of arrays."""

from typing import Any

import numpy as np

from primsplit.ir import AnyArray


def erased(items: list[AnyArray], place: int) -> list[AnyArray]:
    """Return a list without the item at a place."""
    place = place % len(items)
    return [*items[:place], *items[place + 1 :]]


def sequence_of(a: AnyArray, sizes: Any = None, axis: int = 0, keepdims: int = 1) -> list[AnyArray]:
    """Return the parts of an array along an axis, each of one size or of its own; without sizes, of size 1."""
    if sizes is None:
        items = np.split(a, a.shape[axis], axis=axis)
        return items if keepdims else [np.squeeze(item, axis=axis) for item in items]
    if np.ndim(sizes) == 0:
        return np.split(a, range(int(sizes), a.shape[axis], int(sizes)), axis=axis)
    return np.split(a, np.cumsum(sizes)[:-1], axis=axis)
