"""scipy.spatial.distance for traced arrays and NumPy arrays: distances of vectors, and of all pairs of rows.

The distance of equal vectors has the gradient 0, as the norm of the zero vector has.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.scipy.operands import double, not_empty, number_of, of_at_least, of_length
from primsplit.frontends.scipy.stats.descriptive import slopes_of_none
from primsplit.ir.dims import Size
from primsplit.ir.errors import ShapeError
from primsplit.numpy import failing
from primsplit.numpy.axes import size_as
from primsplit.numpy.diagonals import triu_indices
from primsplit.numpy.refusing import refusing
from primsplit.numpy.statistics import safe_root
from primsplit.numpy.ufuncs import ELEMENTWISE
from primsplit.ops import op
from primsplit.tracing.array import Array, unsupported
from primsplit.tracing.asarray import array_like, holds_traced, plain_or_traced

__all__ = [
    "braycurtis",
    "canberra",
    "cdist",
    "chebyshev",
    "cityblock",
    "correlation",
    "cosine",
    "euclidean",
    "jensenshannon",
    "mahalanobis",
    "minkowski",
    "pdist",
    "seuclidean",
    "sqeuclidean",
    "squareform",
]


def euclidean(u: Any, v: Any, w: Any = None) -> Any:
    """The root of the sum of squared differences, in float64."""
    return minkowski(double(u), double(v), 2, w)


def sqeuclidean(u: Any, v: Any, w: Any = None) -> Any:
    """The sum of squared differences."""
    return _narrowed(np.sum(_weighted((double(u) - double(v)) ** 2, w), axis=-1), w, u, v)


def cityblock(u: Any, v: Any, w: Any = None) -> Any:
    """The sum of absolute differences."""
    return _narrowed(np.sum(_weighted(np.abs(double(u) - double(v)), w), axis=-1), w, u, v)


def chebyshev(u: Any, v: Any, w: Any = None) -> Any:
    """The largest absolute difference, of those with a positive weight."""
    apart = np.abs(double(u) - double(v))
    apart = of_at_least(apart, 1) if apart.ndim == 1 else apart
    counted = apart if w is None else np.where(_weights(w) > 0, apart, 0.0)
    return _narrowed(np.max(counted, axis=-1, initial=0.0), None, u, v)


def minkowski(u: Any, v: Any, p: Any = 2, w: Any = None) -> Any:
    """The p-norm of the difference; a weight is that of the p-th power. A run whose p is not positive fails."""
    u, v, w = (None if x is None else failing.finite(plain_or_traced(x)) for x in (u, v, w))
    return _minkowski(u, v, refusing(p, p <= 0, ValueError("p must be greater than 0")), w)


def _minkowski(u: Any, v: Any, p: Any = 2, w: Any = None) -> Any:
    apart = double(u) - double(v)
    if isinstance(p, int | float) and math.isinf(p):
        return chebyshev(u, v, w)
    found = np.linalg.norm(apart if w is None else apart * _weights(w) ** (1 / p), p, axis=-1)
    return _narrowed(found, w, u, v)


def _euclidean(u: Any, v: Any, w: Any = None) -> Any:
    return _minkowski(u, v, 2, w)


def canberra(u: Any, v: Any, w: Any = None) -> Any:
    """The sum of |u - v| / (|u| + |v|), 0 where both are."""
    u, v = double(u), double(v)
    scale = np.abs(u) + np.abs(v)
    return np.sum(_weighted(np.abs(u - v) / np.where(scale == 0, 1.0, scale), w), axis=-1)


def braycurtis(u: Any, v: Any, w: Any = None) -> Any:
    """The sum of |u - v| over that of |u + v|."""
    u, v = double(u), double(v)
    return np.sum(_weighted(np.abs(u - v), w), axis=-1) / np.sum(_weighted(np.abs(u + v), w), axis=-1)


def cosine(u: Any, v: Any, w: Any = None) -> Any:
    """1 less the cosine of the angle between the vectors."""
    x, y = double(u), double(v)
    y = of_length(y, x.shape[-1])
    across, own, other = (np.sum(_weighted(a * b, w), axis=-1) for a, b in ((x, y), (x, x), (y, y)))
    return _narrowed(1.0 - across / np.sqrt(own * other), w, u, v)


def correlation(u: Any, v: Any, w: Any = None, centered: bool = True) -> Any:
    """1 less the correlation of the elements."""
    v = of_length(plain_or_traced(v), plain_or_traced(u).shape[-1])
    return _narrowed(cosine(_centred(u, w), _centred(v, w), w), w, u, v) if centered else cosine(u, v, w)


def _centred(u: Any, w: Any) -> Any:
    u = double(u)
    return u - np.average(u, axis=-1, weights=w, keepdims=True)


def seuclidean(u: Any, v: Any, V: Any) -> Any:
    """The root of the sum of squared differences over the variances `V`, which are positive."""
    weights = _weights(V)
    weights = refusing(weights, np.logical_not(weights > 0), failing.NOT_FINITE)
    return _seuclidean(failing.finite(double(u)), failing.finite(double(v)), weights)


def _seuclidean(u: Any, v: Any, V: Any) -> Any:
    apart = double(u) - double(v)
    return np.linalg.norm(apart / np.sqrt(of_length(double(V), apart.shape[-1])), axis=-1)


def mahalanobis(u: Any, v: Any, VI: Any) -> Any:
    """The root of d VI d^T of the difference d, with the inverse `VI` of a covariance; NaN where that is below 0."""
    apart = double(u) - double(v)
    squared = np.sum((apart @ double(VI)) * apart, axis=-1)
    is_below = squared < 0.0
    root = _root(np.where(is_below, -squared, squared)) * np.where(is_below, np.nan, 1.0)
    return _narrowed(root, None, u, v, VI)


def jensenshannon(p: Any, q: Any, base: Any = None, *, axis: int = 0, keepdims: bool = False) -> Any:
    """The root of the Jensen-Shannon divergence of two distributions, which are scaled to sums of 1."""
    a, b = double(p), double(q)
    x, y = (v / np.sum(v, axis=axis, keepdims=True) for v in (a, b))
    middle, relative = (x + y) / 2, ELEMENTWISE["rel_entr"]
    terms = _relative(x, middle) + slopes_of_none(relative, x == 0, a, b)
    terms = terms + _relative(y, middle) + slopes_of_none(relative, y == 0, b, a)
    found = np.sum(terms, axis=axis, keepdims=keepdims) / 2
    return _narrowed(_root(found if base is None else found / np.log(base)), None, p, q, np.zeros(0, np.float32))


def _narrowed(found: Any, w: Any, *given: Any) -> Any:
    """A distance of float32 or float16 where all the vectors have that; weights are float64 in SciPy."""
    dtype = np.result_type(*(plain_or_traced(x).dtype for x in given))
    return found.astype(dtype) if w is None and dtype.kind == "f" else found


def _relative(p: Any, q: Any) -> Any:
    """p log(p / q), 0 where p is 0, infinite where one of them is negative."""
    some, both = (p > 0) & (q > 0), p + q
    rest = np.where((p == 0) & (q >= 0), 0.0, np.where(np.isnan(both), both, np.inf))
    return np.where(some, p * np.log(np.where(some, p, 1.0) / np.where(some, q, 1.0)), rest)


METRICS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        braycurtis, canberra, chebyshev, cityblock, correlation, cosine, jensenshannon, mahalanobis, sqeuclidean,
    )
} | {"euclidean": _euclidean, "minkowski": _minkowski, "seuclidean": _seuclidean}  # fmt: skip
SHORT = {"manhattan": "cityblock", "l1": "cityblock", "l2": "euclidean", "sqe": "sqeuclidean", "cos": "cosine"}


def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, **options: Any) -> Any:
    """The distances of each row of XA to each row of XB. Raises UnsupportedFunction for another metric or `out`."""
    one, other = _rows(XA), _rows(XB)
    other = of_length(other, one.shape[1])
    function = _metric(metric, out, options, [one, other])
    return function(one[:, None, :], other[None, :, :])


def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **options: Any) -> Any:
    """The distances of all pairs of rows, row by row of their matrix's upper triangle."""
    rows = _rows(X)
    first, second = _pairs(rows.shape[0])
    function = _metric(metric, out, options, [rows])
    return function(np.take(rows, first, axis=0), np.take(rows, second, axis=0))


def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:
    """The symmetric matrix of a vector of distances, or the vector of a matrix; a vector of a wrong length fails."""
    x = plain_or_traced(X)
    if x.ndim == 2 and force.lower() != "tomatrix":
        x = of_length(x, x.shape[0])
        x = _distances(x) if checks else x
        rows, columns = _pairs(x.shape[0])
        return x[rows, columns]
    if x.ndim != 1 or force.lower() == "tovector":
        raise ShapeError("squareform takes a vector or a square matrix", place=tracing.user_place())
    count = x.shape[0]
    if isinstance(count, Size):
        return _matrix_of(array_like(x))
    size = (1 + math.isqrt(1 + 8 * count)) // 2
    if size * (size - 1) // 2 != count:
        raise ShapeError(f"no matrix has {count} pairs of rows", place=tracing.user_place())
    if not count:
        return np.zeros((1, 1), x.dtype)
    places = np.zeros((size, size), np.int64)
    rows, columns = np.triu_indices(size, 1)
    places[rows, columns] = places[columns, rows] = np.arange(count)
    return np.where(np.eye(size, dtype=bool), np.zeros((), x.dtype), np.take(x, places))


def _distances(x: Any) -> Any:
    """A square matrix; a run in which it is not symmetric, or has a diagonal element that is not 0, fails."""
    x = refusing(x, np.logical_not(x == x.T), ValueError("Distance matrix 'X' must be symmetric."))
    return refusing(x, np.logical_not(np.diagonal(x) == 0), ValueError("Distance matrix 'X' diagonal must be zero."))


def _matrix_of(x: Array) -> Array:
    """`squareform` of a vector whose length only the run knows.

    The pair of the rows i < j of n is the element i n - i (i + 1) / 2 + j - i - 1, and n (n - 1) / 2 the length.
    """
    count = size_as(x.shape[0], np.int64)
    root = op.Sqrt(op.Add(op.Mul(op.Cast(count, to=np.float64), 2.0), 0.25))
    size = op.Cast(op.Round(op.Add(root, 0.5)), to=np.int64)
    x = op.Reshape(x, op.Unsqueeze(op.Div(op.Mul(size, op.Sub(size, 1)), 2), [0]))
    numbers = op.Range(np.int64(0), size, np.int64(1))
    here, there = op.Unsqueeze(numbers, [1]), op.Unsqueeze(numbers, [0])
    row, column = op.Min(here, there), op.Max(here, there)
    before = op.Sub(op.Mul(row, size), op.Div(op.Mul(row, op.Add(row, 1)), 2))
    place = op.Sub(op.Add(before, op.Sub(column, row)), 1)
    padded = op.Concat(x, np.zeros(1, x.dtype), axis=0)
    return op.Gather(padded, op.Where(op.Equal(row, column), count, place), axis=0)


def _pairs(size: Any) -> tuple[Any, Any]:
    """The numbers of the rows of each pair."""
    first, second = triu_indices(size, 1) if holds_traced(size) else np.triu_indices(size, 1)
    return first, second


def _metric(metric: Any, out: Any, options: dict[str, Any], rows: list[Any]) -> Callable[[Any, Any], Any]:
    """The distance of vectors along the last axis; what it needs of all rows is computed of them where not given."""
    name = SHORT.get(metric, metric) if isinstance(metric, str) else None
    if name not in METRICS or out is not None:
        raise unsupported(f"scipy.spatial.distance with metric={metric!r}" if out is None else "out= of a distance")
    given = {k: v for k, v in options.items() if v is not None}
    if "w" in given:
        given["w"] = of_length(double(given["w"]), rows[0].shape[1])
    if name == "seuclidean" and "V" not in given:
        given["V"] = _variance(np.concatenate(rows))
    if name == "mahalanobis" and "VI" not in given:
        every = of_at_least(np.concatenate(rows), rows[0].shape[1] + 1, 0)
        given["VI"] = np.linalg.inv(np.atleast_2d(np.cov(every.T))).T
    if name == "jensenshannon":
        # Of no shares SciPy's compiled code says that they are infinitely far apart: such a run fails.
        return lambda u, v: jensenshannon(not_empty(u, [-1]), v, axis=-1, **given)
    return lambda u, v: METRICS[name](u, v, **given)


def _variance(rows: Any) -> Any:
    """The variance of each column; NaN of one row, whose derivatives are 0: there is no other row to be apart from."""
    centred = rows - np.mean(rows, axis=0)
    degrees = number_of(rows.shape[0]) - 1.0
    found = np.sum(centred * centred, axis=0) / np.maximum(degrees, 1.0)
    return np.where(degrees > 0.0, found, np.nan)


def _rows(x: Any) -> Any:
    found = double(x)
    if found.ndim != 2:
        raise ShapeError("distances of rows are those of arrays with two axes", place=tracing.user_place())
    return found


def _root(x: Any) -> Any:
    return safe_root(x) if isinstance(x, Array) else np.sqrt(x)


def _weighted(terms: Any, w: Any) -> Any:
    return terms if w is None else terms * _weights(w)


def _weights(w: Any) -> Any:
    weights = double(w)
    return refusing(weights, weights < 0, ValueError("Input weights should be all non-negative"))
