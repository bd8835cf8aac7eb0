"""Numbers in geometric progression: logspace and geomspace."""

from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir.errors import ShapeError
from primsplit.numpy.axes import array_like, as_size, size_as
from primsplit.numpy.creation import call_broadcast, linspace
from primsplit.numpy.joining import joined_dtype
from primsplit.numpy.layout import expand_dims, moveaxis
from primsplit.numpy.ufuncs import call_ufunc, cast_to
from primsplit.ops import op
from primsplit.tracing.array import Array, implements
from primsplit.tracing.branching.raising import checked
from primsplit.tracing.broadcasting import count_up, reshape_to


@implements(np.logspace)
def logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: npt.DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    """`base` to the power of `num` numbers evenly from `start` to `stop`; `num` may be a size."""
    root = array_like(base)
    first, last = array_like(start), array_like(stop)
    if root.ndim:
        rank = max(root.ndim, first.ndim, last.ndim)
        root, first, last = (reshape_to(a, ((1,) * (rank - a.ndim) + a.shape)) for a in (root, first, last))
        root = expand_dims(root, axis)
    found: Array = call_ufunc(np.power, root, linspace(first, last, num, endpoint=endpoint, axis=axis))
    return found if dtype is None else cast_to(found, dtype)


@implements(np.geomspace)
def geomspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: npt.DTypeLike | None = None, axis: int = 0
) -> Array:
    """`num` numbers in equal ratios from `start` to `stop`, which have one sign; the ends are exact."""
    first, last = array_like(start), array_like(stop)
    for end in (first, last):
        known = end.known()
        if known is not None and np.any(known == 0):
            raise ShapeError("Geometric sequence cannot include zero", place=tracing.user_place())
    zero = ValueError("Geometric sequence cannot include zero")
    first, last = (end if end.known() is not None else checked(end, op.Equal(end, 0), zero) for end in (first, last))
    result = np.dtype(dtype) if dtype is not None else np.result_type(joined_dtype([first, last]), np.float64)
    wide = np.result_type(joined_dtype([first, last]), np.float64)
    first, last = call_broadcast(cast_to(first, wide), cast_to(last, wide))
    sign = op.Sign(first)
    low, high = (call_ufunc(np.log10, op.Mul(end, sign)) for end in (first, last))
    values = op.Mul(logspace(low, high, num, endpoint=endpoint), sign)
    count = as_size(num)
    places = reshape_to(count_up(count), (count, *(1 for _ in first.shape)))
    if endpoint:
        final = op.And(op.Equal(places, size_as(count - 1, np.int64)), op.Greater(places, 0))
        values = op.Where(final, last, values)
    values = op.Where(op.Equal(places, 0), first, values)
    return cast_to(moveaxis(values, 0, axis) if axis else values, result)
