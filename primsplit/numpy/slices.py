"""A function applied along axes: apply_along_axis, apply_over_axes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.array import Array, implements
from primsplit.broadcasting import reshape_to, transpose
from primsplit.dims import Size
from primsplit.errors import ConcretizationError, ShapeError
from primsplit.numpy.axes import array_like, one_axis
from primsplit.numpy.creation import asarray
from primsplit.numpy.joining import stack
from primsplit.numpy.layout import expand_dims
from primsplit.ops import op


@implements(np.apply_along_axis)
def apply_along_axis(func1d: Callable[..., Any], axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Array:
    """np.apply_along_axis: the function is traced once for each vector along the axis.

    The sizes of the other axes must be known when tracing; that of the axis itself need not be.
    """
    x = array_like(arr)
    place = one_axis(axis, x.ndim)
    others = [d for i, d in enumerate(x.shape) if i != place]
    counts = [_known(d) for d in others]
    if 0 in counts:
        raise ShapeError("Cannot apply_along_axis when any iteration dimensions are 0", place=tracing.user_place())
    moved = transpose(x, (*(i for i in range(x.ndim) if i != place), place))
    rows = reshape_to(moved, (int(np.prod(counts)), x.shape[place]))
    found = [
        asarray(func1d(op.Gather(rows, np.array(i), axis=0), *args, **kwargs)) for i in range(int(np.prod(counts)))
    ]
    joined = stack(found)
    inner = joined.shape[1:]
    whole = reshape_to(joined, (*others, *inner))
    lead, rank = len(others), len(others) + len(inner)
    return transpose(whole, (*range(place), *range(lead, rank), *range(place, lead)))


def _known(size: Any) -> int:
    if isinstance(size, Size):
        raise ConcretizationError(
            f"np.apply_along_axis calls its function once for each of {size} vectors, a number known only at run time",
            place=tracing.user_place(),
            cure="Write the function for whole arrays with an axis, loop with scan, or give the size in the spec.",
        )
    return int(size)


@implements(np.apply_over_axes)
def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Array:
    """np.apply_over_axes: one axis after the other; an axis that the function takes away comes back with size 1."""
    found = array_like(a)
    for axis in [axes] if np.ndim(axes) == 0 else axes:
        result = asarray(func(found, one_axis(axis, found.ndim)))
        if result.ndim == found.ndim - 1:
            result = expand_dims(result, one_axis(axis, found.ndim))
        if result.ndim != found.ndim:
            raise ShapeError("function is not returning an array of the correct shape", place=tracing.user_place())
        found = result
    return Array(found.value)
