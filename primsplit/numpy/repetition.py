"""Repetition: repeat, tile, roll, resize, sliding windows."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Const, Type, dims
from primsplit.ir.dims import Dim, Size
from primsplit.ir.errors import ShapeError
from primsplit.numpy.axes import array_like, as_size, one_axis, reaching, size_as, slab
from primsplit.numpy.keys import as_int64
from primsplit.numpy.layout import as_shape, read_only_view, reshape
from primsplit.ops import op
from primsplit.tracing.array import Array, implements
from primsplit.tracing.branching.raising import checked
from primsplit.tracing.broadcasting import count_up, expand_to, full, reshape_strictly, reshape_to
from primsplit.tracing.calls.named import named

FEW = 8
"""Up to so many copies are joined; more are expanded."""


@implements(np.repeat)
def repeat(x: Any, repeats: Any, axis: int | None = None) -> Array:
    """Each element so many times; one count for all, or one for each position along the axis."""
    x = array_like(x)
    x, axis = (reshape(x, -1), 0) if axis is None else (x, one_axis(axis, x.ndim))
    counts = as_size(repeats) if isinstance(repeats, Size) else _constant(repeats)
    if isinstance(counts, Size):
        return _spread(x, counts, axis)
    if isinstance(counts, np.ndarray) and counts.size == 1:
        return _spread(x, int(counts.reshape(-1)[0]), axis)
    size = x.shape[axis]
    if isinstance(counts, np.ndarray) and isinstance(size, int):
        if counts.shape != (size,):
            raise ShapeError(
                f"operands could not be broadcast together with shape ({size},) {counts.shape}",
                place=tracing.user_place(),
            )
        return op.Gather(x, np.repeat(np.arange(size), counts), axis=axis)
    return op.Gather(x, _repeated(as_int64(array_like(repeats)), size), axis=axis)


def _constant(value: Any) -> np.ndarray[Any, Any] | None:
    if isinstance(value, Array):
        return value.known()
    return np.asarray(value)


def _spread(x: Array, count: Dim, axis: int) -> Array:
    """`count` copies of each element. Copies are joined on an axis of their own, which measured fastest."""
    shape = (*x.shape[:axis], x.shape[axis] * count, *x.shape[axis + 1 :])
    if dims.is_one(count):
        return Array(x.value)
    if dims.same(count, 0):
        return slab(x, axis, 0, 0)
    tall = op.Unsqueeze(x, [axis + 1])
    if isinstance(count, int) and 0 < count <= FEW:
        return reshape_to(op.Concat(*[tall] * count, axis=axis + 1), shape)
    wide = expand_to(tall, (*x.shape[: axis + 1], count, *x.shape[axis + 1 :]))
    return reshape_to(wide, shape)


def _repeated(counts: Array, size: Dim) -> Array:
    """Each position as often as its count says, for counts known only at run time.

    A one is added where each position but the first begins; positions with count zero begin together.
    """
    negative = ValueError("repeats may not contain negative values.")
    counts = checked(expand_to(counts, (size,)), op.Less(counts, 0), negative)
    zero = np.zeros(1, np.int64)
    ends = op.CumSum(counts, np.zeros((), np.int64))
    total = op.ReduceSum(counts, [0], keepdims=1)
    starts = op.ScatterND(
        op.ConstantOfShape(op.Add(total, 1), value=zero),
        op.Unsqueeze(ends, [1]),
        op.ConstantOfShape(op.Shape(ends), value=np.ones(1, np.int64)),
        reduction="add",
    )
    return op.CumSum(op.Slice(starts, zero, total, [0]), np.zeros((), np.int64))


@implements(np.tile)
def tile(x: Any, reps: Any) -> Array:
    """The whole array so many times along each axis."""
    x = array_like(x)
    counts = as_shape(reps)
    rank = max(x.ndim, len(counts))
    counts = (1,) * (rank - len(counts)) + counts
    if x.ndim < rank:
        x = op.Unsqueeze(x, list(range(rank - x.ndim)))
    copied = [i for i, c in enumerate(counts) if not dims.is_one(c)]
    if not copied:
        return Array(x.value)
    (first, *others) = copied
    count = counts[first]
    if not others and isinstance(count, int) and 0 < count <= FEW:
        return op.Concat(*[x] * count, axis=first)
    return op.Tile(x, trace_vector(counts))


def trace_vector(sizes: Sequence[Dim]) -> Array:
    """An int64 vector of sizes."""
    return Array(tracing.size_vector(sizes))


@implements(np.roll)
def roll(x: Any, shift: Any, axis: Any = None) -> Array:
    """Shifted along the axes; what leaves at one end comes back at the other."""
    x = array_like(x)
    if axis is None:
        if isinstance(shift, Array):
            shift = op.ReduceSum(as_int64(shift), keepdims=0)
        elif isinstance(shift, list | tuple | np.ndarray):
            shift = sum(np.ravel(shift) if isinstance(shift, np.ndarray) else shift)
        return reshape_to(_rolled(reshape(x, -1), shift, 0), x.shape)
    shifts = list(shift) if isinstance(shift, tuple | list | np.ndarray | Array) and np.ndim(shift) else [shift]
    axes = list(axis) if isinstance(axis, tuple | list) else [axis]
    if len(axes) != len(shifts):
        axes, shifts = axes * len(shifts), shifts * len(axes)
    for place, step in zip(axes, shifts, strict=True):
        x = _rolled(x, step, one_axis(place, x.ndim))
    return Array(x.value)


def _rolled(x: Array, shift: Any, axis: int) -> Array:
    size = x.shape[axis]
    known = shift.known() if isinstance(shift, Array) else shift
    if known is None:
        source = op.Mod(op.Sub(count_up(size), as_int64(shift)), op.Max(size_as(size, np.int64), 1))
        return op.Gather(x, source, axis=axis)
    places = known if isinstance(known, Size) else operator.index(known)
    cut: Dim = dims.remainder(-places, dims.maximum(size, 1))
    if dims.same(cut, 0):
        return x
    parts = [(*x.shape[:axis], n, *x.shape[axis + 1 :]) for n in (cut, size - cut)]
    types = [Type(x.dtype, p) for p in parts]
    front, back = op.Split(x, trace_vector([cut, size - cut]), axis=axis, outputs=2, types=types)
    return op.Concat(back, front, axis=axis)


@implements(np.resize)
def resize(x: Any, new_shape: Any) -> Array:
    """The elements in a row, from the start again as often as needed, in a new shape of known size."""
    x = array_like(x)
    shape = as_shape(new_shape, ValueError("all elements of `new_shape` must be non-negative"))
    wanted = dims.product(shape)
    row = reshape(x, -1)
    if dims.same(wanted, x.size):
        return reshape_to(row, shape)
    source = op.Mod(count_up(wanted), op.Max(size_as(x.size, np.int64), 1))
    if isinstance(x.size, int) and isinstance(wanted, int):
        if x.size == 0:
            return full(shape, np.zeros((), x.dtype))
        source = Array(tracing.constant(np.arange(wanted) % x.size))
    fill = reshape_to if all(dims.at_least(n, 0) for n in shape) else reshape_strictly
    return fill(op.Gather(row, source), shape)


@implements(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Array:
    """Every window of the given size along each axis; the axes inside the windows come last.

    A view that cannot be written to, also if `writeable`.
    """
    x = array_like(x)
    sizes = as_shape(window_shape)
    given = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    axes = [one_axis(a, x.ndim) for a in given]
    if len(axes) != len(sizes):
        raise ShapeError("window_shape and axis must have as many entries", place=tracing.user_place())
    return read_only_view(x, lambda source: _sliding(source, sizes, axes))


def _sliding(x: Array, sizes: Sequence[Dim], axes: Sequence[int]) -> Array:
    """The windows; of floats, along an axis each, by name, since a product with a kernel is then a convolution."""
    literal = tuple(size for size in sizes if isinstance(size, int))
    is_plain = 0 < len(set(axes)) == len(axes) == len(literal)
    if not (is_plain and x.type.is_float) or isinstance(x.value, Const):
        return _windows(x, sizes, axes)
    found: Array = sliding_windows(x, sizes=literal, axis=tuple(axes))
    return found


@named("sliding_window_view")
def sliding_windows(x: Array, *, sizes: tuple[int, ...], axis: tuple[int, ...]) -> Array:
    """Every window of these sizes along the axes; the axes inside the windows come last."""
    return _windows(x, sizes, axis)


def _windows(x: Array, sizes: Sequence[Dim], axes: Sequence[int]) -> Array:
    for window, place in zip(sizes, axes, strict=True):
        count = x.shape[place] - window + 1
        if isinstance(count, int) and count <= 0:
            raise ShapeError("window shape cannot be larger than input array shape", place=tracing.user_place())
        x = op.Gather(reaching(x, place, window), _window_places(count, window), axis=place)
        order = [i for i in range(x.ndim) if i != place + 1]
        x = op.Transpose(x, perm=[*order, place + 1])
    return x


def _window_places(count: Dim, window: Dim) -> Any:
    if isinstance(count, int) and isinstance(window, int):
        return np.arange(count)[:, None] + np.arange(window)
    return op.Add(op.Unsqueeze(count_up(dims.maximum(0, count)), [1]), op.Unsqueeze(count_up(window), [0]))
