"""scipy.stats' summaries of a part of a sample: within limits, or without its outermost numbers."""

from typing import Any

import numpy as np

from primsplit.frontends.scipy.operands import floating
from primsplit.frontends.scipy.signatures import as_scipys
from primsplit.frontends.scipy.stats.samples import count_of, sample, summary, whole_sample
from primsplit.numpy.axes import size_as
from primsplit.numpy.refusing import refusing
from primsplit.tracing.asarray import array_like

__all__ = ["kstat", "tmax", "tmean", "tmin", "trim_mean", "tsem", "tstd", "tvar"]


def _whole(a: Any, axis: Any) -> tuple[Any, Any]:
    """The numbers and their axis, all NaN along it where one is."""
    x, axis = sample(a, axis)
    return whole_sample(x, axis), axis


def _within(x: Any, limits: Any, inclusive: Any) -> Any:
    """Which numbers lie between the limits, None for no limit; a run fails where none does."""
    low, high = (None, None) if limits is None else limits
    inside: Any = np.ones_like(x, dtype=bool)
    if low is not None:
        inside = inside & ((x >= low) if inclusive[0] else (x > low))
    if high is not None:
        inside = inside & ((x <= high) if inclusive[1] else (x < high))
    if low is None and high is None:
        return inside
    outside = np.logical_not(inside)  # of an empty sample none is
    is_lost = np.any(outside) & np.all(outside) & np.logical_not(np.any(np.isnan(x)))
    return refusing(inside, is_lost, ValueError("No array values within given limits"))


@as_scipys("scipy.stats")
@summary
def tmean(a: Any, limits: Any, inclusive: Any, axis: Any, keepdims: Any) -> Any:
    """The mean of what is between the limits."""
    x, axis = _whole(a, axis)
    return _moments(x, _within(x, limits, inclusive), axis, keepdims=keepdims)[0]


def _moments(x: Any, inside: Any, axis: Any, *, keepdims: Any, ddof: Any = 0) -> tuple[Any, Any, Any]:
    """The mean and variance of the numbers inside, and how many they are."""
    count = np.sum(inside, axis=axis, keepdims=True, dtype=x.dtype)
    mean = np.sum(np.where(inside, x, 0.0), axis=axis, keepdims=True) / count
    apart = np.where(inside, x - mean, 0.0)
    spread = np.sum(apart * apart, axis=axis, keepdims=True) / np.where(count > 0, count - ddof, 0.0)
    found = (mean, spread, count)
    return found if keepdims else tuple(np.squeeze(v, axis) for v in found)


@as_scipys("scipy.stats")
@summary
def tvar(a: Any, limits: Any, inclusive: Any, axis: Any, ddof: Any, keepdims: Any) -> Any:
    """The variance of what is between the limits."""
    x, axis = _whole(a, axis)
    return _moments(x, _within(x, limits, inclusive), axis, keepdims=keepdims, ddof=ddof)[1]


@as_scipys("scipy.stats")
@summary
def tstd(a: Any, limits: Any, inclusive: Any, axis: Any, ddof: Any, keepdims: Any) -> Any:
    """The standard deviation of what is between the limits."""
    return np.sqrt(tvar(a, limits, inclusive, axis, ddof, keepdims=keepdims))


@as_scipys("scipy.stats")
@summary
def tsem(a: Any, limits: Any, inclusive: Any, axis: Any, ddof: Any, keepdims: Any) -> Any:
    """The standard error of the mean of what is between the limits."""
    x, axis = _whole(a, axis)
    _, spread, count = _moments(x, _within(x, limits, inclusive), axis, keepdims=keepdims, ddof=ddof)
    return np.sqrt(spread / count)


@as_scipys("scipy.stats")
@summary
def tmin(a: Any, lowerlimit: Any, axis: Any, inclusive: Any, keepdims: Any) -> Any:
    """The smallest number that is not below a limit; NaN where there is none."""
    x, axis = _whole(a, axis)
    inside = _within(x, (lowerlimit, None), (inclusive, True))
    found = np.min(np.where(inside, x, np.inf), axis=axis, keepdims=keepdims, initial=np.inf)
    return np.where(np.any(inside, axis=axis, keepdims=keepdims), found, np.nan)


@as_scipys("scipy.stats")
@summary
def tmax(a: Any, upperlimit: Any, axis: Any, inclusive: Any, keepdims: Any) -> Any:
    """The largest number that is not above a limit; NaN where there is none."""
    limit = None if upperlimit is None else -upperlimit
    return -tmin(-array_like(floating(a)), limit, axis, inclusive, keepdims=keepdims)


def _inner(x: Any, share: float, axis: Any) -> tuple[Any, Any]:
    """The numbers in order without a share of them at each end, and their axis. Raises ValueError as SciPy does."""
    if not 0 <= share <= 0.5:
        raise ValueError("Proportion too big.")
    count = x.shape[axis]
    ordered = np.moveaxis(np.sort(x, axis=axis), axis, 0)
    if isinstance(count, int):
        cut: Any = int(share * count)
        return np.moveaxis(ordered[cut : count - cut], 0, axis), axis
    cut = np.floor(share * size_as(count, np.float64)).astype(np.int64)
    return np.moveaxis(ordered[cut : size_as(count, np.int64) - cut], 0, axis), axis


@as_scipys("scipy.stats")
@summary
def trim_mean(a: Any, proportiontocut: Any, axis: Any, keepdims: Any) -> Any:
    """The mean without a share of the numbers at each end."""
    x, axis = _whole(a, axis)
    left, axis = _inner(x, proportiontocut, axis)
    return np.mean(left, axis=axis, keepdims=keepdims)


@as_scipys("scipy.stats")
@summary
def kstat(data: Any, n: Any, axis: Any, keepdims: Any) -> Any:
    """The unbiased estimate of a cumulant, of order 1 to 4, from the central moments.

    Kendall and Stuart, The Advanced Theory of Statistics I, eqs. 12.28-12.29. Raises ValueError for another order.
    """
    if n not in {1, 2, 3, 4}:
        raise ValueError("k-statistics only supported for 1<=n<=4")
    x, axis = sample(data, axis)
    mean = np.mean(x, axis=axis, keepdims=True)
    count = count_of(x, axis) * 1.0
    if n == 1:
        return mean if keepdims else np.squeeze(mean, axis)
    second, third, fourth = (np.mean((x - mean) ** k, axis=axis, keepdims=keepdims) for k in (2, 3, 4))
    if n == 2:
        return second * count / (count - 1)
    if n == 3:
        return third * count**2 / ((count - 1) * (count - 2))
    lead = count**2 / ((count - 1) * (count - 2) * (count - 3))
    return lead * ((count + 1) * fourth - 3 * (count - 1) * second**2)
