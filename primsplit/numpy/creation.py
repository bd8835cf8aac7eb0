"""Functions that make arrays, such as zeros_like, and the array namespace, whose shapes only the run may know."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir import dims
from primsplit.ir.dims import Dim, Size
from primsplit.numpy.axes import array_like, as_count_or_none, as_size, size_as
from primsplit.numpy.joining import joined_dtype, stack
from primsplit.numpy.layout import as_shape, astype, fresh, maybe_copy
from primsplit.numpy.memory_order import order_name
from primsplit.numpy.ufuncs import call, cast_to, check_fits
from primsplit.ops import op
from primsplit.tracing.array import Array, implements, made_of_number
from primsplit.tracing.asarray import as_array, holds_traced
from primsplit.tracing.broadcasting import count_up, expand_to, full, reshape_to


def constant_like(value: Any) -> Array:
    """A constant of the program."""
    return Array(tracing.constant(np.asarray(value)))


@implements(np.full_like)
def full_like(
    a: Any,
    fill_value: Any,
    dtype: npt.DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Array:
    """`fill_value` with the shape and dtype of `a`."""
    a = array_like(a)
    wanted = a.dtype if dtype is None else np.dtype(dtype)
    return fresh(_filled(a.shape if shape is None else as_shape(shape), fill_value, wanted), order, a)


def _filled(shape: Sequence[Dim], value: Any, dtype: np.dtype[Any]) -> Array:
    found = cast_to(array_like(value), dtype)
    known = found.known()
    if known is not None and known.ndim == 0:
        return full(shape, known)
    return Array(expand_to(found, tuple(shape)).value)


def _constant_like(function: Any, fill: int) -> Callable[..., Array]:
    """The function that makes an array with the shape and dtype of another, all of one number."""

    @implements(function)
    def filled_like(
        a: Any,
        dtype: npt.DTypeLike | None = None,
        order: str = "K",
        subok: bool = True,
        shape: Any = None,
        *,
        device: Any = None,
    ) -> Array:
        return full_like(a, fill, dtype, order, shape=shape)

    return filled_like


zeros_like = _constant_like(np.zeros_like, 0)
ones_like = _constant_like(np.ones_like, 1)
# A program has no elements that nobody set: empty arrays hold zeros.
empty_like = _constant_like(np.empty_like, 0)


# The functions that NumPy dispatches on `like=`, and that are the array namespace.


def _constant_of(function: Any, fill: int) -> Callable[..., Array]:
    """The function that makes an array of one number; sizes may be known only at run time."""

    @implements(function)
    def filled(shape: Any, dtype: npt.DTypeLike | None = None, order: str = "C", *, device: Any = None) -> Array:
        return fresh(_filled(as_shape(shape), fill, np.dtype(dtype)), order)

    return filled


zeros = _constant_of(np.zeros, 0)
ones = _constant_of(np.ones, 1)
empty = _constant_of(np.empty, 0)


@implements(np.full)
def full_of(
    shape: Any, fill_value: Any, dtype: npt.DTypeLike | None = None, order: str = "C", *, device: Any = None
) -> Array:
    """`fill_value` in this shape, by default in its dtype."""
    value = array_like(fill_value)
    return fresh(_filled(as_shape(shape), value, value.dtype if dtype is None else np.dtype(dtype)), order)


@implements(np.arange)
def arange(
    start: Any, stop: Any = None, step: Any = 1, dtype: npt.DTypeLike | None = None, *, device: Any = None
) -> Array:
    """Numbers from `start` in equal steps up to, not including, `stop`, each a Python number or a size."""
    start, stop = (0, start) if stop is None else (start, stop)
    literal = not any(isinstance(v, Size | Array) for v in (start, stop, step))
    if literal:
        given: Any = dtype
        return constant_like(np.arange(start, stop, step, dtype=given))
    if isinstance(step, int) and all(isinstance(v, int | Size) for v in (start, stop)):
        distance = stop - start if step > 0 else start - stop
        count = dims.maximum(0, -(-distance // abs(step)))
        numbers = op.Add(op.Mul(count_up(count), step), size_as(start, np.int64))
        return cast_to(numbers, np.int64 if dtype is None else dtype)
    found = [array_like(v) for v in (start, stop, step)]
    wide = np.dtype(dtype) if dtype is not None else joined_dtype(found)
    return op.Range(*(cast_to(v, wide) for v in found))


@implements(np.linspace)
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: npt.DTypeLike | None = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """`num` numbers from `start` to `stop`, which is left out unless `endpoint`; the last one is `stop` exactly."""
    count = as_size(num, ValueError("Number of samples must be non-negative."))
    first, last = array_like(start), array_like(stop)
    wide = call(np.result_type, first, last, 0.0)
    first, last = call_broadcast(cast_to(first, wide), cast_to(last, wide))
    steps = count - 1 if endpoint else count
    numbers = cast_to(count_up(count), wide)
    shaped = reshape_to(numbers, (count, *(1 for _ in first.shape)))
    step = (last - first) / size_as(dims.maximum(steps, 1), wide)
    values = shaped * step + first
    if endpoint and not dims.same(count, 1) and not dims.same(count, 0):
        is_last = op.Equal(numbers, size_as(steps, wide))
        if isinstance(count, Size):
            is_last = op.And(is_last, op.Greater(numbers, np.zeros((), wide)))
        values = op.Where(reshape_to(is_last, shaped.shape), last, values)
    if axis != 0:
        values = call(np.moveaxis, values, 0, axis)
    if dtype is not None:
        wanted = np.dtype(dtype)
        values = cast_to(op.Floor(values) if wanted.kind in "iu" else values, wanted)
    return (values, step) if retstep else values


def call_broadcast(*arrays: Array) -> list[Array]:
    """The arrays broadcast together."""
    return [Array(a.value) for a in call(np.broadcast_arrays, *arrays)]


@implements(np.eye)
def eye(
    N: Any, M: Any = None, k: int = 0, dtype: npt.DTypeLike = float, order: str = "C", *, device: Any = None
) -> Array:
    """Ones on the k-th diagonal, zeros elsewhere."""
    shape = as_shape((N, N if M is None else M))
    wanted = np.dtype(dtype)
    if all(isinstance(d, int) for d in shape):
        return constant_like(np.eye(int(shape[0]), int(shape[1]), k, dtype=wanted))
    return cast_to(op.Equal(_distance(shape), k), wanted)


def _distance(shape: Sequence[Dim]) -> Array:
    """The column minus the row at each place."""
    rows, columns = (count_up(d) for d in shape)
    return op.Sub(op.Unsqueeze(columns, [0]), op.Unsqueeze(rows, [1]))


@implements(np.identity)
def identity(n: Any, dtype: npt.DTypeLike = float) -> Array:
    """Ones on the diagonal."""
    return eye(n, dtype=dtype)


@implements(np.tri)
def tri(N: Any, M: Any = None, k: int = 0, dtype: npt.DTypeLike = float) -> Array:
    """Ones on and below the k-th diagonal."""
    shape = (as_count_or_none(N), as_count_or_none(N if M is None else M))
    return cast_to(op.LessOrEqual(_distance(shape), k), dtype)


@implements(np.asarray, np.asanyarray)
def asarray(
    a: Any, dtype: npt.DTypeLike | None = None, order: Any = None, *, device: Any = None, copy: Any = None
) -> Array:
    """An Array of anything that holds numbers, traced ones included: arrays, numbers, sizes, nested lists."""
    found = from_nested(a)
    if found.is_number():
        found = made_of_number(found, scalar=False)
    if dtype is not None and np.dtype(dtype).kind in "iu":
        _check_numbers(a, np.dtype(dtype))
    if dtype is not None and found.dtype != np.dtype(dtype):
        return astype(found, dtype)
    return Array(found.value) if copy else laid_out(found, order)


def _check_numbers(value: Any, dtype: np.dtype[Any]) -> None:
    """Raise DtypeError where a dtype of integers does not hold a number of Python's in nested lists."""
    if isinstance(value, list | tuple):
        for each in value:
            _check_numbers(each, dtype)
    elif type(value) in {int, float}:
        check_fits(np.asarray(value, object), dtype)


@implements(np.ascontiguousarray)
def ascontiguousarray(a: Any, dtype: npt.DTypeLike | None = None) -> Any:
    """The array, of one axis at least, with its rows one after the other: itself where they lie so, else a copy."""
    found = asarray(a, dtype, "C")
    return found if found.shape else np.atleast_1d(found)


@implements(np.asfortranarray)
def asfortranarray(a: Any, dtype: npt.DTypeLike | None = None) -> Any:
    """The array, of one axis at least, with its columns one after the other: itself where they lie so, else a copy."""
    found = asarray(a, dtype, "F")
    return found if found.shape else np.atleast_1d(found)


def laid_out(x: Array, order: Any) -> Array:
    """`x` in the order "C" or "F": a copy where it is known to lie otherwise."""
    order = "K" if order is None else order_name(order)
    if order not in {"C", "F"} or x.ndim == 0 or (x.contiguous and (order == "C" or x.ndim == 1)):
        return x
    if x.contiguous and sum(isinstance(d, int) and d > 1 for d in x.shape) > 1:
        return fresh(Array(x.value), order)
    found = maybe_copy(x, lambda source: Array(source.value))
    found.contiguous = order == "C" or x.ndim == 1
    return found


@implements(np.array)
def array(
    object: Any,
    dtype: npt.DTypeLike | None = None,
    *,
    copy: Any = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
) -> Array:
    """A copy of anything that holds numbers, traced ones included; without `copy` the array itself."""
    given = asarray(object, dtype)
    is_copy = copy is np._CopyMode.ALWAYS if isinstance(copy, np._CopyMode) else copy
    found = fresh(Array(given.value), order or "K", given) if is_copy else laid_out(given, order)
    return found[(None,) * (ndmin - found.ndim)] if found.ndim < ndmin else found


def from_nested(value: Any) -> Array:
    """The Array of a traced array, a number, a size, or lists of those. Python numbers become float64 or int64."""
    if isinstance(value, list | tuple):
        if holds_traced(value):
            return fresh(stack([from_nested(v) for v in value]))
        return fresh(constant_like(value))
    found = as_array(value)
    return Array(found.value) if found.weak else found
