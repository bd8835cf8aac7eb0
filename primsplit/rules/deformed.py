"""The derivative rule of DeformConv: a convolution that reads the image at positions that offsets shift between pixels.

Each group of offsets reads its channels as an image of its own: [N * groups, C / groups, ...], at positions [N *
groups, taps * windows]. Pixels outside of the image are 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from primsplit import tracing
from primsplit.ir.dims import Dim, Shape, floor_divide, product
from primsplit.ir.errors import MissingRule
from primsplit.ops import op
from primsplit.rules.sampling import (
    Neighbours,
    Sampling,
    image_of,
    moved,
    neighbours_at,
    read_rows,
    row_numbers,
    spread_out,
)
from primsplit.rules.table import Pullback, rrule
from primsplit.rules.windows import Windows, literal, windows_over
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_like, reshape_to, size_scalar

BETWEEN = Sampling("linear", "zeros", is_cornered=True)


@rrule("DeformConv")
def deform_conv(
    x: Array,
    w: Array,
    offset: Array,
    b: Array | None = None,
    mask: Array | None = None,
    *,
    dilations: Sequence[int] | None = None,
    group: int,
    kernel_shape: Sequence[int] | None = None,
    offset_group: int,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> tuple[Array, Pullback]:
    """The values read, times the mask, form columns that the weights multiply; each factor gets the others' product.

    Offsets get the slopes of the readings, at whole positions those towards larger ones. Images have two axes, as in
    onnxruntime (Dai et al. 2017, "Deformable convolutional networks", equations 2 to 5, for the equations).

    The value is that product too: in one file with the pullback the columns are read once, which takes less time than
    onnxruntime's operator and reading again, and its versions before 1.26 have no such operator.
    """
    if len(x.shape) != 4:
        raise MissingRule(f"DeformConv of {len(x.shape) - 2} axes has no derivative rule", place=tracing.user_place())
    windows = windows_over(x.shape[2:], kernel_shape or w.shape[2:], dilations=dilations, pads=pads, strides=strides)
    use = _Deformed(x, w, windows, group, offset_group)
    factor = None if mask is None else reshape_to(mask, (*use.rows, 1))
    y = use.products(use.columns(use.read(offset).values, factor))
    if b is not None:
        y = op.Add(y, op.Unsqueeze(b, [1, 2]))

    def pullback(dy: Array) -> list[Array | None]:
        read = use.read(offset)
        d_columns, d_w = use.cotangents(use.columns(read.values, factor), dy)
        d_mask = None if mask is None else reshape_to(op.ReduceSum(op.Mul(d_columns, read.values), [-1]), mask.shape)
        d_read = d_columns if factor is None else op.Mul(d_columns, factor)
        d_x, d_offset = use.cotangents_of_reading(read, d_read)
        d_b = None if b is None else reshape_like(op.ReduceSum(dy, [0, 2, 3], keepdims=0), b)
        count = 5 if mask is not None else 4 if b is not None else 3
        return [d_x, d_w, reshape_to(d_offset, offset.shape), d_b, d_mask][:count]

    return y, pullback


@dataclass(frozen=True, slots=True)
class _Read:
    """Values read between pixels: the neighbours of each position, their weights, and their weighted sums, `values`."""

    axes: list[Neighbours]
    places: Array
    weights: Array
    pixels: Array
    values: Array


@dataclass(frozen=True, slots=True)
class _Deformed:
    """One use of DeformConv, with its shapes and products."""

    x: Array
    w: Array
    windows: Windows
    group: int
    offset_group: int

    @property
    def places(self) -> Shape:
        """The numbers of windows along each axis."""
        return self.windows.counts

    @property
    def taps(self) -> int:
        return math.prod(literal(self.windows.kernel))

    @property
    def images(self) -> Dim:
        return self.x.shape[0] * self.offset_group

    @property
    def rows(self) -> tuple[Dim, Dim]:
        """Images and positions."""
        return self.images, self.taps * product(self.places)

    @property
    def image(self) -> Array:
        """The channels of each group of offsets as an image of its own."""
        return reshape_to(self.x, (self.images, floor_divide(self.x.shape[1], self.offset_group), *self.x.shape[2:]))

    def read(self, offset: Array) -> _Read:
        """Return the readings [images, positions, channels]."""
        axes = self._neighbours(offset)
        places = row_numbers(self.image, [axis.places for axis in axes])
        weights = op.Unsqueeze(reduce(op.Mul, [axis.weights for axis in axes]), [-1])
        pixels = read_rows(self.image, places)
        return _Read(axes, places, weights, pixels, op.ReduceSum(op.Mul(pixels, weights), [0, 1], keepdims=0))

    def _neighbours(self, offset: Array) -> list[Neighbours]:
        """Return the neighbours of each position along each axis, [2, 1, ...] and [1, 2, ...]."""
        count = product(self.places)
        pairs = reshape_to(offset, (self.images, self.taps, 2, count))
        along_axes: list[Neighbours] = []
        for axis, size in enumerate(self.x.shape[2:]):
            moves = op.Squeeze(op.Slice(pairs, [axis], [axis + 1], [2]), [2])
            at = reshape_to(op.Add(moves, reshape_to(self._base(axis), (self.taps, count))), self.rows)
            last = op.Sub(op.Cast(size_scalar(size), to=at.dtype), 1.0)
            along_axes.append(spread_out(neighbours_at(at, 1.0, last, BETWEEN), axis, 2))
        return along_axes

    def _base(self, axis: int) -> Array:
        """Return where each tap of each window would read without offsets, [taps, windows ...]."""
        kernel = literal(self.windows.kernel)
        first = np.indices(kernel)[axis].reshape(-1, 1, 1) * self.windows.dilations[axis]
        counted = op.Range(0, size_scalar(self.places[axis]), 1)
        starts = op.Sub(op.Mul(counted, self.windows.strides[axis]), Array(tracing.size_vector([self.before(axis)])))
        line = op.Unsqueeze(starts, [1 - axis])
        ones = op.Expand(np.ones((1, 1), np.int64), Array(tracing.size_vector(self.places)))
        return op.Cast(op.Add(op.Mul(ones, line), first), to=self.x.dtype)

    def before(self, axis: int) -> Dim:
        """Return the padding in front of an axis."""
        return self.windows.before[axis]

    @property
    def _whole(self) -> Shape:
        """The shape of the columns with an axis for everything: images, groups of offsets, taps, windows, channels."""
        return (self.x.shape[0], self.offset_group, self.taps, product(self.places), self.image.shape[1])

    @property
    def _matrix(self) -> Array:
        """The weights, one matrix a group."""
        depth = self.w.shape[1] * self.taps
        return reshape_to(self.w, (self.group, floor_divide(self.w.shape[0], self.group), depth))

    def columns(self, values: Array, factor: Array | None) -> Array:
        """Return readings times the mask, for each group a column a window: [N, groups, channels and taps, windows]."""
        masked = values if factor is None else op.Mul(values, factor)
        lying = op.Transpose(reshape_to(masked, self._whole), perm=[0, 1, 4, 2, 3])
        depth = self.w.shape[1] * self.taps
        return reshape_to(lying, (self.x.shape[0], self.group, depth, product(self.places)))

    def products(self, columns: Array) -> Array:
        """Return the weights times the columns, in the result's shape."""
        return reshape_to(op.MatMul(self._matrix, columns), (self.x.shape[0], self.w.shape[0], *self.places))

    def cotangents(self, columns: Array, dy: Array) -> tuple[Array, Array]:
        """Return the cotangents of the masked readings [images, positions, channels] and of the weights."""
        matrix = self._matrix
        seeds = reshape_to(dy, (self.x.shape[0], *matrix.shape[:2], product(self.places)))
        n, groups, taps, count, channels = self._whole
        moving = reshape_to(op.MatMul(op.Transpose(matrix, perm=[0, 2, 1]), seeds), (n, groups, channels, taps, count))
        d_read = reshape_to(op.Transpose(moving, perm=[0, 1, 3, 4, 2]), (*self.rows, channels))
        d_w = op.ReduceSum(op.MatMul(seeds, op.Transpose(columns, perm=[0, 1, 3, 2])), [0], keepdims=0)
        return d_read, reshape_to(d_w, self.w.shape)

    def cotangents_of_reading(self, read: _Read, d_read: Array) -> tuple[Array, Array]:
        """The cotangents of the array and of the offsets [images, taps, 2, windows], from that of the readings."""
        d_image = image_of(self.image, op.Mul(read.weights, d_read), read.places)
        slopes = moved(op.ReduceSum(op.Mul(read.pixels, d_read), [-1], keepdims=0), read.axes)
        return reshape_to(d_image, self.x.shape), self._interleaved(slopes)

    def _interleaved(self, slopes: Sequence[Array]) -> Array:
        """Return one number an axis, side by side for each tap: [images, taps, 2, windows]."""
        split = [reshape_to(s, (self.images, self.taps, 1, product(self.places))) for s in slopes]
        return op.Concat(*split, axis=2)
