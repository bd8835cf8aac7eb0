"""Operators on images in plain NumPy, in the precision of their inputs."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

AnyArray = npt.NDArray[Any]


def grid_sample(
    x: AnyArray, grid: AnyArray, *, mode: str = "linear", padding_mode: str = "zeros", align_corners: int = 0
) -> AnyArray:
    """Each sample as the sum over its neighbours; padding applies to each neighbour, as in PyTorch."""
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


def _keys(d: AnyArray, a: float = -0.75) -> AnyArray:
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


IMAGES: dict[str, Callable[..., Any]] = {"AffineGrid": affine_grid, "GridSample": grid_sample}
