"""NumPy's order statistics: median, quantile, percentile, by sorting.

The methods and their index formulas are those of Hyndman and Fan, "Sample quantiles in statistical packages", The
American Statistician 50 (1996), as NumPy has them. Along an axis of no elements a median is NaN, and so are the
functions that skip NaN; a quantile is an error as in NumPy, and a run that turns out to have no elements fails.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import dims
from primsplit.ir.dims import Dim, Size
from primsplit.ir.errors import ShapeError
from primsplit.numpy.axes import array_like, delivered, joined_last, many_axes, reduced, size_as, with_ones
from primsplit.numpy.extrema import is_half, of_nothing
from primsplit.numpy.ordering import sorted_along
from primsplit.numpy.ufuncs import cast_to
from primsplit.numpy.validity import defined
from primsplit.numpy.weighted_quantiles import weighted_quantiles
from primsplit.ops import op
from primsplit.tracing.array import Array, implements
from primsplit.tracing.branching.raising import checked
from primsplit.tracing.broadcasting import full, reshape_to, transpose

Places = tuple[Any, Any, Any]
"""The lower place, the upper one, and how far between them."""


def _between(virtual: Any) -> Places:
    lower = np.floor(virtual)
    return lower, lower + 1, virtual - lower


def _interpolated(alpha: float, beta: float) -> Callable[[Any, Any], Places]:
    return lambda n, q: _between(n * q + (alpha + q * (1 - alpha - beta)) - 1)


def _averaged(n: Any, q: Any) -> Places:
    lower, upper, gap = _between(n * q - 1)
    return lower, upper, np.where(gap == 0, 0.5, 1.0)


def _midpoint(n: Any, q: Any) -> Places:
    place = (n - 1) * q
    lower, upper = np.floor(place), np.ceil(place)
    return lower, upper, np.where(lower == upper, 0.0, 0.5)


def _single(choose: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Places]:
    def places(n: Any, q: Any) -> Places:
        chosen = choose(n, q)
        return chosen, chosen, None

    return places


def _inverted(n: Any, q: Any) -> Any:
    lower, upper, gap = _between(n * q - 1)
    return np.where(gap == 0, lower, upper)


def _closest(n: Any, q: Any) -> Any:
    lower, upper, gap = _between(n * q - 1.5)
    return np.where((gap == 0) & (lower % 2 == 1), lower, upper)


METHODS: dict[str, Callable[[Any, Any], Places]] = {
    "linear": lambda n, q: _between((n - 1) * q),
    "interpolated_inverted_cdf": _interpolated(0, 1),
    "hazen": _interpolated(0.5, 0.5),
    "weibull": _interpolated(0, 0),
    "median_unbiased": _interpolated(1 / 3.0, 1 / 3.0),
    "normal_unbiased": _interpolated(3 / 8.0, 3 / 8.0),
    "averaged_inverted_cdf": _averaged,
    "midpoint": _midpoint,
    "lower": _single(lambda n, q: np.floor((n - 1) * q)),
    "higher": _single(lambda n, q: np.ceil((n - 1) * q)),
    "nearest": _single(lambda n, q: np.round((n - 1) * q)),
    "inverted_cdf": _single(_inverted),
    "closest_observation": _single(_closest),
}


class _Sample:
    """Elements sorted along the last axis, and how many of them count: one number, or one a slice without its NaN."""

    def __init__(self, x: Array, axes: Sequence[int], *, skip_nan: bool, has_none: bool) -> None:
        self.joined = joined = joined_last(x, axes)
        self.is_float = x.type.is_float
        self.size: Dim = joined.shape[-1]
        self.last = joined.ndim - 1
        self.skip_nan = skip_nan and self.is_float
        self.count: Any = self.size
        if self.skip_nan:
            present = op.Cast(op.Not(op.IsNaN(joined)), to=np.int64)
            self.count = reduced("ReduceSum", present, (self.last,), True)
        self.ordered = sorted_along(joined, self.last)
        self.has_none = has_none or skip_nan
        """Whether NaN is the result of none; else a run of none fails, as it has no element at any place."""

    def counted_as(self, dtype: Any) -> Any:
        """The count as a Python number where it is known, else traced."""
        if isinstance(self.count, int):
            return self.count
        return size_as(self.count, dtype) if isinstance(self.count, Size) else cast_to(self.count, dtype)

    def at(self, places: Any) -> Array:
        """The elements at places from the front, cut to those there are; the places' axes come last."""
        if isinstance(places, Array):
            index = cast_to(places, np.int64)
            index = op.Max(op.Min(index, self._most()), 0)
        else:
            index = array_like(np.clip(places, 0, int(self.size) - 1).astype(np.int64))
        source = self.ordered
        if self.has_none and not dims.at_least(self.size, 1):
            row = full((*source.shape[:-1], 1), np.zeros((), source.dtype) + _nothing(source.dtype))
            source = op.Concat(source, row, axis=self.last)
        if self.skip_nan:
            return op.GatherElements(source, index, axis=self.last)
        return op.Gather(source, index, axis=self.last)

    def _most(self) -> Any:
        return op.Sub(self.count if isinstance(self.count, Array) else size_as(self.count, np.int64), 1)

    def guarded(self, found: Array, *places: Array) -> Array:
        """`found`, whose last axis is that of the places; NaN for a slice that has NaN.

        Where NaN is skipped, for a slice of nothing else. The derivatives by the sample and by traced places are NaN
        there too.
        """
        if not self.is_float:
            return found
        if self.skip_nan:
            is_unknown = op.Equal(self.count, 0)
        else:
            missing = op.Cast(op.IsNaN(self.ordered), to=np.int64)
            is_unknown = op.Greater(reduced("ReduceSum", missing, (self.last,), True), 0)
        total = cast_to(reduced("ReduceSum", self.joined, (self.last,), True), found.dtype)
        found = op.Where(is_unknown, np.asarray(np.nan, found.dtype), found, types=[found.type])
        answer: Array = defined(found, total, *places)
        return answer


def _nothing(dtype: np.dtype[Any]) -> Any:
    """Return the result for an axis without elements: NaN, or 0 for integers and bools."""
    return np.asarray(np.nan if dtype.kind not in "iub" else 0, dtype)


def _lerp(lower: Array, upper: Array, gap: Any, dtype: np.dtype[Any]) -> Array:
    """NumPy's interpolation: from the nearer end, so that it is exact at both."""
    if not lower.type.is_float:
        lower, upper = cast_to(lower, dtype), cast_to(upper, dtype)
    width = cast_to(op.Sub(upper, lower), dtype)
    lower, upper = cast_to(lower, dtype), cast_to(upper, dtype)
    if isinstance(gap, Array):
        gap = cast_to(gap, dtype)
    else:
        gap = np.asarray(gap, dtype)
        if np.all(gap < 0.5):
            return op.Add(lower, op.Mul(width, gap))
        if np.all(gap >= 0.5):
            return op.Sub(upper, op.Mul(width, 1 - gap))
    return op.Where(gap >= 0.5, upper - width * (1 - gap), lower + width * gap)


def quantiles_or_nan(x: Array, q: np.ndarray[Any, Any], axis: Any, method: str, keepdims: Any) -> Array:
    """The quantiles along an axis; NaN of no elements."""
    return _quantiles(x, q, axis, None, method, keepdims, weak=False, skip_nan=False, has_none=True)


def _quantiles(
    a: Any,
    q: Any,
    axis: Any,
    out: Any,
    method: str,
    keepdims: Any,
    *,
    weak: bool,
    skip_nan: bool,
    has_none: bool = False,
) -> Array:
    x = array_like(a)
    if method not in METHODS:
        raise ShapeError(f"{method!r} is no method; there are {', '.join(METHODS)}", place=tracing.user_place())
    q = _in_range(q)
    axes = many_axes(axis, x.ndim)
    sample = _Sample(x, axes, skip_nan=skip_nan, has_none=has_none)
    if not sample.has_none and dims.same(sample.size, 0):
        raise ShapeError("a quantile of no elements", place=tracing.user_place())
    flat = reshape_to(q, (q.size,)) if isinstance(q, Array) else q.reshape(-1)
    if flat.dtype.itemsize == 2:  # which cannot count the elements of a long axis
        flat = cast_to(flat, np.float64) if isinstance(flat, Array) else flat.astype(np.float64)
    lower, upper, gap = METHODS[method](sample.counted_as(flat.dtype), flat)
    if gap is None:
        found = sample.guarded(sample.at(lower))
    else:
        dtype = np.result_type(x.dtype, np.float64) if not x.type.is_float else x.dtype
        dtype = dtype if weak else np.result_type(dtype, q.dtype)
        found = _lerp(sample.at(lower), sample.at(upper), gap, dtype)
        none = of_nothing(x, axes) if skip_nan and not x.type.is_float else None
        found = found if none is None else op.Where(none, np.asarray(np.nan, dtype), found)
        found = sample.guarded(found, *((flat,) if isinstance(flat, Array) else ()))
    return delivered(_placed(found, q.shape, x.ndim, axes, bool(keepdims)), out)


def _in_range(q: Any) -> Any:
    """The quantiles; a run in which one is not between 0 and 1 fails. Raises ShapeError for known ones."""
    if isinstance(q, Array):
        wrong = op.Not(op.And(op.GreaterOrEqual(q, 0), op.LessOrEqual(q, 1)))
        return checked(q, wrong, ValueError("Quantiles must be in the range [0, 1], percentiles in [0, 100]"))
    if not np.all((q >= 0) & (q <= 1)):
        raise ShapeError("quantiles are between 0 and 1, percentiles between 0 and 100", place=tracing.user_place())
    return q


def _placed(found: Array, shape: tuple[Dim, ...], rank: int, axes: Sequence[int], keepdims: bool) -> Array:
    """The last axis, the quantiles, moved to the front in the shape of q, and ones put where was reduced."""
    last = found.ndim - 1
    moved = transpose(found, (last, *range(last)))
    moved = reshape_to(moved, (*shape, *moved.shape[1:]))
    return with_ones(moved, [len(shape) + a for a in axes]) if keepdims and rank else moved


def _quantile_argument(q: Any) -> tuple[Any, bool]:
    """The quantiles, as an array or traced, and whether they are a Python number, which takes the array's dtype."""
    weak = isinstance(q, int | float) and not isinstance(q, np.generic)
    if isinstance(q, Array):
        return (q if q.type.is_float else cast_to(q, np.float64)), q.weak
    array = np.asarray(q)
    return (array if array.dtype.kind == "f" else array.astype(np.float64)), weak


def _weighted(
    a: Any, q: Any, axis: Any, out: Any, method: str, keepdims: Any, *, weights: Any, skip_nan: bool
) -> Array:
    if method != "inverted_cdf":
        raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
    x = array_like(a)
    axes = many_axes(axis, x.ndim)
    q = _in_range(q)
    flat = reshape_to(q, (q.size,)) if isinstance(q, Array) else q.reshape(-1)
    found = weighted_quantiles(x, flat, weights, axis, axes, skip_nan=skip_nan)
    return delivered(_placed(found, q.shape, x.ndim, axes, bool(keepdims)), out)


def _percentile_argument(a: Any, q: Any) -> tuple[Any, bool]:
    """Percentiles as quantiles, divided in the array's dtype as NumPy does."""
    weak = isinstance(q, int | float) and not isinstance(q, np.generic)
    if isinstance(q, Array):
        return q / 100, weak
    dtype = array_like(a).dtype
    hundred = np.asarray(100, dtype)[()] if dtype.kind == "f" else 100
    return np.asarray(np.true_divide(q, hundred)), weak


def _make(name: str, *, percent: bool, skip_nan: bool) -> None:
    def function(
        a: Any,
        q: Any,
        axis: Any = None,
        out: Any = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: Any = False,
        *,
        weights: Any = None,
    ) -> Array:
        if method == "linear" and not (percent or isinstance(q, Array)) and np.asarray(q).dtype.kind in "iu":
            method = "lower"  # the smallest and the largest element, in their own dtype
        quantiles, weak = _percentile_argument(a, q) if percent else _quantile_argument(q)
        if weights is not None:
            return _weighted(a, quantiles, axis, out, method, keepdims, weights=weights, skip_nan=skip_nan)
        return _quantiles(a, quantiles, axis, out, method, keepdims, weak=weak, skip_nan=skip_nan)

    implements(getattr(np, name))(function)


_make("quantile", percent=False, skip_nan=False)
_make("percentile", percent=True, skip_nan=False)
_make("nanquantile", percent=False, skip_nan=True)
_make("nanpercentile", percent=True, skip_nan=True)


def _median(a: Any, axis: Any, out: Any, keepdims: Any, *, skip_nan: bool) -> Array:
    """The middle element, or the mean of the two middle ones."""
    given = array_like(a)
    x = given if given.type.is_float else cast_to(given, np.float64)
    axes = many_axes(axis, x.ndim)
    sample = _Sample(x, axes, skip_nan=skip_nan, has_none=True)
    lower: Any
    upper: Any
    if isinstance(sample.count, int):
        lower, upper = np.array([(sample.count - 1) // 2]), np.array([sample.count // 2])
    else:
        whole = sample.counted_as(np.int64)
        whole = whole if whole.ndim else reshape_to(whole, (1,))
        lower, upper = op.Div(op.Sub(whole, 1), 2), op.Div(whole, 2)
    wide = np.dtype(np.float32) if is_half(x) else x.dtype
    if isinstance(lower, np.ndarray) and lower[0] == upper[0]:
        found = sample.at(lower)
    else:
        low, high = cast_to(sample.at(lower), wide), cast_to(sample.at(upper), wide)
        found = cast_to(low * 0.5 + high * 0.5, x.dtype)
    return delivered(_placed(sample.guarded(found), (), x.ndim, axes, bool(keepdims)), out)


@implements(np.median)
def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Array:
    """np.median."""
    return _median(a, axis, out, keepdims, skip_nan=False)


@implements(np.nanmedian)
def nanmedian(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Array:
    """np.nanmedian."""
    return _median(a, axis, out, keepdims, skip_nan=True)
