"""scipy.stats' ranks, which have no tangent, and rank correlations."""

from typing import Any, NamedTuple

import numpy as np

from primsplit.frontends.scipy.operands import floating, of_length
from primsplit.frontends.scipy.signatures import as_scipys
from primsplit.frontends.scipy.stats.descriptive import two_sided
from primsplit.frontends.scipy.stats.samples import count_of
from primsplit.numpy.ufuncs import cast_to
from primsplit.tracing.array import unsupported
from primsplit.tracing.asarray import array_like

__all__ = ["rankdata", "spearmanr"]


@as_scipys("scipy.stats")
def rankdata(a: Any, method: Any, axis: Any) -> Any:
    """The places in ascending order from 1 on; equal numbers share one by `method`.

    They are NaN where one number is, as in SciPy: those of floats are floats, where SciPy asks the numbers.
    """
    if method not in {"average", "min", "max", "dense", "ordinal"}:
        raise ValueError(f'unknown method "{method}"')
    given: Any = array_like(a)
    x, axis = (np.ravel(given), 0) if axis is None else (given, axis)
    ranks = np.moveaxis(_ranks(np.moveaxis(x, axis, -1), method), -1, axis)
    if not given.type.is_float:
        return ranks if method == "average" else cast_to(ranks, np.int64)
    is_unknown = np.any(np.isnan(x), axis=axis, keepdims=True)
    return np.where(is_unknown, np.nan, cast_to(ranks, np.float64))


def _ranks(x: Any, method: str) -> Any:
    """The ranks along the last axis: as floats for "average", else integers."""
    order = np.argsort(x, axis=-1, kind="stable")
    place = np.argsort(order, axis=-1, kind="stable")
    if method == "ordinal":
        return place + 1
    ordered = np.take_along_axis(x, order, axis=-1)
    is_new = ordered[..., 1:] != ordered[..., :-1]
    ends = np.ones_like(ordered[..., :1], dtype=bool)
    is_first, is_last = np.concatenate([ends, is_new], axis=-1), np.concatenate([is_new, ends], axis=-1)
    if method == "dense":
        return np.take_along_axis(np.cumsum(is_first, axis=-1), place, axis=-1)
    count = np.cumsum(np.ones_like(ordered, dtype=np.int64), axis=-1)
    first = np.maximum.accumulate(np.where(is_first, count, 0), axis=-1)
    turned = np.where(is_last, count, np.iinfo(np.int64).max)[..., ::-1]
    last = np.minimum.accumulate(turned, axis=-1)[..., ::-1]
    found: Any = {"min": first, "max": last, "average": 0.5 * (first + last).astype(np.float64)}[method]
    return np.take_along_axis(found, place, axis=-1)


class Significance(NamedTuple):
    """The result of a rank correlation."""

    statistic: Any
    pvalue: Any


@as_scipys("scipy.stats")
def spearmanr(a: Any, b: Any, axis: Any) -> Significance:
    """The correlation of the ranks of two samples, and its two-sided p-value, that of a t distribution.

    UnsupportedFunction for a table of samples.
    """
    if b is None or np.ndim(a) != 1 or np.ndim(b) != 1:
        raise unsupported("scipy.stats.spearmanr of other than two samples")
    first, second = (_centred(v) for v in (a, of_length(floating(b), np.shape(a)[0])))
    over = np.sqrt(np.sum(first * first) * np.sum(second * second))
    found = np.sum(first * second) / over
    return Significance(found, two_sided(found, count_of(first, 0)))


def _centred(a: Any) -> Any:
    ranks = rankdata(floating(a))
    return ranks - np.mean(ranks)
