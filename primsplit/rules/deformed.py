"""Derivative rule of DeformConv: a convolution that reads the image between its pixels, where the offsets say.

Each group of offsets reads the channels that belong to it as an image of its own: [N * groups, C / groups, ...], at
positions [N * groups, taps * windows]. What lies outside of the image is 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.array import Array
from primsplit.broadcasting import reshape_to, size_scalar
from primsplit.dims import Dim, floor_divide, product
from primsplit.errors import MissingRule
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
    """Columns of what was read, times the mask, are multiplied by the weights; each factor gets the others' product.

    Offsets get the slopes of the readings, at whole positions those towards larger ones. Images have two axes, as in
    onnxruntime (Dai et al. 2017, "Deformable convolutional networks", equations 2 to 5, for the equations).
    """
    if len(x.shape) != 4:
        raise MissingRule(f"DeformConv of {len(x.shape) - 2} axes has no derivative rule", place=tracing.user_place())
    placed: dict[str, Any] = {"dilations": dilations, "pads": pads, "strides": strides}
    grouped: dict[str, Any] = {"group": group, "offset_group": offset_group, "kernel_shape": kernel_shape}
    y = op.DeformConv(x, w, offset, b, mask, **grouped, **placed)
    windows = windows_over(x.shape[2:], kernel_shape or w.shape[2:], **placed)
    made = _Deformed(x, w, windows, y.shape[2:], group, offset_group)

    def pullback(dy: Array) -> list[Array | None]:
        axes = made.neighbours(offset)
        places = row_numbers(made.image, [axis.places for axis in axes])
        weights = op.Unsqueeze(reduce(op.Mul, [axis.weights for axis in axes]), [-1])
        pixels = read_rows(made.image, places)
        read = op.ReduceSum(op.Mul(pixels, weights), [0, 1], keepdims=0)
        factor = None if mask is None else reshape_to(mask, (*made.rows, 1))
        d_columns, d_w = made.products(read if factor is None else op.Mul(read, factor), dy)
        d_mask = None if mask is None else reshape_to(op.ReduceSum(op.Mul(d_columns, read), [-1]), mask.shape)
        d_read = d_columns if factor is None else op.Mul(d_columns, factor)
        d_x = reshape_to(image_of(made.image, op.Mul(weights, d_read), places), x.shape)
        slopes = moved(op.ReduceSum(op.Mul(pixels, d_read), [-1], keepdims=0), axes)
        d_b = None if b is None else op.ReduceSum(dy, [0, 2, 3], keepdims=0)
        count = 5 if mask is not None else 4 if b is not None else 3
        return [d_x, d_w, reshape_to(made.interleaved(slopes), offset.shape), d_b, d_mask][:count]

    return y, pullback


@dataclass(frozen=True, slots=True)
class _Deformed:
    """One use of DeformConv; `places` are the numbers of windows along each axis."""

    x: Array
    w: Array
    windows: Windows
    places: Sequence[Dim]
    group: int
    offset_group: int

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

    def neighbours(self, offset: Array) -> list[Neighbours]:
        """The neighbours along each axis of what is read, [2, 1, ...] and [1, 2, ...]."""
        count = product(self.places)
        pairs = reshape_to(offset, (self.images, self.taps, 2, count))
        found: list[Neighbours] = []
        for axis, size in enumerate(self.x.shape[2:]):
            moves = op.Squeeze(op.Slice(pairs, [axis], [axis + 1], [2]), [2])
            at = reshape_to(op.Add(moves, reshape_to(self._base(axis), (self.taps, count))), self.rows)
            last = op.Sub(op.Cast(size_scalar(size), to=at.dtype), 1.0)
            found.append(spread_out(neighbours_at(at, 1.0, last, BETWEEN), axis, 2))
        return found

    def _base(self, axis: int) -> Array:
        """Where each tap of each window would read without offsets, [taps, windows ...]."""
        kernel = literal(self.windows.kernel)
        first = np.indices(kernel)[axis].reshape(-1, 1, 1) * self.windows.dilations[axis]
        counted = op.Range(0, size_scalar(self.places[axis]), 1)
        starts = op.Sub(op.Mul(counted, self.windows.strides[axis]), Array(tracing.size_vector([self.before(axis)])))
        line = op.Unsqueeze(starts, [1 - axis])
        ones = op.Expand(np.ones((1, 1), np.int64), Array(tracing.size_vector(self.places)))
        return op.Cast(op.Add(op.Mul(ones, line), first), to=self.x.dtype)

    def before(self, axis: int) -> Dim:
        """The padding in front of an axis."""
        return self.windows.before[axis]

    def products(self, columns: Array, dy: Array) -> tuple[Array, Array]:
        """The cotangents of the columns [images, positions, channels] and of the weights."""
        n, count = self.x.shape[0], product(self.places)
        channels, results = self.image.shape[1], floor_divide(self.w.shape[0], self.group)
        whole = (n, self.offset_group, self.taps, count, channels)
        depth = self.w.shape[1] * self.taps
        grouped = (n, self.group, depth, count)
        matrix = reshape_to(self.w, (self.group, results, depth))
        seeds = reshape_to(dy, (n, self.group, results, count))
        moving = reshape_to(
            op.MatMul(op.Transpose(matrix, perm=[0, 2, 1]), seeds), (*whole[:2], channels, self.taps, count)
        )
        d_columns = reshape_to(op.Transpose(moving, perm=[0, 1, 3, 4, 2]), columns.shape)
        lying = reshape_to(op.Transpose(reshape_to(columns, whole), perm=[0, 1, 4, 2, 3]), grouped)
        d_w = op.ReduceSum(op.MatMul(seeds, op.Transpose(lying, perm=[0, 1, 3, 2])), [0], keepdims=0)
        return d_columns, reshape_to(d_w, self.w.shape)

    def interleaved(self, slopes: Sequence[Array]) -> Array:
        """One number an axis, side by side for each tap: [images, taps, 2, windows]."""
        split = [reshape_to(s, (self.images, self.taps, 1, product(self.places))) for s in slopes]
        return op.Concat(*split, axis=2)
