"""scipy.stats' distances between two traced samples, and the entropy of a density from the gaps of a sample."""

import math
from typing import Any

import numpy as np

from primsplit.frontends.scipy.operands import floating, of_at_least, of_length
from primsplit.frontends.scipy.signatures import as_scipys
from primsplit.frontends.scipy.stats.samples import count_of, sample, whole_sample
from primsplit.numpy.refusing import refusing
from primsplit.numpy.validity import where_valid
from primsplit.tracing.array import unsupported
from primsplit.tracing.handles.concretization import literal_size

__all__ = ["differential_entropy", "energy_distance", "wasserstein_distance"]


@as_scipys("scipy.stats")
def wasserstein_distance(u_values: Any, v_values: Any, u_weights: Any, v_weights: Any) -> Any:
    """The area between the distribution functions of two samples, whose numbers may have weights."""
    return _area(np.abs, u_values, v_values, u_weights, v_weights)


@as_scipys("scipy.stats")
def energy_distance(u_values: Any, v_values: Any, u_weights: Any, v_weights: Any) -> Any:
    """The root of twice the area of the squared difference of the distribution functions of two samples."""
    return np.sqrt(2.0 * _area(np.square, u_values, v_values, u_weights, v_weights))


def _area(height: Any, u: Any, v: Any, u_weights: Any, v_weights: Any) -> Any:
    """The area under `height` of the difference of the distribution functions.

    Equal numbers are taken one after the other, as if they were apart, so that each has a slope of its own: the mean of
    those in both orders.
    """
    samples = [whole_sample(of_at_least(sample(x, None)[0], 1), 0) for x in (u, v)]
    first, second = (_shares(x, w) for x, w in zip(samples, (u_weights, v_weights), strict=True))
    whole: Any = np.concatenate(samples)
    steps: Any = np.concatenate([first, -second])
    (steps,) = where_valid(np.logical_not(np.any(np.isnan(whole))), steps)
    areas = []
    for numbers, rises in ((whole, steps), (whole[::-1], steps[::-1])):
        order = np.argsort(numbers, stable=True)
        apart = np.cumsum(np.take(rises, order))
        areas.append(np.sum(height(apart[:-1]) * np.diff(np.take(numbers, order))))
    return (areas[0] + areas[1]) / 2


def _shares(x: Any, weights: Any) -> Any:
    """The part of a sample, or of its weights, that each number has."""
    if weights is None:
        return np.ones_like(x) / count_of(x, 0)
    given = of_length(floating(weights), x.shape[0])
    given = refusing(given, given < 0, ValueError("All weights must be non-negative."))
    total = np.sum(given)
    told = "Weight array-like sum must be positive and finite. Set as None for an equal distribution of weight."
    given = refusing(given, np.logical_not((total > 0) & np.isfinite(total)), ValueError(told))
    return given / total


@as_scipys("scipy.stats")
def differential_entropy(values: Any, window_length: Any, base: Any, axis: Any, method: Any, keepdims: Any) -> Any:
    """The entropy of the density of a sample, by the distances of the numbers in order that are some places apart.

    "vasicek": O. Vasicek, J. R. Stat. Soc. B 38 (1976); "van es": B. van Es, Scand. J. Stat. 19 (1992); "ebrahimi":
    N. Ebrahimi et al., Stat. Probab. Lett. 20 (1994). Raises UnsupportedFunction for "correa".
    """
    x, axis = sample(values, axis)
    ordered = np.moveaxis(np.sort(whole_sample(x, axis), axis=axis), axis, -1)
    count = literal_size(ordered.shape[-1], "scipy.stats.differential_entropy")
    reach = math.floor(math.sqrt(count) + 0.5) if window_length is None else window_length
    if not 2 <= 2 * reach < count:
        raise ValueError(f"Window length ({reach}) must be positive and less than half the sample size ({count}).")
    if method == "auto":
        method = "van es" if count <= 10 else "ebrahimi" if count <= 1000 else "vasicek"
    found = _by_gaps(ordered, count, reach, method)
    found = found if base is None else found / math.log(base)
    return np.expand_dims(found, axis) if keepdims else found


def _by_gaps(ordered: Any, count: int, reach: int, method: str) -> Any:
    if method == "van es":
        gaps = np.log((count + 1) / reach * (ordered[..., reach:] - ordered[..., :-reach]))
        rest = sum(1 / k for k in range(reach, count + 1)) + math.log(reach) - math.log(count + 1)
        return np.mean(gaps, axis=-1) + rest
    if method not in {"vasicek", "ebrahimi"}:
        raise unsupported(f"scipy.stats.differential_entropy with method={method!r}")
    wide = np.pad(ordered, [(0, 0)] * (ordered.ndim - 1) + [(reach, reach)], mode="edge")
    steps = np.full(count, 2.0)
    if method == "ebrahimi":
        near = 1 + np.arange(reach) / reach
        steps[:reach], steps[count - reach :] = near, near[::-1]
    gaps = (wide[..., 2 * reach :] - wide[..., : -2 * reach]) * (count / (steps * reach)).astype(wide.dtype)
    return np.mean(np.log(gaps), axis=-1)
