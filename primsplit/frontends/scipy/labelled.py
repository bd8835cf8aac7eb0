"""scipy.ndimage's statistics of labelled pixels, with sums in float64; labels may be traced integers too."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.frontends.scipy.operands import double, of_at_least
from primsplit.numpy.scans import lowest
from primsplit.numpy.statistics import safe_root
from primsplit.numpy.ufuncs import cast_to
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import array_like
from primsplit.tracing.broadcasting import count_up

__all__ = ["center_of_mass", "maximum", "mean", "minimum", "standard_deviation", "sum_labels", "variance"]


def _marked(input: Any, labels: Any, index: Any) -> tuple[Any, Any]:
    """The pixels in a row, and which of them belong to each label, in rows of the label's shape."""
    image: Any = array_like(input)
    if labels is None:
        return np.ravel(image), np.ones_like(np.ravel(image), dtype=bool)
    image, given = np.broadcast_arrays(image, array_like(labels))
    marks = np.ravel(given)
    if index is None:
        return np.ravel(image), marks > 0
    wanted = np.asarray(index.known() if isinstance(index, Array) and index.known() is not None else index)
    pixels = of_at_least(np.ravel(image), 1) if wanted.ndim else np.ravel(image)
    return pixels, marks == wanted[..., None]


def sum_labels(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The sum of the pixels of each label."""
    pixels, marks = _marked(double(input), labels, index)
    return np.sum(np.where(marks, pixels, 0.0), axis=-1)


def mean(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The mean of the pixels of each label; NaN where there are none."""
    pixels, marks = _marked(double(input), labels, index)
    return np.sum(np.where(marks, pixels, 0.0), axis=-1) / np.sum(marks, axis=-1)


def variance(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The variance of the pixels of each label; NaN where there are none."""
    pixels, marks = _marked(double(input), labels, index)
    count = np.sum(marks, axis=-1)
    centre = np.sum(np.where(marks, pixels, 0.0), axis=-1) / count
    apart = np.where(marks, pixels - centre[..., None], 0.0)
    return np.sum(apart * apart, axis=-1) / count


def standard_deviation(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The standard deviation of the pixels of each label, whose gradient is 0 where all are equal."""
    return safe_root(array_like(variance(input, labels, index)))


def center_of_mass(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The mean place along each axis of the pixels of each label, weighted by them; a list where there is an index."""
    image: Any = array_like(double(input))
    total = sum_labels(image, labels, index)
    places = (cast_to(count_up(n), image.dtype) for n in image.shape)
    lines = [np.expand_dims(p, [b for b in range(image.ndim) if b != a]) for a, p in enumerate(places)]
    means = [sum_labels(image * line, labels, index) / total for line in lines]
    if labels is None or np.ndim(index) == 0:
        return tuple(means)
    return [tuple(mean[k] for mean in means) for k in range(len(index))]


def maximum(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The largest pixel of each label, 0 where there are none; equal ones share the gradient."""
    return _extreme(np.max, -1, input, labels, index)


def minimum(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The smallest pixel of each label, 0 where there are none; equal ones share the gradient."""
    return _extreme(np.min, 1, input, labels, index)


def _extreme(choose: Callable[..., Any], sign: int, *given: Any) -> Any:
    """The pixel of each label that is chosen, in the dtype of the image."""
    pixels, marks = _marked(*given)
    least = np.asarray(lowest(pixels.dtype, sign), pixels.dtype)
    found = choose(np.where(marks, pixels, least), axis=-1)
    return np.where(np.any(marks, axis=-1), found, np.zeros((), pixels.dtype))
