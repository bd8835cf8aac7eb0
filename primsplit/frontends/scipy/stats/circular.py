"""scipy.stats' summaries of traced angles and directions."""

import math
from typing import Any, NamedTuple

import numpy as np

from primsplit.frontends.scipy.operands import floating
from primsplit.frontends.scipy.signatures import as_scipys
from primsplit.frontends.scipy.stats.samples import sample, summary
from primsplit.numpy.statistics import safe_root
from primsplit.tracing.asarray import array_like

__all__ = ["circmean", "circstd", "circvar", "directional_stats"]


def _sides(samples: Any, period: Any, axis: Any, *, keepdims: Any) -> tuple[Any, Any]:
    """The means of the angles' cosines and sines."""
    x, axis = sample(samples, axis)
    angles = x * (2.0 * math.pi / period)
    return np.mean(np.cos(angles), axis=axis, keepdims=keepdims), np.mean(np.sin(angles), axis=axis, keepdims=keepdims)


@as_scipys("scipy.stats")
@summary
def circmean(samples: Any, high: Any, low: Any, axis: Any, keepdims: Any) -> Any:
    """The direction of the mean of the points on a circle, between `low` and `high`."""
    period = high - low
    across, up = _sides(samples, period, axis, keepdims=keepdims)
    return np.remainder(np.arctan2(up, across) * (period / (2.0 * math.pi)) - low, period) + low


def _length(samples: Any, period: Any, axis: Any, *, keepdims: Any) -> Any:
    """Return the distance of the mean of points on a circle from the centre, at most 1."""
    return np.minimum(np.hypot(*_sides(samples, period, axis, keepdims=keepdims)), 1.0)


@as_scipys("scipy.stats")
@summary
def circvar(samples: Any, high: Any, low: Any, axis: Any, keepdims: Any) -> Any:
    """1 less the length of the mean of the points on a circle."""
    return 1.0 - _length(samples, high - low, axis, keepdims=keepdims)


@as_scipys("scipy.stats")
@summary
def circstd(samples: Any, high: Any, low: Any, axis: Any, normalize: Any, keepdims: Any) -> Any:
    """sqrt(-2 log) of the length of the mean; of angles in a period of 2 pi with `normalize`.

    The gradient is 0 where all angles are equal.
    """
    found = safe_root(-2.0 * np.log(_length(samples, high - low, axis, keepdims=keepdims)))
    return found if normalize else found * ((high - low) / (2.0 * math.pi))


class Directions(NamedTuple):
    """The result of `directional_stats`."""

    mean_direction: Any
    mean_resultant_length: Any


@as_scipys("scipy.stats")
def directional_stats(samples: Any, axis: Any, normalize: Any) -> Directions:
    """The direction and length of the mean of vectors along the last axis."""
    given: Any = array_like(floating(samples))
    if given.ndim < 2:
        raise ValueError(f"samples must at least be two-dimensional. Instead samples has shape: {given.shape}")
    vectors = np.moveaxis(given, axis, 0)
    if normalize:
        vectors = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    mean = np.mean(vectors, axis=0)
    length = np.linalg.norm(mean, axis=-1, keepdims=True)
    return Directions(mean / length, np.squeeze(length, -1))
