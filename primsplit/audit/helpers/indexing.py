"""Reading and writing of elements at places, as ONNX defines them."""

from typing import Any

import numpy as np

from primsplit.ir import AnyArray


def slice_along(a: AnyArray, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> AnyArray:
    """Return a part of an array: from starts to ends, in steps, along axes."""
    index = [slice(None)] * a.ndim
    for i, axis in enumerate(range(len(starts)) if axes is None else axes):
        step = 1 if steps is None else int(steps[i])
        end = int(ends[i])
        index[axis] = slice(int(starts[i]), None if end < -(2**31) and step < 0 else end, step)
    return a[tuple(index)]


def gather_elements(a: AnyArray, places: AnyArray, axis: int = 0) -> AnyArray:
    """Return for each place the element there along an axis."""
    index: list[Any] = list(np.indices(places.shape, sparse=True))
    index[axis] = places
    found: AnyArray = a[tuple(index)]
    return found


def gather_nd(a: AnyArray, places: AnyArray, batch_dims: int = 0) -> AnyArray:
    """Return the parts of an array at places, each a vector of positions along its first axes."""
    batch: Any = np.indices(places.shape[:batch_dims], sparse=True)
    behind = (1,) * (places.ndim - 1 - batch_dims)
    first = [i.reshape(i.shape + behind) for i in batch]
    found: AnyArray = a[(*first, *np.moveaxis(places, -1, 0))]
    return found


def scatter_nd(a: AnyArray, places: AnyArray, updates: AnyArray, reduction: str = "none") -> AnyArray:
    """Return a copy of an array in which parts at places are replaced, or combined with updates."""
    return written(a, tuple(np.moveaxis(places, -1, 0)), updates, reduction)


def scatter_elements(
    a: AnyArray, places: AnyArray, updates: AnyArray, axis: int = 0, reduction: str = "none"
) -> AnyArray:
    """Return a copy of an array in which elements at places along an axis are replaced, or combined with updates."""
    index: list[Any] = list(np.indices(places.shape, sparse=True))
    index[axis] = places
    return written(a, tuple(index), updates, reduction)


def written(a: AnyArray, index: Any, updates: AnyArray, reduction: str) -> AnyArray:
    """Return a copy of an array with updates at an index."""
    found = np.array(a)
    if reduction == "none":
        found[index] = updates
    else:
        combine = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[reduction]
        combine.at(found, index, updates)
    return found
