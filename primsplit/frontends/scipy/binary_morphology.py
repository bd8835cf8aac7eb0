"""scipy.ndimage's binary morphology of traced images: which elements have all or any neighbours of a kind.

The results are booleans, which have no derivative.
"""

import operator
from typing import Any, NamedTuple

import numpy as np

from primsplit.frontends.scipy.ndimage import check_output, chosen_axes
from primsplit.frontends.scipy.ranks import placed, windows
from primsplit.frontends.scipy.signatures import as_scipys
from primsplit.tracing.array import unsupported
from primsplit.tracing.asarray import array_like
from primsplit.tracing.broadcasting import of_shape

__all__ = ["binary_closing", "binary_dilation", "binary_erosion", "binary_opening"]


class Neighbourhood(NamedTuple):
    """The arguments of SciPy's functions: which neighbours count, the number of iterations, the mask, the border."""

    structure: Any = None
    iterations: Any = 1
    mask: Any = None
    output: Any = None
    border_value: Any = 0
    origin: Any = 0
    axes: Any = None


def _changed(input: Any, given: Neighbourhood, *, is_dilation: bool) -> Any:
    """The image after all iterations. Raises UnsupportedFunction for as many as it takes until nothing changes."""
    check_output(given.output)
    count = operator.index(given.iterations)
    if count < 1:
        raise unsupported("scipy.ndimage's binary morphology until nothing changes (iterations < 1)")
    image = array_like(input) != 0
    mask = given.mask
    if mask is not None:
        mask = of_shape(array_like(mask), image.shape)
    axes = chosen_axes(given.axes, image.ndim)
    picked = _cross(len(axes)) if given.structure is None else np.asarray(given.structure, bool)
    origins = placed(given.origin, picked.shape, mirrored=is_dilation)
    picked = np.flip(picked) if is_dilation else picked
    for _ in range(count):
        numbers = image.astype(np.float32)
        moved = np.stack(windows(numbers, picked, axes, "constant", float(bool(given.border_value)), origins))
        new = (np.max(moved, axis=0) if is_dilation else np.min(moved, axis=0)) > 0
        image = new if mask is None else np.where(mask != 0, new, image)
    return image


def _cross(rank: int) -> Any:
    """An element and those beside it along each axis."""
    return np.abs(np.indices((3,) * rank) - 1).sum(axis=0) <= 1


@as_scipys("scipy.ndimage", Neighbourhood)
def binary_erosion(input: Any, neighbourhood: Neighbourhood) -> Any:
    """Return where all neighbours are true."""
    return _changed(input, neighbourhood, is_dilation=False)


@as_scipys("scipy.ndimage", Neighbourhood)
def binary_dilation(input: Any, neighbourhood: Neighbourhood) -> Any:
    """Return where any neighbour is true."""
    return _changed(input, neighbourhood, is_dilation=True)


@as_scipys("scipy.ndimage", Neighbourhood)
def binary_opening(input: Any, neighbourhood: Neighbourhood) -> Any:
    """An erosion, then a dilation."""
    return _changed(_changed(input, neighbourhood, is_dilation=False), neighbourhood, is_dilation=True)


@as_scipys("scipy.ndimage", Neighbourhood)
def binary_closing(input: Any, neighbourhood: Neighbourhood) -> Any:
    """A dilation, then an erosion."""
    return _changed(_changed(input, neighbourhood, is_dilation=True), neighbourhood, is_dilation=False)
