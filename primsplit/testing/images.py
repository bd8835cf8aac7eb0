"""ONNX's image operators in plain NumPy, in the precision of their inputs."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

AnyArray = npt.NDArray[Any]


def grid_sample(
    x: AnyArray, grid: AnyArray, *, mode: str = "linear", padding_mode: str = "zeros", align_corners: int = 0
) -> AnyArray:
    """Each sample as a sum over its neighbours; padding applies to each neighbour, as in PyTorch."""
    sizes = x.shape[2:]
    read = [
        _axis(grid[..., len(sizes) - 1 - i], size, mode, padding_mode, bool(align_corners))
        for i, size in enumerate(sizes)
    ]
    result = np.zeros((*x.shape[:2], *grid.shape[1:-1]), x.dtype)
    for n in range(x.shape[0]):
        for picked in itertools.product(*(zip(places, weights, strict=True) for places, weights in read)):
            weight = np.prod([w[n] for _, w in picked], axis=0)
            result[n] += weight * x[n][(slice(None), *(p[n] for p, _ in picked))]
    return result


def _axis(g: AnyArray, size: int, mode: str, padding: str, is_cornered: bool) -> tuple[AnyArray, AnyArray]:
    at = (g + 1) / 2 * (size - 1) if is_cornered else ((g + 1) * size - 1) / 2
    if mode == "nearest":
        pixels, weights = np.round(at)[None], np.ones((1, *at.shape))
    else:
        pixels = np.floor(at) + np.arange(*((0, 2) if mode == "linear" else (-1, 3))).reshape(-1, *[1] * at.ndim)
        distance = np.abs(at - pixels)
        weights = 1 - distance if mode == "linear" else _keys(distance)
    if padding == "zeros":
        weights = np.where((pixels >= 0) & (pixels < size), weights, 0)
    if padding == "reflection":
        pixels = _reflect(pixels, size, is_cornered)
    return np.clip(pixels, 0, size - 1).astype(np.int64), weights.astype(g.dtype)


def _keys(d: AnyArray) -> AnyArray:
    """Keys' cubic kernel at distances up to 2, with the slope at 1 that PyTorch has."""
    a = -0.75
    found: AnyArray = np.where(d <= 1, (a + 2) * d**3 - (a + 3) * d**2 + 1, a * (d**3 - 5 * d**2 + 8 * d - 4))
    return found


def _reflect(pixels: AnyArray, size: int, is_cornered: bool) -> AnyArray:
    if is_cornered and size == 1:
        return np.zeros_like(pixels)
    low, width = (0.0, size - 1) if is_cornered else (-0.5, size)
    rest = np.mod(pixels - low, 2 * width)
    mirrored: AnyArray = np.minimum(rest, 2 * width - rest) + low
    return mirrored


def affine_grid(theta: AnyArray, size: AnyArray, *, align_corners: int = 0) -> AnyArray:
    """theta times each place in homogeneous coordinates, the last axis of the image first."""
    sizes = [int(n) for n in size[2:]]
    axes = [np.linspace(-1, 1, n) if align_corners else (2 * np.arange(n) + 1) / n - 1 for n in sizes]
    places = np.stack([*np.meshgrid(*axes, indexing="ij")[::-1], np.ones(sizes)], -1).astype(theta.dtype)
    grid: AnyArray = np.einsum("nij,...j->n...i", theta, places)
    return grid


def deform_conv(
    x: AnyArray,
    w: AnyArray,
    offset: AnyArray,
    b: AnyArray | None = None,
    mask: AnyArray | None = None,
    *,
    kernel_shape: Sequence[int] | None = None,
    group: int = 1,
    offset_group: int = 1,
    strides: Sequence[int] = (1, 1),
    dilations: Sequence[int] = (1, 1),
    pads: Sequence[int] = (0, 0, 0, 0),
) -> AnyArray:
    """The taps of each window, read at their offsets and multiplied by the mask; then the product with the weights."""
    kernel, (n, channels), places = w.shape[2:], x.shape[:2], offset.shape[2:]
    moves = offset.reshape(n, offset_group, *kernel, 2, *places)
    factor = np.ones((n, offset_group, *kernel, *places)) if mask is None else mask.reshape(moves.shape[:4] + places)
    read = np.zeros((n, channels, *kernel, *places), x.dtype)
    each = channels // offset_group
    for at in np.ndindex(n, offset_group, *kernel, *places):
        i, g, *tap, top, left = at
        spot = [
            place * step - pad + k * spread + move
            for place, step, pad, k, spread, move in zip(
                (top, left), strides, pads, tap, dilations, moves[(*at[:4], slice(None), top, left)], strict=False
            )
        ]
        here = slice(g * each, (g + 1) * each)
        read[(i, here, *at[2:])] = _pixel(x[i, here], spot) * factor[at]
    split = read.reshape(n, group, channels // group, *kernel, *places)
    weights = w.reshape(group, -1, *w.shape[1:])
    found: AnyArray = np.einsum("ngckl...,gockl->ngo...", split, weights).reshape(n, w.shape[0], *places)
    return found if b is None else found + b.reshape(-1, 1, 1)


def _pixel(image: AnyArray, spot: Sequence[float]) -> AnyArray:
    """An image [C, H, W] at one place, from its four neighbours; those outside are zero."""
    found = np.zeros(image.shape[0], image.dtype)
    first = [math.floor(s) for s in spot]
    for corner in itertools.product((0, 1), repeat=2):
        at = [f + c for f, c in zip(first, corner, strict=True)]
        if all(0 <= a < size for a, size in zip(at, image.shape[1:], strict=True)):
            found += image[:, at[0], at[1]] * math.prod(1 - abs(s - a) for s, a in zip(spot, at, strict=True))
    return found


def max_roi_pool(x: AnyArray, rois: AnyArray, *, pooled_shape: Sequence[int], spatial_scale: float = 1.0) -> AnyArray:
    """The largest pixel of each bin of each region, whose corners are rounded, halves away from zero."""
    result = np.zeros((len(rois), x.shape[1], *pooled_shape), x.dtype)
    for number, (batch, *corners) in enumerate(rois):
        left, top, right, bottom = (
            int(math.copysign(math.floor(abs(c) + 0.5), c)) for c in np.multiply(corners, spatial_scale)
        )
        for at in np.ndindex(*pooled_shape):
            cut = [
                _bin(low, high, k, bins, size)
                for low, high, k, bins, size in zip(
                    (top, left), (bottom, right), at, pooled_shape, x.shape[2:], strict=True
                )
            ]
            read = x[int(batch), :, cut[0], cut[1]]
            if read.size:
                result[number, :, at[0], at[1]] = read.max((1, 2))
    return result


def _bin(low: int, high: int, number: int, bins: int, size: int) -> slice:
    each = max(high - low + 1, 1) / bins
    start, end = low + math.floor(number * each), low + math.ceil((number + 1) * each)
    return slice(min(max(start, 0), size), min(max(end, 0), size))


IMAGES: dict[str, Callable[..., Any]] = {
    "AffineGrid": affine_grid,
    "DeformConv": deform_conv,
    "GridSample": grid_sample,
    "MaxRoiPool": max_roi_pool,
}
