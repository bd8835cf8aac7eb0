"""scipy.signal's noise filters: medians and other ranks of windows, and Wiener's filter."""

import math
from typing import Any

import numpy as np

from primsplit.frontends.scipy.operands import floating
from primsplit.frontends.scipy.ranks import rank_filter
from primsplit.frontends.scipy.signal import correlate
from primsplit.frontends.scipy.signatures import as_scipys
from primsplit.tracing.asarray import array_like

__all__ = ["medfilt", "medfilt2d", "order_filter", "wiener"]


def _sizes(size: Any, rank: int) -> list[int]:
    """An odd size for each axis, 3 if none is given. Raises ValueError as SciPy does."""
    sizes = [3 if size is None else size] * rank if np.ndim(size) == 0 else [int(n) for n in size]
    if any(n % 2 != 1 for n in sizes):
        raise ValueError("Each element of kernel_size should be odd.")
    return sizes


@as_scipys("scipy.signal")
def order_filter(a: Any, domain: Any, rank: Any) -> Any:
    """The number of this rank in each window of the shape of `domain`, with zeros outside."""
    return rank_filter(a, int(rank), footprint=np.asarray(domain) != 0, mode="constant")


@as_scipys("scipy.signal")
def medfilt(volume: Any, kernel_size: Any) -> Any:
    """The median of each window, with zeros outside."""
    sizes = _sizes(kernel_size, np.ndim(volume))
    return rank_filter(volume, math.prod(sizes) // 2, footprint=np.ones(sizes, bool), mode="constant")


@as_scipys("scipy.signal")
def medfilt2d(input: Any, kernel_size: Any) -> Any:
    """The median of each window of a matrix, with zeros outside."""
    if np.ndim(input) != 2:
        raise ValueError("object of too small depth for desired array")
    return medfilt(input, kernel_size)


@as_scipys("scipy.signal")
def wiener(im: Any, mysize: Any, noise: Any) -> Any:
    """The windows' means, and what is beyond them where the windows vary more than the noise."""
    image: Any = array_like(floating(im))
    sizes = [3 if mysize is None else mysize] * image.ndim if np.ndim(mysize) == 0 else list(mysize)
    window, count = np.ones(sizes), float(math.prod(sizes))
    mean = correlate(image, window, "same") / count
    spread = correlate(image**2, window, "same") / count - mean**2
    noise = np.mean(spread) if noise is None else noise
    is_noise = spread < noise
    kept = (image - mean) * (1 - noise / np.where(is_noise, 1.0, spread)) + mean
    return np.where(is_noise, mean, kept)
