"""NumPy's sorting and searching.

onnxruntime's TopK keeps equal elements in their order, so every sort here is stable. It cannot order NaN, which NumPy
puts last: NaN is sorted as infinity, and as many last places as there are NaN are then set to NaN.

    np.sort(x)
    becomes
    a: bool[N]                 = IsNaN(x)
    b: float64[N]              = Where(a, inf, x)
    d: float64[N], e: int64[N] = TopK(b, N, axis=0, largest=0)
    k: bool[N]                 = the last places, as many as `a` has True
    l: float64[N]              = Where(k, nan, d)
"""

from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Type, dims
from primsplit.ir.errors import ShapeError, UnsupportedFunction
from primsplit.numpy.axes import END, array_like, delivered, many_axes, one_axis, reduced, size_as, slab, slab_of
from primsplit.numpy.extrema import of_nothing
from primsplit.numpy.reductions import all_of, any_of
from primsplit.numpy.ufuncs import cast_to, select
from primsplit.ops import op
from primsplit.tracing.array import Array, implements
from primsplit.tracing.branching.raising import checked, zero_unless
from primsplit.tracing.broadcasting import count_up, of_shape, reshape_to, zeros_like


def _flat_or(a: Any, axis: Any) -> tuple[Array, int]:
    """The array and the axis to order along: the flat array for None."""
    x = array_like(a)
    if axis is None:
        return reshape_to(x, (x.size,)), 0
    return x, one_axis(axis, x.ndim)


def _sortable(x: Array) -> Array:
    """`x` in a dtype that TopK takes."""
    return cast_to(x, np.int32) if x.dtype in {np.dtype(np.bool_), np.dtype(np.uint16)} else x


def _ascending(x: Array, axis: int) -> tuple[Array, Array]:
    """The elements in order, and where each was. `x` has no NaN."""
    values, places = op.TopK(x, Array(tracing.size_vector([x.shape[axis]])), axis=axis, largest=0)
    return values, places


def sorted_along(x: Array, axis: int) -> Array:
    """`x` in ascending order along an axis, NaN last."""
    if not x.type.is_float:
        return cast_to(_ascending(_sortable(x), axis)[0], x.dtype)
    missing = op.IsNaN(x)
    values, _ = _ascending(op.Where(missing, np.asarray(np.inf, x.dtype), x), axis)
    return op.Where(_in_last_places(missing, axis), np.asarray(np.nan, x.dtype), values, types=[x.type])


def _in_last_places(missing: Array, axis: int) -> Array:
    """Return True in the last places along an axis, as many as `missing` has True there."""
    return op.GreaterOrEqual(positions_along(missing, axis), _count_present(missing, axis))


def _count_present(missing: Array, axis: int) -> Array:
    return reduced("ReduceSum", op.Cast(op.Not(missing), to=np.int64), (axis,), True)


def positions_along(x: Array, axis: int) -> Array:
    """0, 1, 2, ... along an axis of `x`, shaped to broadcast against it."""
    size = x.shape[axis]
    column = tuple(size if i == axis else 1 for i in range(x.ndim))
    return reshape_to(count_up(size), column)


@implements(np.sort)
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Array:
    """np.sort. The cotangent of a place goes to the element that came there."""
    return sorted_along(*_flat_or(a, axis))


@implements("sort_in_place")
def sort_in_place(a: Array, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
    """The method: the array itself is sorted."""
    a.assign(sort(a, axis))


@implements(np.argsort)
def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Array:
    """np.argsort, stable whatever `kind` says."""
    x, place = _flat_or(a, axis)
    if not x.type.is_float:
        return _ascending(_sortable(x), place)[1]
    missing = op.IsNaN(x)
    _, places = _ascending(op.Where(missing, np.asarray(np.inf, x.dtype), x), place)
    return _missing_last(op.GatherElements(missing, places, axis=place), places, place)


def _missing_last(missing: Array, places: Array, axis: int) -> Array:
    """`places` with those that are marked moved behind the others, the order kept otherwise."""
    late = op.Cast(missing, to=np.int64)
    ahead = op.CumSum(op.Sub(1, late), axis, exclusive=1)
    behind = op.Add(op.CumSum(late, axis, exclusive=1), _count_present(missing, axis), types=[late.type])
    return op.ScatterElements(places, op.Where(missing, behind, ahead), places, axis=axis)


@implements(np.partition)
def partition(a: Any, kth: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> Array:
    """np.partition: fully sorted, which is a partition at every place."""
    return sort(*_with_places(a, kth, axis))


@implements("partition_in_place")
def partition_in_place(a: Array, kth: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> None:
    """The method: the array itself is sorted."""
    a.assign(partition(a, kth, axis))


@implements(np.argpartition)
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> Array:
    """np.argpartition: fully sorted, which is a partition at every place."""
    return argsort(*_with_places(a, kth, axis))


def _with_places(a: Any, kth: Any, axis: Any) -> tuple[Array, int]:
    """The array and the axis to order along; a run without a place that is asked for fails. Raises ValueError."""
    x, place = _flat_or(a, axis)
    known = array_like(kth).known()
    if known is None or not known.size:
        return x, place
    least = int(max(known.max() + 1, -known.min()))
    size = x.shape[place]
    if isinstance(size, int) and size < least:
        raise ValueError(f"kth(={kth}) out of bounds ({size})")
    if dims.at_least(size, least):
        return x, place
    # Of nothing NumPy takes any place.
    count, every = (size_as(n, np.int64) for n in (size, x.size))
    wrong = op.And(op.Less(count, least), op.Greater(every, 0))
    return checked(x, wrong, ValueError(f"kth(={kth}) out of bounds")), place


@implements(np.lexsort)
def lexsort(keys: Any, axis: Any = -1) -> Array:
    """np.lexsort: stable sorts by each key, the last one deciding first."""
    rows = [keys[i] for i in range(len(keys))] if isinstance(keys, Array) else [array_like(k) for k in keys]
    place = one_axis(axis, rows[0].ndim)
    if any(not all(map(dims.could_be, r.shape, rows[0].shape)) for r in rows):
        raise ShapeError("the keys of np.lexsort need to be of the same shape", place=tracing.user_place())
    order = argsort(rows[0], place)
    for key in (of_shape(row, rows[0].shape) for row in rows[1:]):
        order = op.GatherElements(order, argsort(op.GatherElements(key, order, axis=place), place), axis=place)
    return order


def _arg_extremum(kind: str, a: Any, axis: Any, out: Any, keepdims: Any) -> Array:
    x = array_like(a)
    flat = axis is None
    rank = x.ndim
    ordered, place = _flat_or(x if x.ndim else reshape_to(x, (1,)), axis)
    found = _first_extremum(kind, _sortable(ordered), place, int(bool(keepdims) and not flat))
    wrong = of_nothing(ordered, (place,))
    if wrong is not None:
        name = "argmax" if kind == "ArgMax" else "argmin"
        found = op.Add(found, zero_unless(wrong, ValueError(f"attempt to get {name} of an empty sequence")))
    if flat and keepdims:
        found = reshape_to(found, (1,) * rank)
    elif rank == 0:
        found = reshape_to(found, ())
    return delivered(found, out)


def _first_extremum(kind: str, x: Array, axis: int, keepdims: int) -> Array:
    """Return the index of the first extremum, or of the first NaN."""
    operator = getattr(op, kind)
    if not x.type.is_float:
        found: Array = operator(x, axis=axis, keepdims=keepdims)
        return found
    missing = op.Cast(op.IsNaN(x), to=np.int32)
    worst = np.asarray(-np.inf if kind == "ArgMax" else np.inf, x.dtype)
    usual = operator(op.Where(op.IsNaN(x), worst, x), axis=axis, keepdims=keepdims)
    some = op.Greater(reduced("ReduceMax", missing, (axis,), keepdims), 0)
    return op.Where(some, op.ArgMax(missing, axis=axis, keepdims=keepdims), usual)


@implements(np.argmax)
def argmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Array:
    """np.argmax: the first of the largest, or the first NaN."""
    return _arg_extremum("ArgMax", a, axis, out, keepdims)


@implements(np.argmin)
def argmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Array:
    """np.argmin: the first of the smallest, or the first NaN."""
    return _arg_extremum("ArgMin", a, axis, out, keepdims)


def _nan_arg_extremum(kind: str, worst: float, a: Any, axis: Any, out: Any, keepdims: Any) -> Array:
    """Return the index of the extremum of all numbers but NaN.

    A run with only NaN fails, where NumPy raises ValueError.
    """
    x = array_like(a)
    if not x.type.is_float:
        return _arg_extremum(kind, x, axis, out, keepdims)
    missing = op.IsNaN(x)
    found = _arg_extremum(kind, op.Where(missing, np.asarray(worst, x.dtype), x), axis, None, keepdims)
    whole = reduced("ReduceMin", op.Cast(missing, to=np.int32), many_axes(axis, x.ndim), False)
    return delivered(found + zero_unless(whole > 0, ValueError("All-NaN slice encountered")), out)


@implements(np.nanargmax)
def nanargmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Array:
    """np.nanargmax."""
    return _nan_arg_extremum("ArgMax", -np.inf, a, axis, out, keepdims)


@implements(np.nanargmin)
def nanargmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Array:
    """np.nanargmin."""
    return _nan_arg_extremum("ArgMin", np.inf, a, axis, out, keepdims)


_WIDENED = frozenset({"bool", "int16", "int32", "uint8", "uint16", "uint32"})
"""Dtypes whose numbers are told apart as int64."""


@implements(np.unique)
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """np.unique. The cotangent of a value goes to its first occurrence. Along an axis there may be no NaN."""
    given = array_like(ar)
    x = cast_to(given, np.int64) if given.dtype.name in _WIDENED else given
    if x.dtype not in {np.dtype(d) for d in ("float16", "float32", "float64", "int8", "int64", "uint64")}:
        raise UnsupportedFunction(
            f"np.unique has no form for {x.dtype}", place=tracing.user_place(), cure="Cast to int64 or a float first."
        )
    place = None if axis is None else one_axis(axis, x.ndim)
    if x.type.is_float and place is None:
        values, index, inverse, counts = _unique_floats(reshape_to(x, (x.size,)), equal_nan)
    else:
        values, index, inverse, counts = op.Unique(x, axis=place, outputs=4)
    shape = x.shape if place is None else (x.shape[place],)
    wanted = ((return_index, index), (return_inverse, reshape_to(inverse, shape)), (return_counts, counts))
    found = [cast_to(values, given.dtype), *(extra for asked, extra in wanted if asked)]
    return found[0] if len(found) == 1 else tuple(found)


def _unique_floats(x: Array, equal_nan: bool) -> tuple[Array, Array, Array, Array]:
    """The values of a vector in order, where each is first, which one each element is, how often each occurs.

    onnxruntime's Unique orders by comparing, which goes wrong where there is NaN. Sorting is stable, so that the first
    of equal elements stays the first.
    """
    order = argsort(x, 0)
    ordered = op.Gather(x, order, axis=0)
    before, after = slab(ordered, 0, 0, -1), slab(ordered, 0, 1, END)
    differs = op.Not(op.Equal(before, after))
    if equal_nan:
        differs = op.And(differs, op.Not(op.IsNaN(before)))
    start = op.Equal(zeros_like(slab(order, 0, 0, 1)), 0)
    is_first = op.Concat(start, differs, axis=0, types=[Type(np.bool_, x.shape)])
    first = op.Compress(order, is_first, axis=0)
    starts = op.Compress(positions_along(x, 0), is_first, axis=0, types=[first.type])
    ends = op.Concat(slab(starts, 0, 1, END), op.Shape(x), axis=0)
    counts = op.Sub(slab_of(ends, 0, first.shape[0]), starts, types=[first.type])
    group = op.Sub(op.CumSum(op.Cast(is_first, to=np.int64), 0), 1)
    return op.Gather(x, first, axis=0), first, op.ScatterElements(order, order, group, axis=0), counts


@implements(np.searchsorted)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Array:
    """np.searchsorted: by comparing with all of a short `a`, else by bisection. NaN comes last."""
    table, wanted = array_like(a), array_like(v)
    if sorter is not None:
        table = op.Gather(table, array_like(sorter))
    dtype = np.result_type(table.dtype, wanted.dtype)
    table, wanted = (_sortable(cast_to(x, dtype)) for x in (table, wanted))
    before = _before if side == "left" else _not_after
    size = table.shape[0]
    if isinstance(size, int) and size <= SHORT:
        smaller = before(table, op.Unsqueeze(wanted, [wanted.ndim]))
        return reduced("ReduceSum", op.Cast(smaller, to=np.int64), (wanted.ndim,), False)
    return _bisected(table, wanted, before)


def _before(entry: Array, wanted: Array) -> Array:
    """Return whether an entry of a table comes before a number."""
    smaller = op.Less(entry, wanted)
    return op.Or(smaller, op.And(op.IsNaN(wanted), op.Not(op.IsNaN(entry)))) if entry.type.is_float else smaller


def _not_after(entry: Array, wanted: Array) -> Array:
    """Return whether an entry of a table comes before a number or is equal to it."""
    smaller = op.LessOrEqual(entry, wanted)
    return op.Or(smaller, op.IsNaN(wanted)) if entry.type.is_float else smaller


SHORT = 64
"""The table size up to which comparing with every entry is as fast as bisection."""


def _bisected(table: Array, wanted: Array, before: Any) -> Array:
    """Return how many of the table's first entries are before each number, one bit at a time from the highest."""
    size = table.shape[0]
    count = size_as(size, np.int64)
    bits = size.bit_length() if isinstance(size, int) else 31
    filled = op.Concat(table, np.zeros(1, table.dtype), axis=0)
    found = op.ConstantOfShape(op.Shape(wanted), value=np.zeros(1, np.int64), types=[_like(wanted)])
    for bit in reversed(range(bits)):
        tried = op.Add(found, 1 << bit)
        entry = op.Gather(filled, op.Min(op.Sub(tried, 1), count))
        fits = op.And(op.LessOrEqual(tried, count), before(entry, wanted))
        found = op.Where(fits, tried, found)
    return found


def _like(x: Array) -> Any:

    return Type(np.int64, x.shape)


@implements(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Array:
    """np.digitize, for bins that rise or fall; NaN does neither."""
    edges, values = array_like(bins), array_like(x)
    known = edges.known()
    side = "left" if right else "right"
    unsorted = ValueError("bins must be monotonically increasing or decreasing")
    rising = searchsorted(edges, values, side)
    if known is not None and np.all(np.diff(known) >= 0):
        return rising
    count = size_as(edges.shape[0], np.int64)
    falling = op.Sub(count, searchsorted(op.Slice(edges, [-1], [-END], [0], [-1]), values, side))
    if known is not None:
        if not np.all(known[1:] <= known[:-1]):
            raise unsorted
        return falling
    before, after = slab(edges, 0, 0, -1), slab(edges, 0, 1, END)
    rises, falls = op.LessOrEqual(before, after), op.GreaterOrEqual(before, after)
    is_wrong = op.And(any_of(op.Not(rises)), any_of(op.Not(falls)))
    falling = op.Add(falling, zero_unless(is_wrong, unsorted))
    rising = op.Add(rising, zero_unless(is_wrong, unsorted))
    return select(op.LessOrEqual(slab(edges, 0, 0, 1), slab(edges, 0, -1, END)), rising, falling)


@implements(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> Array:
    """np.array_equiv, for shapes that broadcast."""
    return all_of(array_like(a1) == array_like(a2))
