"""Infer the result types of operators that resample images and transform signals: Resize, GridSample, DFT, STFT."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import onnx.helper

from primsplit.ir import AnyArray, Type
from primsplit.ir.dims import Dim, Size, could_be, floor_divide
from primsplit.ir.errors import ShapeError
from primsplit.ops.inference.standard import infer_by_standard
from primsplit.ops.inference.table import Site, axis_of, fresh, rule, typed
from primsplit.ops.schema import schema

LARGEST_DENOMINATOR = 4096
"""A size is known after scaling by a fraction of integers up to this; any other scale gives a fresh symbol."""


@rule("Resize")
def resize(site: Site) -> Sequence[Type]:
    """The requested sizes, or each size times its scale, rounded down; keeping the aspect ratio may change the former.

    A literal size is multiplied in float32, as in onnxruntime: 100 times 0.7, which is a little less, is 70 there.
    """
    shape: list[Dim] = list(site.shape(0))
    sizes, scales = site.sizes(3), site.constant(2)
    kept = site.attribute("keep_aspect_ratio_policy") in {b"stretch", "stretch"}
    axes = site.attribute("axes")
    count = len(shape) if axes is None else len(axes)
    _check_resize(site, count)
    if scales is not None and not site.has(3) and not _are_factors(scales):
        raise ShapeError(f"{site.kind}: the scales are not {count} finite numbers above 0")
    is_literal = not any(isinstance(d, Size) for d in shape)
    if is_literal and site.has(3) and site.integers(3) is not None:
        return infer_by_standard(site)
    targets = range(len(shape)) if axes is None else [axis_of(a, len(shape), site.kind) for a in axes]
    for i, axis in enumerate(targets):
        if sizes is not None and kept:
            shape[axis] = sizes[i]
        elif scales is not None and site.has(2) and not site.has(3):
            shape[axis] = _scaled(shape[axis], scales[i])
        else:
            shape[axis] = fresh("resized")
    return typed(site.type(0).dtype, tuple(shape))


def _check_resize(site: Site, count: int) -> None:
    """Raise ShapeError for vectors of another length than the axes, and for `antialias` with the mode nearest."""
    crops = site.attribute("coordinate_transformation_mode") in {b"tf_crop_and_resize", "tf_crop_and_resize"}
    for position, length in ((1, 2 * count), (2, count), (3, count)):
        shape = site.type(position).shape if site.has(position) and (position > 1 or crops) else None
        if shape is not None and (len(shape) != 1 or not could_be(shape[0], length)):
            name = schema(site.kind).inputs[position][0]
            raise ShapeError(f"{site.kind}: {name} must have {length} elements, and has the shape {list(shape)}")
    if site.attribute("antialias") and site.attribute("mode") in {b"nearest", "nearest"}:
        raise ShapeError(f"{site.kind}: antialias is for the modes linear and cubic, not for nearest")


def _are_factors(scales: AnyArray) -> bool:
    return bool(np.all(np.isfinite(scales) & (scales > 0)))


def _scaled(size: Dim, scale: np.generic) -> Dim:
    """Return floor(size * scale), if the size is literal or the scale a fraction of small integers."""
    if isinstance(size, int):
        return int(np.floor(np.float32(size) * np.float32(scale)))
    fraction = Fraction(float(scale))
    if fraction.denominator > LARGEST_DENOMINATOR:
        return fresh("resized")
    return floor_divide(size * fraction.numerator, fraction.denominator)


@rule("GridSample")
def grid_sample(site: Site) -> Sequence[Type]:
    """The batch and channels of the image, the places of the grid."""
    return typed(site.type(0).dtype, (*site.shape(0)[:2], *site.shape(1)[1:-1]))


@rule("AffineGrid")
def affine_grid(site: Site) -> Sequence[Type]:
    """One position for each place of an image of the given size [N, C, ...]; a matrix has a row for each axis."""
    sizes = site.sizes(1)
    images, rows = site.shape(0)[:2]
    if sizes is None and isinstance(rows, int):
        return typed(site.type(0).dtype, (images, *(fresh("side") for _ in range(rows)), rows))
    if sizes is None:
        return infer_by_standard(site)
    return typed(site.type(0).dtype, (site.shape(0)[0], *sizes[2:], len(sizes) - 2))


@rule("DFT")
def dft(site: Site) -> Sequence[Type]:
    """The axis takes the length of the transform, or half of it and 1; the last axis holds pairs of reals."""
    shape: list[Dim] = list(site.shape(0))
    axis = site.integers(2) if site.has(2) else (-2,)
    if axis is None:
        parts = 1 if site.attribute("inverse") and site.attribute("onesided") else 2
        return typed(site.type(0).dtype, (*(fresh("transformed") for _ in shape[1:]), parts))
    place = axis_of(axis[0], len(shape), site.kind)
    inverse, onesided = site.attribute("inverse"), site.attribute("onesided")
    default = 2 * (shape[place] - 1) if inverse and onesided else shape[place]
    lengths = site.sizes(1)
    length: Dim = default if not site.has(1) else fresh("transformed") if lengths is None else lengths[0]
    shape[place] = floor_divide(length, 2) + 1 if onesided and not inverse else length
    shape[-1] = 1 if inverse and onesided else 2
    return typed(site.type(0).dtype, tuple(shape))


@rule("STFT")
def stft(site: Site) -> Sequence[Type]:
    """[batch, frames, frequencies, 2]: the frames that lie in the signal, as long as the window or `frame_length`."""
    batch, size = site.shape(0)[:2]
    steps, lengths = site.integers(1), site.sizes(3)
    length: Dim = site.shape(2)[0] if site.has(2) else fresh("frame") if lengths is None else lengths[0]
    frames = fresh("frames") if steps is None else floor_divide(size - length, steps[0]) + 1
    frequencies = floor_divide(length, 2) + 1 if site.attribute("onesided") else length
    return typed(site.type(0).dtype, (batch, frames, frequencies, 2))


@rule("BlackmanWindow", "HammingWindow", "HannWindow")
def window(site: Site) -> Sequence[Type]:
    """As many elements as the input says."""
    return typed(_told_dtype(site), (_told(site, 0, "window"),))


@rule("MelWeightMatrix")
def mel_weights(site: Site) -> Sequence[Type]:
    """[frequencies of the transform, bands]."""
    return typed(_told_dtype(site), (floor_divide(_told(site, 1, "transformed"), 2) + 1, _told(site, 0, "bands")))


def _told(site: Site, position: int, stem: str) -> Dim:
    """Return the size that an input holds."""
    sizes = site.sizes(position)
    return fresh(stem) if sizes is None else sizes[0]


def _told_dtype(site: Site) -> np.dtype[Any]:
    return onnx.helper.tensor_dtype_to_np_dtype(site.attribute("output_datatype"))
