"""NumPy's histograms and counts. Weights carry a gradient; the counted values do not."""

from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Type, dims
from primsplit.ir.dims import Dim
from primsplit.ir.errors import DtypeError, ShapeError
from primsplit.numpy.axes import END, array_like, as_size, reduced, size_as, slab
from primsplit.numpy.comparison import isfinite
from primsplit.numpy.cumulative import difference
from primsplit.numpy.joining import joined_dtype
from primsplit.numpy.ordering import searchsorted
from primsplit.numpy.refusing import refusing
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.ops.inference import fresh
from primsplit.tracing.array import Array, implements
from primsplit.tracing.branching.raising import checked, zero_unless
from primsplit.tracing.broadcasting import expand_to, of_shape, reshape_to


def counted(places: Array, weights: Array, size: Any) -> Array:
    """The sum of the weights of each place below `size`, an int or a traced vector of one size."""
    empty = op.ConstantOfShape(
        np.array([size]) if isinstance(size, int) else size,
        value=np.zeros(1, weights.dtype),
        types=[Type(weights.dtype, [size if isinstance(size, int) else fresh("bins")])],
    )
    return op.ScatterElements(empty, places, weights, axis=0, reduction="add")


@implements(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: Dim = 0) -> Array:
    """np.bincount: as many bins as the largest value asks for, at least `minlength`."""
    values = array_like(x)
    if values.dtype.kind not in "iub" or values.ndim != 1:
        raise DtypeError("np.bincount takes integers along one axis", place=tracing.user_place())
    places = cast_to(values, np.int64)
    known = places.known()
    least = as_size(minlength, ValueError("'minlength' must not be negative"))
    negative = ValueError("'list' argument must have no negative elements")
    if isinstance(least, int) and least < 0:
        raise ValueError("'minlength' must not be negative")
    if known is not None and isinstance(least, int):
        if known.min(initial=0) < 0:
            raise negative
        size: Any = max(int(known.max(initial=-1)) + 1, least)
    else:
        largest = op.Add(op.ReduceMax(op.Concat(places, np.array([-1]), axis=0), keepdims=1), 1)
        size = op.Add(op.Max(largest, [least]), zero_unless(op.Less(places, 0), negative))
    if weights is None:
        added = expand_to(array_like(np.ones((), np.int64)), places.shape)
    else:
        added = reshape_to(cast_to(array_like(weights), np.float64), places.shape)
    return counted(places, added, size)


def _edges(values: Array, bins: Any, range_: Any) -> Array:
    """The bins' edges: as given, or evenly between the ends."""
    if isinstance(bins, str):
        raise ShapeError(
            f"bins={bins!r} has no form for traced arrays", place=tracing.user_place(), cure="Pass a number."
        )
    if not isinstance(bins, int | np.integer):
        edges = array_like(bins)
        known = edges.known()
        unsorted = ValueError("`bins` must increase monotonically, when an array")
        if known is None:
            return checked(edges, op.Not(op.GreaterOrEqual(slab(edges, 0, 1, END), slab(edges, 0, 0, -1))), unsorted)
        if np.any(known[1:] < known[:-1]) or np.isnan(known).any():
            raise unsorted
        return edges
    if range_ is not None:
        low, high = _range(*range_)
        low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
        dtype = np.result_type(low, high, values.dtype)
        dtype = dtype if dtype.kind == "f" else np.dtype(np.float64)
        return array_like(np.linspace(low, high, int(bins) + 1, dtype=dtype))
    wide = values if values.type.is_float else cast_to(values, np.float64)
    low, high = op.ReduceMin(wide, keepdims=1), op.ReduceMax(wide, keepdims=1)
    if not dims.at_least(values.size, 1):  # from 0 to 1 where there are none
        is_empty = op.Equal(size_as(values.size, np.int64), np.int64(0))
        low, high = (op.Where(is_empty, np.asarray(end, wide.dtype), x) for end, x in ((0.0, low), (1.0, high)))
    low = checked(low, op.Not(isfinite(wide)), ValueError("autodetected range of histogram bins is not finite"))
    half = op.Where(op.Equal(low, high), np.asarray(0.5, wide.dtype), np.asarray(0.0, wide.dtype))
    low, high = low - half, high + half
    steps = np.linspace(0.0, 1.0, int(bins) + 1).astype(wide.dtype)
    inner = low + (high - low) * steps[:-1]
    return op.Concat(inner, high, axis=0)


def _range(low: Any, high: Any) -> tuple[Any, Any]:
    """The two ends; a run in which they are not finite, or not in order, fails."""
    told = "supplied range is not finite"
    low, high = (refusing(end, np.logical_not(np.isfinite(end)), ValueError(told)) for end in (low, high))
    return low, refusing(high, low > high, ValueError("max must be larger than min in range parameter."))


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Array:
    """np.histogram_bin_edges."""
    values = array_like(a)
    return _edges(reshape_to(values, (values.size,)), bins, range)


@implements(np.histogram)
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Array, Array]:
    """np.histogram, for a number of bins or their edges."""
    values = array_like(a)
    values = reshape_to(values, (values.size,))
    edges = _edges(values, bins, range)
    count = edges.shape[0] - 1
    if not isinstance(count, int):
        raise ShapeError("the number of bins must be known", place=tracing.user_place())
    first, last = (cast_to(slab(edges, 0, *ends), edges.dtype) for ends in ((0, 1), (-1, END)))
    inside = (values >= first) & (values <= last)
    places = op.Min(op.Sub(searchsorted(edges, values, "right"), 1), count - 1)
    if weights is None:
        added = cast_to(inside, np.int64)
    else:
        given = array_like(weights)
        given = of_shape(reshape_to(given, (given.size,)), values.shape)
        added = op.Where(inside, given, np.zeros((), given.dtype))
    found = counted(op.Max(places, 0), added, count)
    if density:
        widths = difference(edges, 0)
        total = cast_to(reduced("ReduceSum", found, (0,), False), np.float64)
        found = cast_to(found, np.float64) / widths / total
    return found, edges


@implements(np.histogramdd)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Array, list[Array]]:
    """np.histogramdd, for numbers of bins or their edges, along each of a known number of axes."""
    columns = _columns(sample)
    count = len(columns)
    _check_lengths(columns, weights)
    each = [bins] * count if isinstance(bins, int | np.integer) else list(bins)
    ranges = [None] * count if range is None else list(range)
    if len(each) != count or len(ranges) != count:
        raise ShapeError("bins and range must have one entry for each dimension", place=tracing.user_place())
    wide = [c if r is None else cast_to(c, np.float64) for c, r in zip(columns, ranges, strict=True)]
    edges = [_edges(c, b, r) for c, b, r in zip(wide, each, ranges, strict=True)]
    sizes = [e.shape[0] - 1 for e in edges]
    if not all(isinstance(n, int) for n in sizes):
        raise ShapeError("the number of bins must be known", place=tracing.user_place())
    inside, places = array_like(np.True_), array_like(np.int64(0))
    for column, edge, size in zip(columns, edges, sizes, strict=True):
        first, last = (slab(edge, 0, *ends) for ends in ((0, 1), (-1, END)))
        inside = inside & (column >= first) & (column <= last)
        place = op.Min(op.Sub(searchsorted(edge, column, "right"), 1), int(size) - 1)
        places = op.Add(op.Mul(places, int(size)), op.Max(place, 0))
    given = array_like(np.float64(1.0)) if weights is None else cast_to(array_like(weights), np.float64)
    added = op.Where(inside, given, np.zeros((), np.float64))
    found = reshape_to(counted(places, added, int(np.prod([int(n) for n in sizes]))), sizes)
    if density:
        total = op.ReduceSum(found, keepdims=0)
        for axis, edge in enumerate(edges):
            found = found / reshape_to(difference(edge, 0), [n if i == axis else 1 for i, n in enumerate(sizes)])
        found = found / total
    return found, edges


def _check_lengths(columns: list[Array], weights: Any) -> None:
    """Raises ValueError as NumPy does where points or weights would be repeated."""
    length = columns[0].shape[0] if columns else 0
    if not all(dims.could_be(c.shape[0], length) for c in columns):
        raise ValueError("x and y must have the same length.")
    if weights is not None and not dims.could_be(array_like(weights).shape[0], length):
        raise ValueError("The weights and list don't have the same length.")


def _columns(sample: Any) -> list[Array]:
    """The coordinates of the points: the columns of a matrix, or vectors in a list."""
    if isinstance(sample, tuple | list):
        given = [array_like(c) for c in sample]
        dtype = joined_dtype(given)
        return [cast_to(c, dtype) for c in given]
    points = array_like(sample)
    if points.ndim != 2 or not isinstance(points.shape[1], int):
        raise ShapeError("a sample is a matrix with a known number of columns", place=tracing.user_place())
    return [op.Gather(points, np.array(i), axis=1) for i in np.arange(points.shape[1])]


@implements(np.histogram2d)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Array, Array, Array]:
    """np.histogram2d, for a number of bins, two of them, or edges."""
    shared = isinstance(bins, Array) or (not isinstance(bins, int | np.integer) and len(bins) != 2)
    found, (first, second) = histogramdd((x, y), [bins, bins] if shared else bins, range, density, weights)
    return found, first, second
