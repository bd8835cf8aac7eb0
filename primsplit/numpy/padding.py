"""np.pad: margins of constants, ramps, copied or reflected elements, or statistics of the neighbouring elements."""

import operator
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from primsplit import tracing
from primsplit.ir import Type, dims
from primsplit.ir.dims import Dim
from primsplit.ir.errors import DtypeError, ShapeError
from primsplit.numpy.axes import END, array_like, as_size, one_axis, reaching, size_as, slab
from primsplit.numpy.quantiles import median
from primsplit.numpy.reductions import maximum, mean, minimum
from primsplit.numpy.repetition import trace_vector
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.tracing.array import Array, implements, unsupported
from primsplit.tracing.broadcasting import count_up, expand_to

Copied = Literal["edge", "reflect", "symmetric", "wrap"]
"""The modes of np.pad whose margins are elements of the array."""

STATISTICS: dict[str, Callable[..., Array]] = {"maximum": maximum, "mean": mean, "median": median, "minimum": minimum}
"""The functions that compute the margins in the modes of np.pad with these names."""

_OPTIONS: dict[Any, set[str]] = {
    "constant": {"constant_values"}, "empty": set(), "edge": set(), "wrap": set(),
    "linear_ramp": {"end_values"}, "reflect": {"reflect_type"}, "symmetric": {"reflect_type"},
    **{mode: {"stat_length"} for mode in STATISTICS},
}  # fmt: skip
"""The options of each mode."""


@implements(np.pad)
def pad(x: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Array:
    """Margins in any of NumPy's modes; "empty" ones are zeros. A function for a mode raises UnsupportedFunction."""
    x = array_like(x)
    negative = ValueError("index can't contain negative values")
    widths = [(as_size(before, negative), as_size(after, negative)) for before, after in _pairs(pad_width, x.ndim)]
    foreign = options.keys() - _OPTIONS.get(mode, options.keys())
    if foreign:
        raise ValueError(f"unsupported keyword arguments for mode {mode!r}: {', '.join(sorted(foreign))}")
    if mode in {"constant", "empty"}:
        values = _pairs(options.get("constant_values", 0), x.ndim)
        return _pad_constant(x, widths, values)
    if mode == "linear_ramp":
        return _pad_ramp(x, widths, _pairs(options.get("end_values", 0), x.ndim))
    if mode in STATISTICS:
        return _pad_statistics(x, widths, STATISTICS[mode], _pairs(options.get("stat_length"), x.ndim))
    if mode not in _SOURCES:
        raise unsupported(f"np.pad with mode {mode!r}")
    padded = _pad_copied if options.get("reflect_type", "even") == "even" else _pad_odd
    for axis, (before, after) in enumerate(widths):
        x = padded(x, axis, before, after, mode)
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
        fill = None if flat[0] == 0 else cast_to(array_like(flat[0]), x.dtype)
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
        margins = [_SOURCES[mode](p, size_as(size, np.int64)) for p in _margins(size, before, after)]
    left, right = (op.Gather(x, m, axis=axis) for m in margins)
    return _between(left, x, right, axis)


def _margins(size: Dim, before: Dim, after: Dim) -> tuple[Array, Array]:
    """The places of both margins, counted from the first element."""
    front = op.Sub(count_up(before), size_as(before, np.int64))
    return front, op.Add(count_up(after), size_as(size, np.int64))


def _between(left: Array, x: Array, right: Array, axis: int) -> Array:
    parts = [p for p in (left, x, right) if p is x or not dims.same(p.shape[axis], 0)]
    return op.Concat(*parts, axis=axis) if len(parts) > 1 else x


def _pad_odd(x: Array, axis: int, before: Dim, after: Dim, mode: Copied) -> Array:
    """Margins that are turned about the border: 2 border - element, and so on about the new border.

    Two turns move the elements by twice the distance from border to border.
    """
    if dims.same(before, 0) and dims.same(after, 0):
        return x
    x = reaching(x, axis, 1)
    size = size_as(x.shape[axis], np.int64)
    period = op.Max((size - 1) * 2 if mode == "reflect" else size * 2, 1)
    first, last = slab(x, axis, 0, 1), slab(x, axis, -1, END)
    made = []
    for places in _margins(x.shape[axis], before, after):
        turns, rest = op.Div(places - op.Mod(places, period), period), op.Mod(places, period)
        is_back = rest >= size
        column = [-1 if i == axis else 1 for i in range(x.ndim)]
        over, under, back = (
            op.Reshape(v, column) for v in (cast_to(turns + is_back, x.dtype), cast_to(turns, x.dtype), is_back)
        )
        moved = (over * last - under * first) * 2
        source = op.Gather(x, _SOURCES[mode](places, size), axis=axis)
        made.append(moved + np.where(back, -source, source))
    return _between(made[0], x, made[1], axis)


def _pad_statistics(
    x: Array, widths: Sequence[tuple[Dim, Dim]], statistic: Callable[..., Array], lengths: Sequence[tuple[Any, Any]]
) -> Array:
    """Margins of a statistic of the elements, or of as many as `lengths` says, next to them."""
    for axis, ((before, after), (front, behind)) in enumerate(zip(widths, lengths, strict=True)):
        if dims.same(before, 0) and dims.same(after, 0):
            continue
        x = reaching(x, axis, 1)
        cuts = (x if front is None else slab(x, axis, 0, front)), (x if behind is None else slab(x, axis, -behind, END))
        found = [statistic(c, axis=axis, keepdims=True) for c in cuts]
        rounded = [cast_to(f.round() if x.dtype.kind in "iu" else f, x.dtype) for f in found]
        left, right = (expand_to(r, _with_size(x, axis, w)) for r, w in zip(rounded, (before, after), strict=True))
        x = _between(left, x, right, axis)
    return Array(x.value)


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
