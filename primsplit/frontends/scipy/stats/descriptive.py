"""scipy.stats' summaries of traced samples: means, moments, correlations, entropies.

Their signatures are SciPy's own. Options that are not supported, such as `nan_policy`, must have SciPy's default, or
are refused.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from primsplit.frontends.scipy.operands import floating, of_at_least, of_length
from primsplit.frontends.scipy.signatures import as_scipys
from primsplit.frontends.scipy.stats.samples import Numbers, count_of, numbers, sample, summary, whole_sample
from primsplit.ir.dims import broadcast_shapes
from primsplit.numpy.axes import size_as
from primsplit.numpy.quantiles import quantiles_or_nan
from primsplit.numpy.refusing import refusing
from primsplit.numpy.ufuncs import ELEMENTWISE, cast_to
from primsplit.numpy.validity import where_valid
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import array_like, holds_traced
from primsplit.tracing.broadcasting import expand_to
from primsplit.tracing.calls.primitive import stop_gradient

__all__ = [
    "describe", "entropy", "gmean", "hmean", "iqr", "kurtosis", "linregress", "median_abs_deviation", "moment",
    "pearsonr", "pmean", "sem", "skew", "variation",
]  # fmt: skip


@as_scipys("scipy.stats")
@summary
def pmean(a: Any, p: Any, axis: Any, dtype: Any, weights: Any, nan_policy: Any, keepdims: Any) -> Any:
    """The power mean; NaN where a number is negative."""
    given = _positive(numbers(a, axis, nan_policy, dtype))
    return _average(given.x**p, given, weights, keepdims=keepdims) ** (1 / p)


@as_scipys("scipy.stats")
@summary
def gmean(a: Any, axis: Any, dtype: Any, weights: Any, nan_policy: Any, keepdims: Any) -> Any:
    """The geometric mean."""
    given = numbers(a, axis, nan_policy, dtype)
    return np.exp(_average(np.log(given.x), given, weights, keepdims=keepdims))


@as_scipys("scipy.stats")
@summary
def hmean(a: Any, axis: Any, dtype: Any, weights: Any, nan_policy: Any, keepdims: Any) -> Any:
    """The harmonic mean; NaN where a number is negative."""
    given = _positive(numbers(a, axis, nan_policy, dtype))
    return 1 / _average(1 / given.x, given, weights, keepdims=keepdims)


def _positive(given: Numbers) -> Numbers:
    """The sample, NaN where a number is negative."""
    is_valid = ~np.any(given.x < 0, axis=given.axis, keepdims=True)
    return replace(given, x=where_valid(is_valid, given.x)[0])


def _average(x: Any, given: Numbers, weights: Any, *, keepdims: Any) -> Any:
    if weights is None:
        return given.mean(x, keepdims=keepdims)
    given_weights = array_like(floating(weights))
    weight: Any = expand_to(given_weights, broadcast_shapes(x.shape, given_weights.shape))
    if given.there is not None:
        weight = np.where(given.there, weight, 0.0)
    terms, total = (np.sum(v, axis=given.axis, keepdims=keepdims) for v in (x * weight, weight))
    return terms / total


def _central(given: Numbers, order: int, *, keepdims: Any = False) -> Any:
    """The mean of powers of the distances from the mean."""
    return given.mean(given.away() ** order, keepdims=keepdims)


@as_scipys("scipy.stats")
@summary
def moment(a: Any, order: Any, axis: Any, nan_policy: Any, center: Any, keepdims: Any) -> Any:
    """The mean of a power of the distances from the mean, or from `center`; of several powers stacked."""
    given = numbers(a, axis, nan_policy)
    apart = given.away() if center is None else given.x - center
    if not np.ndim(order):
        return given.mean(apart**order, keepdims=keepdims)
    return np.stack([given.mean(apart ** int(each), keepdims=keepdims) for each in np.asarray(order)])


@as_scipys("scipy.stats")
@summary
def skew(a: Any, axis: Any, bias: Any, nan_policy: Any, keepdims: Any) -> Any:
    """The third central moment over the cube of the standard deviation; corrected without `bias`."""
    given = numbers(a, axis, nan_policy)
    found = _central(given, 3, keepdims=keepdims) / _central(given, 2, keepdims=keepdims) ** 1.5
    n = given.count(keepdims=keepdims)
    return found if bias else _where_more(n, 2, found * np.sqrt((n - 1.0) * n) / _freed(n, 2), found)


@as_scipys("scipy.stats")
@summary
def kurtosis(a: Any, axis: Any, fisher: Any, bias: Any, nan_policy: Any, keepdims: Any) -> Any:
    """The fourth central moment over the square of the variance, less 3 with `fisher`; corrected without `bias`."""
    given = numbers(a, axis, nan_policy)
    found = _central(given, 4, keepdims=keepdims) / _central(given, 2, keepdims=keepdims) ** 2
    n = given.count(keepdims=keepdims)
    if not bias:
        corrected = ((n**2 - 1.0) * found - 3 * (n - 1.0) ** 2) / (_freed(n, 2) * _freed(n, 3)) + 3
        found = _where_more(n, 3, corrected, found)
    return found - 3 if fisher else found


def _freed(n: Any, fixed: int) -> Any:
    """Return the degrees of freedom of n numbers of which some are fixed, at least 1."""
    return np.maximum(n - float(fixed), 1.0) if isinstance(n, Array) else max(n - float(fixed), 1.0)


def _where_more(n: Any, least: int, corrected: Any, found: Any) -> Any:
    """`corrected` where there are more numbers than `least`, else `found`, as in SciPy."""
    if not isinstance(n, Array):
        return corrected if n > least else found
    return np.where(n > least, corrected, found)


class Description(NamedTuple):
    """The summary of a sample."""

    nobs: Any
    minmax: tuple[Any, Any]
    mean: Any
    variance: Any
    skewness: Any
    kurtosis: Any


@as_scipys("scipy.stats")
def describe(a: Any, axis: Any, ddof: Any, bias: Any) -> Description:
    """Return the count, the least and the largest number, and the moments."""
    given: Any = array_like(floating(a))
    x, along = (np.ravel(given), 0) if axis is None else (given, axis)
    x = of_at_least(x, 1, along)
    return Description(
        x.shape[along],
        (np.min(x, axis=along), np.max(x, axis=along)),
        np.mean(x, axis=along),
        np.var(x, axis=along, ddof=ddof),
        skew(x, axis=along, bias=bias),
        kurtosis(x, axis=along, bias=bias),
    )


@as_scipys("scipy.stats")
@summary
def sem(a: Any, axis: Any, ddof: Any, nan_policy: Any, keepdims: Any) -> Any:
    """The standard deviation over the root of the number."""
    given = numbers(a, axis, nan_policy)
    count = (
        given.count(keepdims=keepdims) if given.there is not None else size_as(given.x.shape[given.axis], given.x.dtype)
    )
    return given.spread(ddof, keepdims=keepdims) / np.sqrt(count)


@as_scipys("scipy.stats")
@summary
def variation(a: Any, axis: Any, nan_policy: Any, ddof: Any, keepdims: Any) -> Any:
    """The standard deviation over the mean."""
    given = numbers(a, axis, nan_policy)
    return given.spread(ddof, keepdims=keepdims) / given.mean(given.x, keepdims=keepdims)


@as_scipys("scipy.stats")
@summary
def entropy(pk: Any, qk: Any, base: Any, axis: Any, keepdims: Any) -> Any:
    """The entropy of probabilities, which are made to sum to 1, or their relative entropy to others.

    The slope by what is 0 is infinite. `slopes_of_none` adds it: multiplied by the slopes of the shares, it would make
    those of all others NaN.
    """
    samples, (axis, *_) = zip(*(sample(k, axis) for k in (pk, qk) if k is not None), strict=True)
    given = np.broadcast_arrays(*samples)
    shares = [k / np.sum(k, axis=axis, keepdims=True) for k in given]
    is_none = shares[0] == 0 if qk is None else (shares[0] == 0) & (shares[1] >= 0)
    held = [np.where(is_none, 1.0, share) for share in shares]
    function = ELEMENTWISE["entr" if qk is None else "rel_entr"]
    terms = np.where(is_none, 0.0, function(*held)) + slopes_of_none(function, is_none, *given)
    found = np.sum(terms, axis=axis, keepdims=keepdims)
    if base is None:
        return found
    return found / np.log(refusing(base, base <= 0, ValueError("`base` must be a positive number or `None`.")))


def slopes_of_none(function: Callable[..., Any], is_none: Any, *given: Any) -> Any:
    """Zeros with the slopes that a function of entropy, which is 0 there and at 1, has where `is_none`.

    A plain 0 for plain arrays.
    """
    if not holds_traced(given):
        return 0.0
    return np.where(is_none, function(*(np.where(is_none, k, 1.0) for k in given)), 0.0)


class Correlation(NamedTuple):
    """The result of `pearsonr`; the p-value is of a t distribution, as in SciPy."""

    statistic: Any
    pvalue: Any


@as_scipys("scipy.stats")
def pearsonr(x: Any, y: Any, alternative: Any, axis: Any) -> Correlation:
    """The correlation of two samples of more than two, and its p-value."""
    (first, place), (second, _) = sample(x, axis), sample(y, axis)
    first = of_at_least(first, 2, place)
    second = of_length(second, first.shape[place], place)
    first, second = (_of_size_1(v - np.mean(v, axis=place, keepdims=True), place) for v in (first, second))
    over = np.sqrt(np.sum(first * first, axis=place) * np.sum(second * second, axis=place))
    r = np.sum(first * second, axis=place) / over
    return Correlation(r, of_correlation(r, count_of(first, place), alternative, 1.0))


def _of_size_1(x: Any, axis: int) -> Any:
    """Return the numbers by the greatest of their sizes, so that no square of one is too large or too small."""
    most = stop_gradient(np.max(np.abs(x), axis=axis, keepdims=True, initial=0.0))
    return x / np.where(most > 0, most, np.ones((), most.dtype))


def of_correlation(r: Any, n: Any, alternative: str, of_two: Any = np.nan) -> Any:
    """The p-value of a correlation against one side or both; of two pairs what is asked for. Raises ValueError."""
    if alternative not in {"two-sided", "less", "greater"}:
        raise ValueError("`alternative` must be 'less', 'greater', or 'two-sided'.")
    both = two_sided(r, n, of_two)
    if alternative == "two-sided":
        return both
    is_far = (r > 0) if alternative == "greater" else (r < 0)
    return np.where(is_far, both / 2, 1 - both / 2)


def two_sided(r: Any, n: Any, of_two: Any = np.nan) -> Any:
    """The two-sided p-value of a correlation; of two pairs, which are always on a line, what is asked for."""
    freedom = np.asarray(n - 2.0) if not isinstance(n, Array) else n - 2.0
    is_two = freedom == 0
    t = np.abs(r) * np.sqrt(np.where(is_two, 1.0, freedom) / np.where(is_two, 1.0, 1 - r * r))
    return np.where(is_two, of_two, 2 * ELEMENTWISE["stdtr"](np.zeros_like(t) + np.where(is_two, 1.0, freedom), -t))


class _Five(NamedTuple):
    slope: Any
    intercept: Any
    rvalue: Any
    pvalue: Any
    stderr: Any


class Line(_Five):
    """The result of `linregress`: five numbers, and one more by its name alone."""

    intercept_stderr: Any


@as_scipys("scipy.stats")
def linregress(x: Any, y: Any, alternative: Any) -> Line:
    """The line of least squares through points, and what is known of it, in float64."""
    (first, _), (second, _) = sample(x, 0, np.float64), sample(y, 0, np.float64)
    first = of_at_least(first, second.shape[0], 0)  # one x for many values has no line, one value for many has
    first, second = np.broadcast_arrays(first, second)
    n = count_of(first, 0)
    is_upright = (np.max(first, initial=-np.inf) == np.min(first, initial=np.inf)) & (n > 1)
    first = refusing(
        first, is_upright, ValueError("Cannot calculate a linear regression if all x values are identical")
    )
    mean, centre = np.mean(first), np.mean(second)
    across, up = first - mean, second - centre
    xx, yy, xy = np.mean(across * across), np.mean(up * up), np.mean(across * up)
    slope = xy / xx
    r = xy / np.sqrt(xx * yy)
    is_two, of_two = n == 2, np.where(yy == 0, 1.0, 0.0)
    error = np.sqrt(np.where(is_two, 1.0, (1 - r * r) * yy / xx) / np.where(is_two, 1.0, n - 2.0))
    error = np.where(is_two, 0.0, error)
    found = Line(slope, centre - slope * mean, r, of_correlation(r, n, alternative, of_two), error)
    found.intercept_stderr = error * np.sqrt(xx + mean * mean)
    return found


@as_scipys("scipy.stats")
def iqr(x: Any, axis: Any, rng: Any, scale: Any, interpolation: Any, keepdims: Any) -> Any:
    """The distance of two percentiles."""
    scale = {"normal": 1.3489795003921634}.get(scale, scale) if isinstance(scale, str) else scale
    given = whole_sample(array_like(floating(x)), axis)
    low, high = quantiles_or_nan(given, np.true_divide(list(rng), 100), axis, interpolation, keepdims)
    return cast_to((high - low) / scale, given.dtype)


@as_scipys("scipy.stats")
@summary
def median_abs_deviation(x: Any, axis: Any, center: Any, scale: Any, keepdims: Any) -> Any:
    """The median of the distances from the median."""
    given, axis = sample(x, axis)
    scale = 0.6744897501960817 if scale == "normal" else scale
    center = np.median if center is None else center
    apart = np.abs(given - center(given, axis=axis, keepdims=True))
    return np.median(apart, axis=axis, keepdims=keepdims) / scale
