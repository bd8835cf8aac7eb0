"""scipy.signal's noise filters: medians and other ranks of windows, and Wiener's filter."""

import math
from typing import Any

import numpy as np

from primsplit.frontends.scipy.ranks import rank_filter
from primsplit.frontends.scipy.signatures import as_scipys

__all__ = ["medfilt", "medfilt2d"]


def _sizes(size: Any, rank: int) -> list[int]:
    """An odd size for each axis, 3 if none is given. Raises ValueError as SciPy does."""
    sizes = [3 if size is None else size] * rank if np.ndim(size) == 0 else [int(n) for n in size]
    if any(n % 2 != 1 for n in sizes):
        raise ValueError("Each element of kernel_size should be odd.")
    return sizes


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
