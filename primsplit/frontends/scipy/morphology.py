"""scipy.ndimage's grey morphology of traced images: extremes of windows with heights, and operations built on them."""

from typing import Any, NamedTuple

import numpy as np

from primsplit.frontends.scipy.ndimage import as_given, check_output, chosen_axes
from primsplit.frontends.scipy.operands import floating
from primsplit.frontends.scipy.ranks import placed, windows
from primsplit.frontends.scipy.signatures import as_scipys
from primsplit.tracing.asarray import array_like

__all__ = ["grey_closing", "grey_dilation", "grey_erosion", "grey_opening"]


class Window(NamedTuple):
    """The windows: their size, which of their elements count, the heights of these, and the values outside."""

    size: Any = None
    footprint: Any = None
    structure: Any = None
    output: Any = None
    mode: Any = "reflect"
    cval: Any = 0.0
    origin: Any = 0
    axes: Any = None


def _shape(window: Window, count: int) -> tuple[Any, Any]:
    """Which elements count, and how high each is. Raises ValueError as SciPy does."""
    if window.structure is not None:
        heights = np.asarray(window.structure, np.float64)
        picked = np.ones(heights.shape, bool) if window.footprint is None else np.asarray(window.footprint, bool)
        return picked, heights
    if window.footprint is not None:
        picked = np.asarray(window.footprint, bool)
    elif window.size is not None:
        picked = np.ones([window.size] * count if np.ndim(window.size) == 0 else window.size, bool)
    else:
        raise ValueError("size, footprint, or structure must be specified")
    return picked, np.zeros(picked.shape)


def _extreme(input: Any, window: Window, *, is_dilation: bool) -> Any:
    """The largest sum of window and heights, the window turned round; or the smallest difference."""
    check_output(window.output)
    image: Any = array_like(floating(input))
    axes = chosen_axes(window.axes, image.ndim)
    picked, heights = _shape(window, len(axes))
    origins = placed(window.origin, picked.shape, mirrored=is_dilation)
    if is_dilation:
        picked, heights = np.flip(picked), np.flip(heights)
    moved = windows(image, picked, axes, window.mode, window.cval, origins)
    lifts = heights[picked]
    if is_dilation:
        found = np.max(np.stack([w + h for w, h in zip(moved, lifts, strict=True)]), axis=0)
    else:
        found = np.min(np.stack([w - h for w, h in zip(moved, lifts, strict=True)]), axis=0)
    return as_given(found, input)


@as_scipys("scipy.ndimage", Window)
def grey_dilation(input: Any, window: Window) -> Any:
    """The largest number of each window; equal ones share the gradient."""
    return _extreme(input, window, is_dilation=True)


@as_scipys("scipy.ndimage", Window)
def grey_erosion(input: Any, window: Window) -> Any:
    """The smallest number of each window; equal ones share the gradient."""
    return _extreme(input, window, is_dilation=False)


def _opened(input: Any, window: Window) -> Any:
    return _extreme(_extreme(input, window, is_dilation=False), window, is_dilation=True)


def _closed(input: Any, window: Window) -> Any:
    return _extreme(_extreme(input, window, is_dilation=True), window, is_dilation=False)


@as_scipys("scipy.ndimage", Window)
def grey_opening(input: Any, window: Window) -> Any:
    """An erosion, then a dilation."""
    return _opened(input, window)


@as_scipys("scipy.ndimage", Window)
def grey_closing(input: Any, window: Window) -> Any:
    """A dilation, then an erosion."""
    return _closed(input, window)
