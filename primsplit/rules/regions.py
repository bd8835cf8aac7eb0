"""Derivative rules of pooling regions of an image: RoiAlign and MaxRoiPool.

RoiAlign cuts each region into bins, reads the image at a grid of points in each bin, each between four pixels, and
takes the mean of what it read, or the largest single product of a pixel and its weight (as in the standard's reference
and onnxruntime). Arrays over points have the axes [2, 2, regions, bins, bins, points, points].
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from primsplit.ir import Type
from primsplit.ir.dims import Dim, product
from primsplit.ops import op
from primsplit.ops.inference import fresh
from primsplit.ops.schema import text
from primsplit.rewrites.decompositions.regions import LEAST, bins_of, pixels_in
from primsplit.rules.sampling import Neighbours, image_of, moved, read_rows
from primsplit.rules.table import Pullback, rrule
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_like, reshape_to, size_scalar, zeros


@dataclass(frozen=True, slots=True)
class Points:
    """The points of all regions along one axis of the image.

    `at` are their pixels and weights, [2, regions, bins, points]; `starts` and `lengths` the slopes of a point's
    position in the start and the length of its region; `count` the number of points in a bin, [regions].
    """

    at: Neighbours
    is_inside: Array
    lengths: Array
    count: Array


def points_along(low: Array, high: Array, size: Dim, bins: int, ratio: int, *, is_centred: bool) -> Points:
    """Return the points from `low` to `high` [regions] along an axis with `size` pixels.

    A `ratio` of 0 gives as many points as a bin has pixels, rounded up: if regions differ, they have the count of the
    widest, and the surplus does not count.
    """
    dtype = low.dtype
    length = op.Sub(high, low)
    is_free = None if is_centred else op.Greater(length, 1.0)
    length = length if is_centred else op.Max(length, 1.0)
    each = op.Div(length, float(bins))
    if ratio:
        count = op.Add(op.Mul(each, 0.0), float(ratio))
        numbers = op.Range(0, ratio, 1)
    else:
        count = op.Ceil(each)
        widest = op.Max(op.ReduceMax(op.Concat(count, np.zeros(1, dtype), axis=0), keepdims=0), 0.0)
        numbers = op.Range(0, op.Cast(widest, to=np.int64), 1, types=[Type(np.int64, (fresh("points"),))])
    i = op.Cast(numbers, to=dtype)
    several = op.Unsqueeze(op.Max(count, 1.0), [1, 2])
    share = op.Div(op.Unsqueeze(op.Add(i, 0.5), [0, 1]), several)
    part = op.Div(op.Add(share, np.arange(bins, dtype=dtype).reshape(1, bins, 1)), float(bins))
    place = op.Add(op.Unsqueeze(low, [1, 2]), op.Mul(part, op.Unsqueeze(length, [1, 2])))
    is_point = op.Less(op.Unsqueeze(i, [0, 1]), op.Unsqueeze(count, [1, 2]))
    moves = part if is_free is None else op.Where(op.Unsqueeze(is_free, [1, 2]), part, 0.0)
    at, is_inside = _between(place, size, is_point)
    return Points(at, is_inside, moves, count)


def _between(place: Array, size: Dim, is_point: Array) -> tuple[Neighbours, Array]:
    """Return the two pixels around each place, which within one pixel of the image counts as its border."""
    end = op.Cast(size_scalar(size), to=place.dtype)
    last = op.Sub(end, 1.0)
    is_read = op.And(is_point, op.And(op.GreaterOrEqual(place, -1.0), op.LessOrEqual(place, end)))
    within = op.Max(op.Min(place, last), 0.0)
    first = op.Floor(within)
    t = op.Sub(within, first)
    is_moving = op.And(op.GreaterOrEqual(place, 0.0), op.LessOrEqual(place, last))
    moves = op.Cast(op.And(is_read, is_moving), to=place.dtype)
    weights = [op.Where(is_read, op.Sub(1.0, t), 0.0), op.Where(is_read, t, 0.0)]
    pixels = [op.Cast(p, to=np.int64) for p in (first, op.Min(op.Add(first, 1.0), last))]
    stacked = [op.Concat(*(op.Unsqueeze(a, [0]) for a in pair), axis=0) for pair in (pixels, weights)]
    slopes = op.Concat(op.Unsqueeze(op.Neg(moves), [0]), op.Unsqueeze(moves, [0]), axis=0)
    return Neighbours(stacked[0], stacked[1], slopes), is_point


def _spread(points: Neighbours, axis: int) -> Neighbours:
    """Return the arrays of one axis with axes of size 1 for the other."""
    others = [1, 4, 6] if axis == 0 else [0, 3, 5]
    return Neighbours(*(op.Unsqueeze(a, others) for a in (points.places, points.weights, points.slopes)))


@rrule("RoiAlign")
def roi_align(
    x: Array,
    rois: Array,
    batch: Array,
    *,
    coordinate_transformation_mode: str | bytes,
    mode: str | bytes,
    output_height: int,
    output_width: int,
    sampling_ratio: int,
    spatial_scale: float,
) -> tuple[Array, Pullback]:
    """Each pixel gets its weight's share of what was read from it; a region moves by the slopes of the weights.

    The number of points in a bin does not move. Of equal largest products each gets an equal share.
    """
    z = op.RoiAlign(
        x, rois, batch, coordinate_transformation_mode=coordinate_transformation_mode, mode=mode,
        output_height=output_height, output_width=output_width, sampling_ratio=sampling_ratio,
        spatial_scale=spatial_scale,
    )  # fmt: skip
    is_centred = text(coordinate_transformation_mode) == "half_pixel"

    def pullback(dz: Array) -> list[Array | None]:
        scaled = op.Mul(rois, spatial_scale)
        bins = (output_height, output_width)
        axes = _points(scaled, x.shape[2:], bins, sampling_ratio, is_centred=is_centred)
        spread = [_spread(points.at, i) for i, points in enumerate(axes)]
        places = _places(x, batch, spread)
        weight = op.Unsqueeze(reduce(op.Mul, [axis.weights for axis in spread]), [-1])
        rows = op.Unsqueeze(op.Transpose(dz, perm=[0, 2, 3, 1]), [3, 4])
        pixels = read_rows(x, places)
        share = _share(rows, pixels, weight, axes, text(mode))
        products = op.ReduceSum(op.Mul(pixels, share), [-1], keepdims=0)
        d_rois = _regions(moved(products, spread), axes)
        d_rois = reshape_like(op.Mul(d_rois, spatial_scale), rois)
        return [image_of(x, op.Mul(weight, share), places), d_rois, None]

    return z, pullback


def _share(rows: Array, pixels: Array, weight: Array, axes: Sequence[Points], mode: str) -> Array:
    """Return each product's share of its bin's cotangent: the largest gets all of it, or each a part of the mean."""
    if mode == "max":
        return op.Mul(rows, _largest(op.Mul(pixels, weight), axes))
    count = op.Max(op.Mul(axes[0].count, axes[1].count), 1.0)
    return op.Div(rows, op.Unsqueeze(count, [1, 2, 3, 4, 5]))


def _points(rois: Array, sizes: Sequence[Dim], bins: Sequence[int], ratio: int, *, is_centred: bool) -> list[Points]:
    """Return the points along each axis of regions in pixels [regions, 4], x before y."""
    moved_rois = op.Sub(rois, 0.5) if is_centred else rois
    left, top, right, bottom = (op.Squeeze(op.Slice(moved_rois, [i], [i + 1], [1]), [1]) for i in range(4))
    return [
        points_along(low, high, size, count, ratio, is_centred=is_centred)
        for low, high, size, count in zip((top, left), (bottom, right), sizes, bins, strict=True)
    ]


def _places(x: Array, batch: Array, spread: Sequence[Neighbours]) -> Array:
    """Return row numbers of the pixels in the image laid out as [N * pixels, channels]."""
    row = op.Unsqueeze(op.Cast(batch, to=np.int64), [1, 2, 3, 4])
    for axis, size in zip(spread, x.shape[2:], strict=True):
        row = op.Add(op.Mul(row, size_scalar(size)), axis.places)
    return row


def _largest(products: Array, axes: Sequence[Points]) -> Array:
    """The share of each product [2, 2, regions, bins, bins, points, points, channels] in the largest of its bin."""
    inside = op.And(op.Unsqueeze(axes[0].is_inside, [2, 4]), op.Unsqueeze(axes[1].is_inside, [1, 3]))
    counted = op.Unsqueeze(inside, [-1])
    candidates = op.Where(counted, products, LEAST[products.dtype.name])
    among = [0, 1, 5, 6]
    is_largest = op.And(counted, op.Equal(candidates, op.ReduceMax(candidates, among, keepdims=1)))
    chosen = op.Cast(is_largest, to=products.dtype)
    return op.Div(chosen, op.Max(op.ReduceSum(chosen, among, keepdims=1), 1.0))


def _regions(slopes: Sequence[Array], axes: Sequence[Points]) -> Array:
    """The cotangents of the corners [regions, 4] from those of the points [regions, bins, bins, points, points]."""
    corners: list[Array] = []
    for slope, points, others in zip(slopes, axes, ([2, 4], [1, 3]), strict=True):
        along = op.ReduceSum(slope, others, keepdims=0)
        start = op.ReduceSum(along, [1, 2], keepdims=1)
        length = op.ReduceSum(op.Mul(along, points.lengths), [1, 2], keepdims=1)
        corners += [op.Sub(start, length), length]
    top, bottom, left, right = (op.Squeeze(a, [2]) for a in corners)
    return op.Concat(left, top, right, bottom, axis=1)


@rrule("MaxRoiPool")
def max_roi_pool(x: Array, rois: Array, *, pooled_shape: Sequence[int], spatial_scale: float) -> tuple[Array, Pullback]:
    """The first of a bin's largest pixels gets its cotangent; a bin without pixels gives it to none.

    Regions are rounded to pixels, so they have no tangent.
    """
    z = op.MaxRoiPool(x, rois, pooled_shape=pooled_shape, spatial_scale=spatial_scale)

    def pullback(dz: Array) -> tuple[Array, None]:
        bins = bins_of(x, rois, pooled_shape, spatial_scale)
        read = pixels_in(x, bins)
        first = op.ArgMax(read, axis=3, keepdims=0)
        declared = [Type(np.int64, first.shape)]
        row = op.GatherND(bins.rows, op.Unsqueeze(first, [4]), batch_dims=3, types=declared)
        is_taken = op.GatherND(bins.inside, op.Unsqueeze(first, [4]), batch_dims=3, types=[Type(np.bool_, first.shape)])
        given = op.Where(is_taken, op.Transpose(dz, perm=[0, 2, 3, 1]), 0.0)
        channel = op.Add(op.Mul(row, 0), op.Range(0, size_scalar(x.shape[1]), 1))
        places = op.Concat(op.Unsqueeze(row, [4]), op.Unsqueeze(channel, [4]), axis=4)
        pixels = product(x.shape[2:])
        start = zeros((x.shape[0] * pixels, x.shape[1]), dz.dtype)
        rows = op.ScatterND(start, places, given, reduction="add")
        image = op.Transpose(reshape_to(rows, (x.shape[0], pixels, x.shape[1])), perm=[0, 2, 1])
        return reshape_to(image, x.shape), None

    return z, pullback
