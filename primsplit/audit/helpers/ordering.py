"""Greatest elements in order, and arrays of ones at places."""

from typing import Any

import numpy as np

from primsplit.ir import AnyArray


def top_k(a: AnyArray, count: Any, axis: int = -1, largest: int = 1) -> Any:
    """Return the greatest or least elements along an axis in order, and their places; of equal ones the first."""
    wanted = -a if largest and a.dtype.kind == "f" else ~a if largest else a
    places = np.argsort(wanted, axis=axis, kind="stable")
    places = np.take(places, range(int(np.reshape(count, ()))), axis=axis)
    return np.take_along_axis(a, places, axis=axis), places


def one_hot(places: AnyArray, depth: Any, values: AnyArray, axis: int = -1) -> AnyArray:
    """Return the second value at places along a new axis of length `depth`, the first one elsewhere."""
    count = int(np.reshape(depth, ()))
    own = np.expand_dims(np.asarray(places), axis)
    axis = axis % own.ndim
    steps = np.arange(count).reshape(-1, *[1] * (own.ndim - 1 - axis))
    is_there = (np.where(own < 0, own + count, own) == steps) & (own >= -count) & (own < count)
    found: AnyArray = np.where(is_there, values[1], values[0])
    return found


def depth_to_space(a: AnyArray, blocksize: int, mode: str = "DCR") -> AnyArray:
    """Return an array in which channels are moved into blocks of places."""
    n, c, h, w = a.shape
    inner = c // blocksize**2
    if mode == "DCR":
        moved = a.reshape(n, blocksize, blocksize, inner, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        moved = a.reshape(n, inner, blocksize, blocksize, h, w).transpose(0, 1, 4, 2, 5, 3)
    return moved.reshape(n, inner, h * blocksize, w * blocksize)


def space_to_depth(a: AnyArray, blocksize: int, mode: str = "DCR") -> AnyArray:
    """Return an array in which blocks of places are moved into channels."""
    n, c, h, w = a.shape
    blocks = a.reshape(n, c, h // blocksize, blocksize, w // blocksize, blocksize)
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    return blocks.transpose(order).reshape(n, c * blocksize**2, h // blocksize, w // blocksize)


def reverse_sequence(a: AnyArray, lengths: Any, batch_axis: int = 1, time_axis: int = 0) -> AnyArray:
    """Return an array in which the first steps of each sequence of a batch are in reverse order."""
    found = np.array(a)
    for i, length in enumerate(lengths):
        own = np.moveaxis(found, (batch_axis, time_axis), (0, 1))[i]
        own[:length] = own[:length][::-1].copy()
    return found


def eye_like(a: AnyArray, dtype: Any, k: int = 0) -> AnyArray:
    """Return ones on a diagonal, zeros elsewhere."""
    rows, columns = a.shape
    found: AnyArray = np.eye(rows, columns, k=k, dtype=dtype)
    return found
