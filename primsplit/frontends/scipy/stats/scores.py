"""scipy.stats' scores and transformed samples, traced: standard scores, Box-Cox and Yeo-Johnson powers."""

from dataclasses import replace
from typing import Any

import numpy as np

from primsplit.frontends.scipy.operands import floating
from primsplit.frontends.scipy.signatures import as_scipys
from primsplit.frontends.scipy.stats.samples import count_of, numbers, sample, summary
from primsplit.numpy.ufuncs import ELEMENTWISE
from primsplit.numpy.validity import where_valid
from primsplit.tracing.array import unsupported
from primsplit.tracing.asarray import array_like

__all__ = ["boxcox", "boxcox_llf", "gstd", "gzscore", "yeojohnson", "yeojohnson_llf", "zmap", "zscore"]


@as_scipys("scipy.stats")
def zscore(a: Any, axis: Any, ddof: Any, nan_policy: Any) -> Any:
    """The distances from the mean in standard deviations; NaN where the numbers are equal but for rounding."""
    given: Any = array_like(floating(a))
    if nan_policy == "omit" and isinstance(axis, int):
        held = numbers(given, axis, nan_policy)
        mean, spread = held.mean(held.x, keepdims=True), held.spread(ddof, keepdims=True)
        is_known = spread > np.abs(np.finfo(given.dtype).eps * mean)
        scores = where_valid(is_known, (held.x - mean) / np.where(spread > 0, spread, 1.0))[0]
        return np.where(held.there, scores, np.nan)
    if nan_policy != "propagate":
        raise unsupported(f"scipy.stats.zscore with nan_policy={nan_policy!r} and axis={axis!r}")
    mean, spread = _mean_and_spread(given, axis, ddof)
    is_constant = spread <= np.abs(np.finfo(given.dtype).eps * mean)
    return where_valid(~is_constant, (given - mean) / np.where(is_constant, 1.0, spread))[0]


def _mean_and_spread(x: Any, axis: Any, ddof: Any) -> tuple[Any, Any]:
    return np.mean(x, axis=axis, keepdims=True), np.std(x, axis=axis, ddof=ddof, keepdims=True)


@as_scipys("scipy.stats")
def zmap(scores: Any, compare: Any, axis: Any, ddof: Any) -> Any:
    """The distances from the mean of other numbers in their standard deviations."""
    if scores is compare:
        return zscore(scores, axis, ddof)
    mean, spread = _mean_and_spread(array_like(floating(compare)), axis, ddof)
    return (array_like(floating(scores)) - mean) / spread


@as_scipys("scipy.stats")
def gzscore(a: Any, axis: Any, ddof: Any) -> Any:
    """The scores of the logarithms."""
    return zscore(np.log(array_like(floating(a))), axis=axis, ddof=ddof)


@as_scipys("scipy.stats")
@summary
def gstd(a: Any, axis: Any, ddof: Any, nan_policy: Any, keepdims: Any) -> Any:
    """The exponential of the logarithms' standard deviation."""
    given = numbers(a, axis, nan_policy)
    return np.exp(replace(given, x=np.log(given.x)).spread(ddof, keepdims=keepdims))


@as_scipys("scipy.stats")
def boxcox(x: Any, lmbda: Any) -> Any:
    """(x**lmbda - 1) / lmbda; UnsupportedFunction without an exponent, which SciPy would search for."""
    if lmbda is None:
        raise unsupported("scipy.stats.boxcox without lmbda")
    return ELEMENTWISE["boxcox"](array_like(floating(x)), lmbda)


@as_scipys("scipy.stats")
def yeojohnson(x: Any, lmbda: Any) -> Any:
    """Box and Cox's transformation of x + 1 for positive numbers, that of 1 - x with 2 - lmbda turned round for others.

    UnsupportedFunction without an exponent, which SciPy would search for.
    """
    if lmbda is None:
        raise unsupported("scipy.stats.yeojohnson without lmbda")
    given: Any = array_like(floating(x))
    is_positive = given >= 0
    up = ELEMENTWISE["boxcox1p"](np.where(is_positive, given, 0.0), lmbda)
    down = ELEMENTWISE["boxcox1p"](np.where(is_positive, 0.0, -given), 2.0 - lmbda)
    return np.where(is_positive, up, -down)


@as_scipys("scipy.stats")
@summary
def boxcox_llf(lmb: Any, data: Any, axis: Any, keepdims: Any) -> Any:
    """The log-likelihood of Box and Cox's transformation with this exponent."""
    x, axis = sample(data, axis)
    moved = ELEMENTWISE["boxcox"](x, np.zeros_like(x) + lmb)
    return _likelihood(moved, (lmb - 1) * np.log(x), axis, keepdims=keepdims)


@as_scipys("scipy.stats")
@summary
def yeojohnson_llf(lmb: Any, data: Any, axis: Any, keepdims: Any) -> Any:
    """The log-likelihood of Yeo and Johnson's transformation with this exponent."""
    x, axis = sample(data, axis)
    slopes = (lmb - 1) * np.sign(x) * np.log1p(np.abs(x))
    return _likelihood(yeojohnson(x, lmb), slopes, axis, keepdims=keepdims)


def _likelihood(moved: Any, slopes: Any, axis: int, *, keepdims: Any) -> Any:
    """That of a normal sample, and of the logarithms of the transformation's slopes."""
    spread = np.log(np.var(moved, axis=axis, keepdims=keepdims))
    return np.sum(slopes, axis=axis, keepdims=keepdims) - count_of(moved, axis) / 2 * spread
