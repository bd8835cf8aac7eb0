"""Applies a function along axes: apply_along_axis, apply_over_axes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import dims
from primsplit.ir.errors import ShapeError
from primsplit.numpy.axes import array_like, one_axis, reaching
from primsplit.numpy.creation import asarray
from primsplit.numpy.joining import stack
from primsplit.numpy.layout import expand_dims
from primsplit.ops import op
from primsplit.tracing.array import Array, implements
from primsplit.tracing.broadcasting import reshape_to, transpose
from primsplit.tracing.control.scanning import mapped


@implements(np.apply_along_axis)
def apply_along_axis(func1d: Callable[..., Any], axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Array:
    """np.apply_along_axis: the function is traced once for each vector along the axis.

    It is traced once for all of them, and mapped over them in a loop, where only the run knows how many there are.
    """
    x = array_like(arr)
    place = one_axis(axis, x.ndim)
    others = [d for i, d in enumerate(x.shape) if i != place]
    if any(dims.same(d, 0) for d in others):
        raise ShapeError("Cannot apply_along_axis when any iteration dimensions are 0", place=tracing.user_place())
    count = dims.product(others)
    moved = transpose(x, (*(i for i in range(x.ndim) if i != place), place))
    rows = reshape_to(moved, (count, x.shape[place]))

    def applied(row: Array) -> Array:
        return asarray(func1d(row, *args, **kwargs))

    if isinstance(count, int):
        joined = stack([applied(op.Gather(rows, np.array(i), axis=0)) for i in range(count)])
    else:
        joined = mapped(applied, reaching(rows, 0, 1))
    inner = joined.shape[1:]
    whole = reshape_to(joined, (*others, *inner))
    lead, rank = len(others), len(others) + len(inner)
    return transpose(whole, (*range(place), *range(lead, rank), *range(place, lead)))


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
