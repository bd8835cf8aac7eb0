"""NumPy's weighted quantiles: the first element at which the cumulative share of weights reaches the quantile."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir.errors import ShapeError
from primsplit.numpy.axes import array_like, joined_last, reduced, size_as
from primsplit.numpy.cumulative import cumsum
from primsplit.numpy.ordering import argsort
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.branching.raising import checked, zero_unless
from primsplit.tracing.broadcasting import expand_to, of_shape, reshape_to


def weighted_quantiles(x: Array, q: Any, weights: Any, axis: Any, axes: Sequence[int], *, skip_nan: bool) -> Array:
    """The quantiles along the axes of elements with weights, the places of `q` last.

    The gradient is that of the elements chosen. A run whose weights have no positive sum fails. Raises TypeError, or
    ShapeError for weights of another shape.
    """
    elements = joined_last(x, axes)
    w = joined_last(expand_to(_weights(array_like(weights), x, axis, axes), x.shape), axes)
    last = elements.ndim - 1
    order = argsort(elements, last)
    ordered, w = (op.GatherElements(v, order, axis=last) for v in (elements, w))
    missing = op.IsNaN(ordered) if x.type.is_float else None
    if skip_nan and missing is not None:
        w = op.Where(missing, np.zeros((), w.dtype), w)
    sums = cumsum(cast_to(w, np.float64), last)
    total = op.Slice(sums, [-1], [np.iinfo(np.int64).max], [last])
    shares = cast_to(op.Div(sums, total), q.dtype)
    shares = op.Where(op.Equal(shares, 0.0), -1.0, shares)  # what has no weight is not chosen for a quantile of 0
    below = op.Less(op.Unsqueeze(shares, [last]), op.Unsqueeze(array_like(q), [1]))
    places = reduced("ReduceSum", op.Cast(below, to=np.int64), (last + 1,), False)
    is_lost = op.Not(op.And(op.Greater(total, 0.0), op.Less(total, np.inf)))
    if skip_nan and missing is not None:
        every = reduced("ReduceMin", op.Cast(missing, to=np.int32), (last,), True)
        is_lost = op.And(is_lost, op.Equal(every, np.int32(0)))
    places = op.Add(places, zero_unless(is_lost, ValueError("At least one weight must be non-zero and finite")))
    places = op.Min(places, op.Sub(size_as(elements.shape[last], np.int64), 1))
    found = op.GatherElements(ordered, places, axis=last)
    if missing is None:
        return found
    lost = reduced("ReduceMin" if skip_nan else "ReduceMax", op.Cast(missing, to=np.int32), (last,), True)
    return op.Where(op.Greater(lost, 0), np.asarray(np.nan, found.dtype), found)


def _weights(w: Array, x: Array, axis: Any, axes: Sequence[int]) -> Array:
    """Weights that broadcast to `x`: of its shape, or of that of its axes in the order in which they are named."""
    w = checked(w, op.Less(w, 0), ValueError("Weights must be non-negative."))
    if w.ndim == x.ndim:
        return of_shape(w, x.shape)
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    if w.ndim != len(axes):
        told = "Shape of weights must be consistent with shape of a along specified axis."
        raise ShapeError(told, place=tracing.user_place())
    w = op.Transpose(of_shape(w, [x.shape[a] for a in axes]), perm=[int(i) for i in np.argsort(axes)])
    sizes = iter(w.shape)
    return reshape_to(w, tuple(next(sizes) if i in axes else 1 for i in range(x.ndim)))
