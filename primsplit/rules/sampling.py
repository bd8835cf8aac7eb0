"""Derivative rules of sampling an image at positions that may lie between its pixels, and of computing the positions.

A sample is the sum over its neighbours of a product of one weight an axis. Neighbours, weights and slopes of an axis
have the shape [.., neighbours, .., N, positions], with one axis of neighbours for each axis of the image.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from primsplit import tracing
from primsplit.ir import Type, dims
from primsplit.ir.dims import Dim
from primsplit.ir.errors import ShapeError
from primsplit.ops import op
from primsplit.ops.schema import text
from primsplit.rules.table import Pullback, rrule
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import full, reshape_to, size_scalar, zeros

CUBIC = -0.75
"""The coefficient of Keys's kernel in GridSample."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """The attributes that determine how an image is sampled."""

    mode: str
    padding: str
    is_cornered: bool


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The neighbours of each position along one axis: pixel numbers, weights, and the weights' slopes in the grid."""

    places: Array
    weights: Array
    slopes: Array


@rrule("GridSample")
def grid_sample(
    x: Array, grid: Array, *, align_corners: int, mode: str | bytes, padding_mode: str | bytes
) -> tuple[Array, Pullback]:
    """Each neighbour gets its weight's share; a position moves by the slopes of its weights.

    Positions outside of the image read pixels of the border, mirrored ones or zeros; a position of the nearest
    neighbour gets zero.
    """
    z = op.GridSample(x, grid, align_corners=align_corners, mode=mode, padding_mode=padding_mode)
    how = Sampling(text(mode), text(padding_mode), bool(align_corners))
    rank = len(x.shape) - 2

    def pullback(dz: Array) -> tuple[Array, Array | None]:
        points = dims.product(grid.shape[1:-1])
        flat = reshape_to(grid, (x.shape[0], points, rank))
        axes = [_neighbours(_component(flat, rank - 1 - i), x.shape[2 + i], how) for i in range(rank)]
        spread = [spread_out(axis, i, rank) for i, axis in enumerate(axes)]
        rows = op.Transpose(reshape_to(dz, (*x.shape[:2], points)), perm=[0, 2, 1])
        places = row_numbers(x, [axis.places for axis in spread])
        shares = op.Unsqueeze(reduce(op.Mul, [axis.weights for axis in spread]), [-1])
        d_x = image_of(x, op.Mul(shares, rows), places)
        if how.mode == "nearest":
            return d_x, None
        products = op.ReduceSum(op.Mul(read_rows(x, places), rows), [-1], keepdims=0)
        columns = [op.Unsqueeze(slope, [2]) for slope in reversed(moved(products, spread))]
        return d_x, reshape_to(op.Concat(*columns, axis=2) if rank > 1 else columns[0], grid.shape)

    return z, pullback


def _component(grid: Array, index: int) -> Array:
    return op.Squeeze(op.Slice(grid, [index], [index + 1], [2]), [2])


def spread_out(axis: Neighbours, position: int, rank: int) -> Neighbours:
    """Return the neighbours [k, N, points] of one axis with an axis of size 1 for the neighbours of each other axis."""
    others = [i for i in range(rank) if i != position]
    if not others:
        return axis
    return Neighbours(*(op.Unsqueeze(array, others) for array in (axis.places, axis.weights, axis.slopes)))


def row_numbers(x: Array, places: Sequence[Array]) -> Array:
    """Return pixel numbers along each axis as row numbers of the image laid out as [N * pixels, channels]."""
    count = size_scalar(x.shape[0])
    row = op.Unsqueeze(op.Range(0, count, 1, types=[Type(np.int64, (x.shape[0],))]), [1])
    for place, size in zip(places, x.shape[2:], strict=True):
        row = op.Add(op.Mul(row, size_scalar(size)), place)
    return row


def image_of(x: Array, shares: Array, places: Array) -> Array:
    """Return an image with shares [.., N, points, channels] added up at their places."""
    pixels = dims.product(x.shape[2:])
    start = zeros((x.shape[0] * pixels, x.shape[1]), shares.dtype)
    rows = op.ScatterND(start, op.Unsqueeze(places, [-1]), shares, reduction="add")
    return reshape_to(op.Transpose(reshape_to(rows, (x.shape[0], pixels, x.shape[1])), perm=[0, 2, 1]), x.shape)


def read_rows(x: Array, places: Array) -> Array:
    """Return the pixels of an image at these places, [.., channels]."""
    pixels = dims.product(x.shape[2:])
    image = op.Transpose(reshape_to(x, (*x.shape[:2], pixels)), perm=[0, 2, 1])
    found: Array = op.Gather(reshape_to(image, (x.shape[0] * pixels, x.shape[1])), places, axis=0)
    return found


def moved(products: Array, spread: Sequence[Neighbours]) -> list[Array]:
    """The cotangents of positions along each axis, from the pixels' products with the cotangents of the samples."""
    rank = len(spread)
    cotangents: list[Array] = []
    for moving in range(rank):
        factors = [axis.slopes if i == moving else axis.weights for i, axis in enumerate(spread)]
        cotangents.append(op.ReduceSum(op.Mul(products, reduce(op.Mul, factors)), list(range(rank)), keepdims=0))
    return cotangents


def _neighbours(g: Array, size: Dim, how: Sampling) -> Neighbours:
    """Return the neighbours of grid coordinates [N, points] in -1 ..

    1 along an axis of the image, each [k, N, points].
    """
    count = op.Cast(size_scalar(size), to=g.dtype)
    last = op.Sub(count, 1.0)
    speed = op.Mul(last if how.is_cornered else count, 0.5)
    at = op.Sub(op.Mul(op.Add(g, 1.0), speed), 0.0 if how.is_cornered else 0.5)
    return neighbours_at(at, speed, last, how)


def neighbours_at(at: Array, speed: Array | float, last: Array, how: Sampling) -> Neighbours:
    """Return the neighbours of positions in pixels [N, points].

    `speed` is the derivative of these, `last` the last pixel.
    """
    if how.mode == "nearest":
        ones = full(at.shape, np.ones((), at.dtype))
        return _inside(op.Unsqueeze(op.Round(at), [0]), op.Unsqueeze(ones, [0]), op.Unsqueeze(ones, [0]), last, how)
    if how.mode == "linear" and how.padding != "zeros":
        at, speed, how = _clipped(at, speed, last, how)
    first = op.Floor(at)
    t = op.Sub(at, first)
    steps, weights, slopes = _linear(t) if how.mode == "linear" else _cubic(t)
    pixels = op.Add(op.Unsqueeze(first, [0]), np.array(steps, at.dtype).reshape(-1, 1, 1))
    return _inside(pixels, _stacked(weights), op.Mul(_stacked(slopes), speed), last, how)


def _clipped(at: Array, speed: Array | float, last: Array, how: Sampling) -> tuple[Array, Array, Sampling]:
    """Clip positions to the image; return them and their derivatives, which are 0 at its ends, as in PyTorch."""
    if how.padding == "reflection":
        at, is_forward = _reflected(at, last, how)
        speed = op.Where(is_forward, speed, op.Neg(speed))
    is_between = op.And(op.Greater(at, 0.0), op.Less(at, last))
    return op.Max(op.Min(at, last), 0.0), op.Where(is_between, speed, 0.0), replace(how, padding="border")


def _stacked(arrays: Sequence[Array]) -> Array:
    return op.Concat(*(op.Unsqueeze(a, [0]) for a in arrays), axis=0)


Kernel = tuple[Sequence[int], list[Array], list[Array]]
"""The neighbours of a position, counted from the pixel before it; their weights and the weights' slopes."""


def _linear(t: Array) -> Kernel:
    """Return the kernel for positions t after the pixel before them."""
    ones = full(t.shape, np.ones((), t.dtype))
    return (0, 1), [op.Sub(1.0, t), t], [op.Neg(ones), ones]


def _cubic(t: Array) -> Kernel:
    """Keys's kernel (IEEE Trans. ASSP 29 (1981) 1153-1160, eq. 15) and its slopes."""
    distances = [op.Add(t, 1.0), t, op.Sub(1.0, t), op.Sub(2.0, t)]
    weights = [form(d) for form, d in zip((_far, _near, _near, _far), distances, strict=True)]
    slopes = [form(d) for form, d in zip((_far_slope, _near_slope, _near_slope, _far_slope), distances, strict=True)]
    return (-1, 0, 1, 2), weights, [*slopes[:2], op.Neg(slopes[2]), op.Neg(slopes[3])]


def _near(d: Array) -> Array:
    return ((CUBIC + 2) * d - (CUBIC + 3)) * d * d + 1.0


def _near_slope(d: Array) -> Array:
    return (3 * (CUBIC + 2) * d - 2 * (CUBIC + 3)) * d


def _far(d: Array) -> Array:
    return ((CUBIC * d - 5 * CUBIC) * d + 8 * CUBIC) * d - 4 * CUBIC


def _far_slope(d: Array) -> Array:
    return (3 * CUBIC * d - 10 * CUBIC) * d + 8 * CUBIC


def _inside(pixels: Array, weights: Array, slopes: Array, last: Array, how: Sampling) -> Neighbours:
    """Return neighbours with their pixels brought into the image; those outside have weight 0 if padding is zeros."""
    if how.padding == "zeros":
        is_inside = op.And(op.GreaterOrEqual(pixels, 0.0), op.LessOrEqual(pixels, last))
        weights, slopes = (op.Where(is_inside, a, 0.0) for a in (weights, slopes))
    elif how.padding == "reflection":
        pixels, _ = _reflected(pixels, last, how)
    return Neighbours(op.Cast(op.Max(op.Min(pixels, last), 0.0), to=np.int64), weights, slopes)


def _reflected(pixels: Array, last: Array, how: Sampling) -> tuple[Array, Array]:
    """Mirror pixels at the middles, or without `align_corners` at the edges, of the outermost pixels.

    Return also whether they go forward: false if they are mirrored an odd number of times.
    """
    edge = 0.0 if how.is_cornered else 0.5
    width = op.Max(op.Add(last, 2 * edge), 1.0)
    beyond = op.Add(pixels, edge)
    turns = op.Floor(op.Div(beyond, op.Mul(width, 2.0)))
    rest = op.Sub(beyond, op.Mul(turns, op.Mul(width, 2.0)))
    is_forward = op.LessOrEqual(rest, width)
    return op.Sub(op.Where(is_forward, rest, op.Sub(op.Mul(width, 2.0), rest)), edge), is_forward


@rrule("AffineGrid")
def affine_grid(theta: Array, size: Array, *, align_corners: int) -> tuple[Array, Pullback]:
    """A grid is its places in homogeneous coordinates times theta; the places are the grid of the identity."""
    z = op.AffineGrid(theta, size, align_corners=align_corners)
    given = size.shape[0]
    rank = given - 2 if isinstance(given, int) else theta.shape[1]
    if not isinstance(rank, int):
        raise ShapeError(f"AffineGrid takes matrices of fixed sizes, not {theta.type}", place=tracing.user_place())

    def pullback(dz: Array) -> tuple[Array, None]:
        spatial = z.shape[1:-1]
        points = dims.product(spatial)
        identity = np.eye(rank, rank + 1, dtype=theta.dtype)[None]
        declared = Type(theta.dtype, (1, *spatial, rank))
        alone = op.Concat([1], op.Slice(size, [1], [rank + 2]), axis=0)
        places = reshape_to(
            op.AffineGrid(identity, alone, align_corners=align_corners, types=[declared]), (points, rank)
        )
        homogeneous = op.Concat(places, full((points, 1), np.ones((), theta.dtype)), axis=1)
        rows = op.Transpose(reshape_to(dz, (theta.shape[0], points, rank)), perm=[0, 2, 1])
        return reshape_to(op.MatMul(rows, homogeneous), theta.shape), None

    return z, pullback
