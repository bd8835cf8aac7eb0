"""Functions that select or write elements: take, choose, select, compress, put, place, copyto and the like."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import dims
from primsplit.ir.dims import Dim, Shape, Size, broadcast_shapes
from primsplit.ir.errors import DtypeError, IndexingError, ShapeError
from primsplit.numpy.axes import array_like, delivered, many_axes, one_axis, size_as
from primsplit.numpy.indexing import as_written, setitem
from primsplit.numpy.joining import joined_dtype
from primsplit.numpy.keys import as_int64, places_of
from primsplit.numpy.layout import as_shape, reshape
from primsplit.numpy.memory_order import order_name
from primsplit.numpy.repetition import resize
from primsplit.numpy.ufuncs import Casting, cast_to, select, wrapped_to
from primsplit.numpy.writing import fitted
from primsplit.ops import op
from primsplit.tracing.array import Array, implements
from primsplit.tracing.asarray import as_array
from primsplit.tracing.branching.raising import zero_unless
from primsplit.tracing.broadcasting import count_up, expand_to, reshape_strictly, reshape_to


def _indices(indices: Any, mode: str, size: Any) -> Any:
    """Indices as `x[...]` takes them, brought into range by the mode."""
    if mode == "raise":
        return indices if isinstance(indices, Array | Size) else np.asarray(indices)
    found = as_int64(array_like(indices))
    last = size_as(size, np.int64)
    if mode == "wrap":
        return op.Mod(found, last)
    if mode == "clip":
        return op.Max(op.Min(found, last - 1), 0)
    raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")


@implements(np.take)
def take(x: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise") -> Array:
    """The slices at these indices along the axis; of all elements in a row for None."""
    x = array_like(x)
    x, axis = (reshape(x, -1), 0) if axis is None else (x, one_axis(axis, x.ndim))
    key = _indices(indices, mode, x.shape[axis])
    return delivered(Array(x[(*(slice(None),) * axis, key)].value), out)


@implements(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Array:
    """The elements at these indices along the axis, one index for each element of the result."""
    x, places, axis = _along_axis(arr, indices, axis)
    lead = [_met(d, p) if i != axis else d for i, (d, p) in enumerate(zip(x.shape, places.shape, strict=True))]
    wide = expand_to(
        places, tuple(p if i == axis else d for i, (d, p) in enumerate(zip(lead, places.shape, strict=True)))
    )
    return op.GatherElements(expand_to(x, tuple(lead)), wide, axis=axis)


def _met(a: Any, b: Any) -> Any:
    return broadcast_shapes((a,), (b,))[0]


def _along_axis(arr: Any, indices: Any, axis: int | None) -> tuple[Array, Array, int]:
    x, places = array_like(arr), array_like(indices)
    if places.dtype.kind not in "iu":
        raise IndexingError("`indices` must be an integer array", place=tracing.user_place())
    if axis is None:
        x, axis = reshape(x, -1), 0
    if x.ndim != places.ndim:
        raise ShapeError("`indices` and `arr` must have the same number of dimensions", place=tracing.user_place())
    return x, as_int64(places), one_axis(axis, x.ndim)


@implements(np.put_along_axis)
def put_along_axis(arr: Array, indices: Any, values: Any, axis: int | None) -> None:
    """Write values to these indices along the axis, the last one where an index is repeated."""
    x, places, place = _along_axis(arr, indices, axis)
    if axis is None:
        put(arr, places, values)
        return
    key = [places if i == place else _column(count_up(n), i, x.ndim) for i, n in enumerate(x.shape)]
    setitem(arr, tuple(key), values)


def _column(numbers: Array, axis: int, rank: int) -> Array:
    return reshape_to(numbers, [numbers.shape[0] if i == axis else 1 for i in range(rank)])


@implements(np.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Array:
    """For each element of `a`, the element of the choice that it numbers."""
    given = [array_like(c) for c in choices]
    dtype = _common_dtype(given)
    number = _indices(a, mode, len(given))
    number = as_int64(array_like(number))
    if mode == "raise":
        number = _in_bounds(number, len(given), "invalid entry in choice array")
    shape = broadcast_shapes(number.shape, *(c.shape for c in given))
    stacked = op.Concat(*(op.Unsqueeze(expand_to(wrapped_to(c, dtype), shape), [0]) for c in given), axis=0)
    picked = op.GatherElements(stacked, op.Unsqueeze(expand_to(number, shape), [0]), axis=0)
    return delivered(op.Squeeze(picked, [0]), out)


@implements(np.select)
def select_first(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Array:
    """Return for each place the choice of the first condition that holds; the default where none holds."""
    if len(condlist) != len(choicelist) or not condlist:
        raise ShapeError(
            "list of cases must be same length as list of conditions, and not empty", place=tracing.user_place()
        )
    conditions = [array_like(c) for c in condlist]
    if any(c.dtype != np.bool_ for c in conditions):
        raise DtypeError("the conditions of np.select must be boolean", place=tracing.user_place())
    found = [array_like(c) for c in (*choicelist, default)]
    dtype = _common_dtype(found)
    cast = [wrapped_to(c, dtype) for c in found]
    result = cast[-1]
    for condition, choice in zip(reversed(conditions), reversed(cast[:-1]), strict=True):
        result = select(condition, choice, result)
    return result


def _common_dtype(arrays: Sequence[Array]) -> np.dtype[Any]:
    """The dtype of arrays and Python numbers together: a number's kind counts, its width does not."""
    if all(a.weak for a in arrays):
        return joined_dtype(arrays)
    strong = joined_dtype([a for a in arrays if not a.weak])
    for array in arrays:
        if array.weak and array.dtype != np.bool_:
            number = 0 if array.dtype.kind in "iu" else 0.0
            strong = strong if strong.kind == "V" else np.result_type(strong, number)
    return strong


@implements(np.compress)
def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Array:
    """The slices where a row of booleans, which may be shorter than the axis, is True."""
    a = array_like(a)
    a, axis = (reshape(a, -1), 0) if axis is None else (a, one_axis(axis, a.ndim))
    mask = cast_to(array_like(condition), bool)
    if mask.ndim != 1:
        raise ShapeError("condition must be a 1-d array", place=tracing.user_place())
    picked = op.Squeeze(places_of(mask), [1])
    known = mask.known()
    if known is not None:
        picked = Array(tracing.constant(np.flatnonzero(known)))
    return delivered(op.Gather(a, picked, axis=axis), out)


@implements("compress")
def compress_method(a: Array, condition: Any, axis: int | None = None, out: Any = None) -> Array:
    """`a.compress(condition, axis)`."""
    return compress(condition, a, axis, out)


@implements(np.extract)
def extract(condition: Any, arr: Any) -> Array:
    """The elements, in a row, where the condition is True."""
    return compress(reshape(cast_to(array_like(condition), bool), -1), reshape(arr, -1))


@implements(np.put)
def put(a: Array, ind: Any, v: Any, mode: str = "raise") -> None:
    """Write `v`, repeated as needed, to these places of all elements in a row."""
    new = as_written(v, a)
    row = reshape_to(Array(a.value), (a.size,))
    places = array_like(_indices(ind, mode, a.size))
    places = reshape_to(places, (places.size,))
    new = expand_to(new, places.shape) if new.ndim == 0 else resize(new, places.shape)
    setitem(row, places, new)
    a.assign(reshape_to(Array(row.value), a.shape))


@implements(np.place)
def place(arr: Array, mask: Any, vals: Any) -> None:
    """Write `vals`, repeated as needed, to the elements where the mask is True."""
    new = as_written(vals, arr)
    new = reshape_to(new, (new.size,))
    row = reshape_to(Array(arr.value), (arr.size,))
    condition = _of_one_size(cast_to(array_like(mask), bool), row.shape)
    places = op.Squeeze(places_of(condition), [1])
    numbers = op.Mod(count_up(places.shape[0]), op.Max(size_as(new.size, np.int64), 1))
    done = op.ScatterND(row, op.Unsqueeze(places, [1]), op.Gather(new, numbers))
    arr.assign(reshape_to(done, arr.shape))


@implements(np.putmask)
def putmask(a: Array, mask: Any, values: Any) -> None:
    """Write the elements of `values` where the mask is True, each from the same flat place, repeated as needed."""
    new = as_written(values, a)
    wide = expand_to(new, a.shape) if new.ndim == 0 else resize(new, a.shape)
    a.assign(select(_of_one_size(cast_to(array_like(mask), bool), a.shape), wide, Array(a.value)))


def _of_one_size(mask: Array, shape: Shape) -> Array:
    """The mask in this shape; a run in which that has not as many elements fails. Raises ShapeError if it never has."""
    if dims.same_shape(mask.shape, shape):
        return mask
    if not dims.could_be(mask.size, dims.product(shape)):
        raise ShapeError("mask and data must be the same size", place=tracing.user_place())
    return reshape_strictly(mask, shape)


@implements(np.copyto)
def copyto(dst: Any, src: Any, casting: Casting = "same_kind", where: Any = True) -> None:
    """Write `src` to `dst` where `where` is True. Raises DtypeError where `casting` forbids it."""
    source = as_array(src) if not isinstance(src, list | tuple) else array_like(src)
    new = as_written(source, dst)
    if not source.weak and not np.can_cast(source.dtype, dst.dtype, casting):
        raise DtypeError(
            f"Cannot cast array data from {source.dtype} to {dst.dtype} according to the rule {casting!r}",
            place=tracing.user_place(),
        )
    if where is True:
        setitem(dst, Ellipsis, new)
        return
    condition, wide = (_fitting(v, dst.shape) for v in (cast_to(array_like(where), bool), new))
    dst.assign(expand_to(select(condition, wide, Array(dst.value)), dst.shape))


def _fitting(v: Array, shape: Shape) -> Array:
    """`v`, which broadcasts to the shape; a run in which it does not fails."""
    pairs = zip(reversed(v.shape), reversed(shape), strict=False)
    is_sure = v.ndim <= len(shape) and all(dims.is_one(d) or dims.same(d, s) for d, s in pairs)
    return v if is_sure else fitted(v, shape)


@implements(np.nonzero)
def nonzero(a: Any) -> tuple[Array, ...]:
    """The indices of the elements that are not zero, one array an axis."""
    a = array_like(a)
    places = places_of(cast_to(a, bool))
    return tuple(op.Gather(places, i, axis=1) for i in range(a.ndim))


@implements(np.flatnonzero)
def flatnonzero(a: Any) -> Array:
    """The places, of all elements in a row, that are not zero."""
    return nonzero(reshape(a, -1))[0]


@implements(np.argwhere)
def argwhere(a: Any) -> Array:
    """The indices of the elements that are not zero, one row an element; a number has none."""
    flags = cast_to(array_like(a), bool)
    return places_of(flags) if flags.shape else places_of(flags.reshape(1))[:, :0]


@implements(np.ix_)
def ix(*args: Any) -> tuple[Array, ...]:
    """Index arrays of which each has an axis of its own."""
    rank = len(args)
    found: list[Array] = []
    for axis, arg in enumerate(args):
        numbers = array_like(arg)
        if numbers.ndim != 1:
            raise ShapeError("Cross index must be 1 dimensional", place=tracing.user_place())
        if numbers.dtype == np.bool_:
            numbers = flatnonzero(numbers)
        found.append(_column(numbers, axis, rank))
    return tuple(found)


@implements(np.ravel_multi_index)
def ravel_multi_index(
    multi_index: Sequence[Any], dims: Any, mode: str | Sequence[str] = "raise", order: str = "C"
) -> Array:
    """The places, of all elements in a row, that these indices name, counted in int64 whatever counts them.

    A run in which one is out of bounds fails, as for places in `unravel_index`.
    """
    total: Any = 0
    modes = [mode] * len(dims) if isinstance(mode, str) else mode
    axes = list(zip(multi_index, dims, modes, strict=True))
    for index, size, way in axes if order_name(order) == "C" else reversed(axes):
        found = as_int64(array_like(_indices(index, way, size)))
        total = (_in_bounds(found, size) if way == "raise" else found) + total * size
    return array_like(total)


def _in_bounds(index: Array, size: Dim, told: str = "") -> Array:
    """The indices, none of which is negative or as large as the size; a run with another fails.

    Raises ValueError for those that are known, as NumPy does.
    """
    error = ValueError(told or f"an index is out of bounds for an array with size {size}")
    known = index.known()
    if known is not None and known.size:
        if known.min() < 0 or (isinstance(size, int) and known.max() >= size):
            raise error
        if dims.at_least(size, int(known.max()) + 1):
            return index
    wrong = op.Or(op.Less(index, 0), op.GreaterOrEqual(index, size_as(size, np.int64)))
    return op.Add(index, zero_unless(wrong, error))


@implements(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Array, ...]:
    """The indices, one array an axis, of places of all elements in a row. A run with one out of range fails."""
    rest = _in_bounds(as_int64(array_like(indices)), dims.product(as_shape(shape)))
    found: list[Array] = []
    sizes = [1 if dims.same(n, 0) else n for n in as_shape(shape)]  # nothing has a place, and none divides by 0
    is_by_rows = order_name(order) == "C"
    for size in reversed(sizes) if is_by_rows else sizes:
        divisor = size_as(size, np.int64)
        found.append(op.Mod(rest, divisor))
        rest = op.Div(rest, divisor)
    return tuple(reversed(found) if is_by_rows else found)


@implements(np.trim_zeros)
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Array:
    """np.trim_zeros of a vector; how much is left, only the run knows."""
    x = array_like(filt)
    if x.ndim != 1:
        raise ShapeError("np.trim_zeros of a traced array takes a vector", place=tracing.user_place())
    if trim.lower() not in {"f", "b", "fb", "bf"}:
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    if not many_axes(axis, x.ndim):
        return Array(x.value)
    places = flatnonzero(x)
    none, size = np.zeros(1, np.int64), size_as(x.shape[0], np.int64)
    end = op.Squeeze(op.ReduceMax(op.Concat(places + 1, none, axis=0), [0]), [0])
    start = op.Squeeze(op.ReduceMin(op.Concat(places, op.Unsqueeze(size, [0]), axis=0), [0]), [0])
    cut = slice(start if "f" in trim.lower() else None, end if "b" in trim.lower() else None)
    found: Array = x[cut]
    return found
