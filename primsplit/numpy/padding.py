"""Repetition: repeat, tile, roll, pad, resize, sliding windows."""

import operator
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from primsplit import dims, tracing
from primsplit.array import Array, implements, unsupported
from primsplit.broadcasting import count_up, expand_to, full, reshape_to
from primsplit.dims import Dim, Size
from primsplit.errors import DtypeError, ShapeError
from primsplit.ir import Type
from primsplit.numpy.axes import array_like, as_size, one_axis, size_as, slab
from primsplit.numpy.keys import as_int64
from primsplit.numpy.layout import as_shape, read_only_view, reshape
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op

FEW = 8
"""Up to so many copies are joined; more are expanded."""

Copied = Literal["edge", "reflect", "symmetric", "wrap"]
"""The modes of np.pad whose margins are elements of the array."""


@implements(np.repeat)
def repeat(x: Any, repeats: Any, axis: int | None = None) -> Array:
    """Each element so many times; one count for all, or one for each position along the axis."""
    x = array_like(x)
    x, axis = (reshape(x, -1), 0) if axis is None else (x, one_axis(axis, x.ndim))
    counts = repeats if isinstance(repeats, Size) else _constant(repeats)
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
    counts = expand_to(counts, (size,))
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


# Padding.


_OPTIONS: dict[Any, set[str]] = {
    "constant": {"constant_values"}, "empty": set(), "edge": set(), "wrap": set(),
    "linear_ramp": {"end_values"}, "reflect": {"reflect_type"}, "symmetric": {"reflect_type"},
}  # fmt: skip
"""What a mode can be told."""


@implements(np.pad)
def pad(x: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Array:
    """Margins of zeros or another constant, of copies of the border, or of a ramp.

    Modes: constant, edge, reflect, symmetric, wrap, linear_ramp, empty (zeros). Others raise UnsupportedFunction.
    """
    x = array_like(x)
    widths = [(as_size(before), as_size(after)) for before, after in _pairs(pad_width, x.ndim)]
    foreign = options.keys() - _OPTIONS.get(mode, options.keys())
    if foreign:
        raise ValueError(f"unsupported keyword arguments for mode {mode!r}: {', '.join(sorted(foreign))}")
    if mode in {"constant", "empty"}:
        values = _pairs(options.get("constant_values", 0), x.ndim)
        return _pad_constant(x, widths, values)
    if mode == "linear_ramp":
        return _pad_ramp(x, widths, _pairs(options.get("end_values", 0), x.ndim))
    if mode not in _SOURCES or options.get("reflect_type", "even") != "even":
        raise unsupported(f"np.pad with mode {mode!r} {options or ''}".rstrip())
    for axis, (before, after) in enumerate(widths):
        x = _pad_copied(x, axis, before, after, mode)
    return Array(x.value)


def _pairs(given: Any, rank: int) -> list[tuple[Any, Any]]:
    """(before, after) for each axis, from any form that NumPy takes."""
    if isinstance(given, dict):
        found: list[tuple[Any, Any]] = [(0, 0)] * rank
        for axis, pair in given.items():
            found[one_axis(axis, rank)] = (pair[0], pair[1]) if isinstance(pair, tuple | list) else (pair, pair)
        return found
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if not isinstance(given, tuple | list):
        return [(given, given)] * rank
    rows = [r if isinstance(r, tuple | list | np.ndarray) else None for r in given]
    if all(r is None for r in rows):
        if not given and rank == 0:
            return []
        if not 0 < len(given) <= 2:
            raise ShapeError(f"{given} gives no (before, after) for {rank} axes", place=tracing.user_place())
        return [(given[0], given[-1])] * rank
    full_rows = [tuple(r) if len(r) == 2 else (r[0], r[0]) for r in rows if r is not None]
    if len(full_rows) not in {1, rank}:
        raise ShapeError(f"{given} gives no (before, after) for {rank} axes", place=tracing.user_place())
    return full_rows * rank if len(full_rows) == 1 else full_rows


def _pad_constant(x: Array, widths: Sequence[tuple[Dim, Dim]], values: Sequence[tuple[Any, Any]]) -> Array:
    flat = [v for pair in values for v in pair]
    if all(not isinstance(v, Array) and v == flat[0] for v in flat):
        if all(dims.same(margin, 0) for pair in widths for margin in pair):
            return Array(x.value)
        # Every axis is padded: onnxruntime's optimizer moves a Transpose past a Pad of some axes wrongly.
        pads = trace_vector([before for before, _ in widths] + [after for _, after in widths])
        shape = tuple(d + before + after for d, (before, after) in zip(x.shape, widths, strict=True))
        fill = None if flat[0] == 0 else np.asarray(flat[0]).astype(x.dtype)
        return op.Pad(x, pads, fill, types=[Type(x.dtype, shape)])
    for axis, (pair, margin) in enumerate(zip(widths, values, strict=True)):
        left, right = (
            expand_to(cast_to(array_like(v), x.dtype), _with_size(x, axis, w))
            for w, v in zip(pair, margin, strict=True)
        )
        x = op.Concat(left, x, right, axis=axis)
    return x


def _with_size(x: Array, axis: int, size: Dim) -> tuple[Dim, ...]:
    return (*x.shape[:axis], size, *x.shape[axis + 1 :])


def _pad_copied(x: Array, axis: int, before: Dim, after: Dim, mode: Copied) -> Array:
    """Margins that are gathered from the array: only they are, the middle is joined as it is."""
    size = x.shape[axis]
    if dims.same(before, 0) and dims.same(after, 0):
        return x
    if isinstance(size, int) and isinstance(before, int) and isinstance(after, int):
        if size == 0:
            raise ShapeError(
                f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'",
                place=tracing.user_place(),
            )
        source = np.pad(np.arange(size), (before, after), mode)
        margins: Any = [source[:before], source[before + size :]]
    else:
        front = op.Sub(count_up(before), size_as(before, np.int64))
        behind = op.Add(count_up(after), size_as(size, np.int64))
        margins = [_SOURCES[mode](places, size_as(size, np.int64)) for places in (front, behind)]
    left, right = (op.Gather(x, m, axis=axis) for m in margins)
    parts = [p for p, w in ((left, before), (x, None), (right, after)) if w is None or not dims.same(w, 0)]
    return op.Concat(*parts, axis=axis)


def _edge(places: Array, size: Array) -> Array:
    return op.Max(op.Min(places, size - 1), 0)


def _wrap(places: Array, size: Array) -> Array:
    return op.Mod(places, op.Max(size, 1))


def _reflect(places: Array, size: Array) -> Array:
    """There and back without the border twice: the period is 2 (size - 1)."""
    last = (size - 1) * 2
    there = op.Mod(places, op.Max(last, 1))
    return op.Min(there, last - there)


def _symmetric(places: Array, size: Array) -> Array:
    """There and back with the border twice: the period is 2 size."""
    there = op.Mod(places, op.Max(size * 2, 1))
    return op.Min(there, size * 2 - 1 - there)


_SOURCES = {"edge": _edge, "wrap": _wrap, "reflect": _reflect, "symmetric": _symmetric}


def _pad_ramp(x: Array, widths: Sequence[tuple[Any, Any]], ends: Sequence[tuple[Any, Any]]) -> Array:
    """Margins that go in equal steps from the end value, outermost, to the border."""
    if x.dtype.kind not in "fV":
        raise DtypeError(f"np.pad with a linear ramp takes floats here, not {x.dtype}", place=tracing.user_place())
    for axis, (pair, end) in enumerate(zip(widths, ends, strict=True)):
        before, after = (operator.index(w) for w in pair)
        shape = [-1 if i == axis else 1 for i in range(x.ndim)]
        parts = [x]
        if before:
            share = (np.arange(before) / before).astype(x.dtype).reshape(shape)
            parts.insert(0, _ramp(slab(x, axis, 0, 1), end[0], share))
        if after:
            share = (np.arange(after)[::-1] / after).astype(x.dtype).reshape(shape)
            parts.append(_ramp(slab(x, axis, x.shape[axis] - 1, x.shape[axis]), end[1], share))
        x = op.Concat(*parts, axis=axis) if len(parts) > 1 else x
    return Array(x.value)


def _ramp(border: Array, end: Any, share: np.ndarray[Any, Any]) -> Array:
    outermost = cast_to(array_like(end), border.dtype)
    return border * share + outermost * (1 - share)


@implements(np.resize)
def resize(x: Any, new_shape: Any) -> Array:
    """The elements in a row, from the start again as often as needed, in a new shape of known size."""
    x = array_like(x)
    shape = as_shape(new_shape)
    wanted = dims.product(shape)
    row = reshape(x, -1)
    if dims.same(wanted, x.size):
        return reshape_to(row, shape)
    source = op.Mod(count_up(wanted), op.Max(size_as(x.size, np.int64), 1))
    if isinstance(x.size, int) and isinstance(wanted, int):
        if x.size == 0:
            return full(shape, np.zeros((), x.dtype))
        source = Array(tracing.constant(np.arange(wanted) % x.size))
    return reshape_to(op.Gather(row, source), shape)


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
    return read_only_view(x, lambda source: _windows(source, sizes, axes))


def _windows(x: Array, sizes: Sequence[Dim], axes: Sequence[int]) -> Array:
    for window, place in zip(sizes, axes, strict=True):
        count = x.shape[place] - window + 1
        if isinstance(count, int) and count <= 0:
            raise ShapeError("window shape cannot be larger than input array shape", place=tracing.user_place())
        x = op.Gather(x, _window_places(count, window), axis=place)
        order = [i for i in range(x.ndim) if i != place + 1]
        x = op.Transpose(x, perm=[*order, place + 1])
    return x


def _window_places(count: Dim, window: Dim) -> Any:
    if isinstance(count, int) and isinstance(window, int):
        return np.arange(count)[:, None] + np.arange(window)
    return op.Add(op.Unsqueeze(count_up(dims.maximum(0, count)), [1]), op.Unsqueeze(count_up(window), [0]))
