"""Decompose MaxRoiPool in float64, and find the pixels of its bins.

A region's corners are rounded to pixels, halves away from zero; a bin reaches from the pixel in which it starts to the
one before which it ends (Girshick 2015, "Fast R-CNN", section 2.1), cut at the border of the image.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit.ir import Type
from primsplit.ir.dims import Dim, product
from primsplit.ops import op
from primsplit.ops.inference import fresh
from primsplit.rewrites.decompositions.axes import size
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to


@dataclass(frozen=True, slots=True)
class Bins:
    """The pixels of each bin, padded to the largest bin: row numbers of the image laid out as [N * pixels, C].

    Both are [regions, bins, bins, pixels]; pixels that are not `inside` belong to no bin.
    """

    rows: Array
    inside: Array


def bins_of(x: Array, rois: Array, pooled_shape: Sequence[int], scale: float) -> Bins:
    """Return the bins of regions [regions, 5] (image number, left, top, right, bottom) of an image [N, C, H, W]."""
    corners = _rounded(op.Mul(op.Slice(rois, [1], [5], [1]), scale))
    left, top, right, bottom = (op.Squeeze(op.Slice(corners, [i], [i + 1], [1]), [1]) for i in range(4))
    row = op.Unsqueeze(op.Cast(op.Slice(rois, [0], [1], [1]), to=np.int64), [2, 3, 4])
    rows, first_inside = _along(x, 2, top, bottom, pooled_shape[0])
    columns, second_inside = _along(x, 3, left, right, pooled_shape[1])
    row = op.Add(op.Mul(row, size(x, 2)), op.Unsqueeze(rows, [2, 4]))
    row = op.Add(op.Mul(row, size(x, 3)), op.Unsqueeze(columns, [1, 3]))
    inside = op.And(op.Unsqueeze(first_inside, [2, 4]), op.Unsqueeze(second_inside, [1, 3]))
    shape = (rois.shape[0], *pooled_shape, product(row.shape[3:]))
    return Bins(reshape_to(row, shape), reshape_to(inside, shape))


def _rounded(x: Array) -> Array:
    return op.Where(op.Less(x, 0.0), op.Ceil(op.Sub(x, 0.5)), op.Floor(op.Add(x, 0.5)))


def _along(x: Array, axis: int, first: Array, last: Array, bins: int) -> tuple[Array, Array]:
    """Pixel numbers along an axis, [regions, bins, pixels], clipped to the image, and which of them are in a bin."""
    length = op.Max(op.Add(op.Sub(last, first), 1.0), 1.0)
    each = op.Unsqueeze(op.Div(length, float(bins)), [1])
    counted = np.arange(bins, dtype=x.dtype)
    starts = op.Add(op.Floor(op.Mul(each, counted)), op.Unsqueeze(first, [1]))
    ends = op.Add(op.Ceil(op.Mul(each, counted + 1)), op.Unsqueeze(first, [1]))
    limit = op.Cast(size(x, axis), to=x.dtype)
    starts, ends = (op.Max(op.Min(a, limit), 0.0) for a in (starts, ends))
    widest = op.ReduceMax(op.Concat(op.Reshape(op.Sub(ends, starts), [-1]), np.zeros(1, x.dtype), axis=0), keepdims=0)
    several = op.Cast(op.Max(widest, 1.0), to=np.int64)
    steps = op.Cast(op.Range(0, several, 1, types=[Type(np.int64, (fresh("pixels"),))]), to=x.dtype)
    at = op.Add(op.Unsqueeze(starts, [2]), op.Unsqueeze(steps, [0, 1]))
    inside = op.Less(at, op.Unsqueeze(ends, [2]))
    return op.Cast(op.Max(op.Min(at, op.Sub(limit, 1.0)), 0.0), to=np.int64), inside


LEAST = {"float64": -1.7e308, "float32": -3.4e38, "float16": -65504.0}


def pixels_in(x: Array, bins: Bins) -> Array:
    """Return the pixels of the bins, [regions, bins, bins, pixels, C]; the least number where a bin has no pixel."""
    flat: Dim = product(x.shape[2:])
    image = op.Transpose(reshape_to(x, (*x.shape[:2], flat)), perm=[0, 2, 1])
    read = op.Gather(reshape_to(image, (x.shape[0] * flat, x.shape[1])), bins.rows, axis=0)
    return op.Where(op.Unsqueeze(bins.inside, [4]), read, LEAST[x.dtype.name])


def max_roi_pool(x: Array, rois: Array, *, pooled_shape: Sequence[int], spatial_scale: float = 1.0) -> Array:
    """Return the largest pixel of each bin, 0 for a bin without any."""
    bins = bins_of(x, rois, pooled_shape, spatial_scale)
    largest = op.ReduceMax(pixels_in(x, bins), [3], keepdims=0)
    is_empty = op.Not(op.Cast(op.ReduceMax(op.Cast(bins.inside, to=np.float32), [3], keepdims=1), to=np.bool_))
    return op.Transpose(op.Where(is_empty, 0.0, largest), perm=[0, 3, 1, 2])


COMPOSITIONS: dict[str, Callable[..., Any]] = {"MaxRoiPool": max_roi_pool}
