"""The methods of NumPy's ufuncs: reduce, accumulate, reduceat, outer."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir.errors import ConcretizationError, IndexingError, ShapeError
from primsplit.numpy import cumulative, reductions
from primsplit.numpy.axes import (
    END,
    array_like,
    delivered,
    joined_last,
    many_axes,
    one_axis,
    reaching,
    reduced,
    size_as,
    slab,
    with_ones,
)
from primsplit.numpy.folding import accumulated, folding_dtype, reduced_by
from primsplit.numpy.scans import lowest, scanned
from primsplit.numpy.ufuncs import cast_to, ufunc_method
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.branching.raising import zero_unless
from primsplit.tracing.broadcasting import axis_back, axis_first, count_up, expand_to

NOTHING = np._NoValue  # NumPy's mark for an argument that was not given

REDUCTIONS: dict[str, Callable[..., Array]] = {
    "add": reductions.total,
    "multiply": reductions.product,
    "maximum": reductions.maximum,
    "minimum": reductions.minimum,
    "logical_and": reductions.all_of,
    "logical_or": reductions.any_of,
}


@ufunc_method("reduce")
def reduce(
    ufunc: np.ufunc,
    array: Any,
    axis: Any = 0,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = NOTHING,
    where: Any = True,
) -> Array:
    """Implements `ufunc.reduce`. Without an ONNX reduction, elements are folded one after the other."""
    x = array_like(array)
    axes = many_axes(axis, x.ndim)
    options: dict[str, Any] = {"axis": axes, "keepdims": keepdims, "where": where}
    name = _same_reduction(ufunc.__name__, x)
    if name in {"logical_and", "logical_or"}:
        return delivered(REDUCTIONS[name](x, **options), out)
    if initial is not NOTHING and initial is not None:
        options["initial"] = initial
    if dtype is not None and (name in REDUCTIONS or name in {"fmax", "fmin"}):
        x = cast_to(x, dtype)
    if name in REDUCTIONS:
        if name in {"add", "multiply"}:
            options["dtype"] = dtype
        return delivered(REDUCTIONS[name](x, **options), out)
    if name in {"fmax", "fmin"}:
        function = np.nanmax if name == "fmax" else np.nanmin
        return delivered(function(x, **options), out)
    x = cast_to(x, folding_dtype(ufunc, x, dtype))
    if name == "logaddexp" and "initial" not in options and where is True:
        return delivered(reduced("ReduceLogSumExp", x, axes, keepdims), out)
    return delivered(_folded(ufunc, x, **options), out)


def _same_reduction(name: str, x: Array) -> str:
    """The ufunc's name, or that of one that reduces these numbers alike and has a form."""
    return name if x.type.is_float else {"fmax": "maximum", "fmin": "minimum"}.get(name, name)


def _folded(ufunc: np.ufunc, x: Array, axis: Sequence[int], keepdims: Any, where: Any, initial: Any = NOTHING) -> Array:
    """Elements folded along axes, from `initial` or from the number that changes nothing if the ufunc has one."""
    if len(axis) > 1 and ufunc.identity is None:
        told = f"reduction operation {ufunc.__name__!r} is not reorderable, so at most one axis may be specified"
        raise ValueError(told)
    if initial is NOTHING:
        initial = None if ufunc.identity is None else np.asarray(ufunc.identity)
    if where is not True and initial is None:
        raise ShapeError(f"np.{ufunc.__name__}.reduce with where= needs initial=", place=tracing.user_place())
    mask = None if where is True else _joined_first(expand_to(array_like(where), x.shape), axis)
    found = reduced_by(ufunc, _joined_first(x, axis), initial, mask)
    return with_ones(found, axis) if keepdims else found


def _joined_first(x: Array, axes: Sequence[int]) -> Array:
    """`x` with these axes joined to one, which comes first."""
    return axis_first(joined_last(x, axes), -1)


def _one_of(axis: Any, rank: int) -> int:
    """The axis; for None the only one. Raises ShapeError where there are several."""
    if axis is None and rank != 1:
        raise ShapeError(f"axis=None names one axis, not {rank}", place=tracing.user_place())
    return one_axis(0 if axis is None else axis, rank)


@ufunc_method("accumulate")
def accumulate(
    ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: npt.DTypeLike | None = None, out: Any = None
) -> Array:
    """Implements `ufunc.accumulate`. Where running maxima tie, each step gives each side half of the cotangent."""
    x = array_like(array)
    if x.ndim == 0:
        raise ShapeError("cannot accumulate a number", place=tracing.user_place())
    place = _one_of(axis, x.ndim)
    name = ufunc.__name__
    if name in {"add", "multiply"}:
        return delivered((cumulative.cumsum if name == "add" else cumulative.cumprod)(x, place, dtype), out)
    x = cast_to(x, folding_dtype(ufunc, x, dtype))
    if name in {"maximum", "minimum"}:
        found = scanned(x, place, ufunc, lowest(x.dtype, -1 if name == "maximum" else 1))
    elif name in {"logaddexp", "logaddexp2"}:
        found = scanned(x, place, ufunc, -np.inf)
    else:
        found = axis_back(accumulated(ufunc, axis_first(x, place)), place)
    return delivered(found, out)


@ufunc_method("reduceat")
def reduceat(
    ufunc: np.ufunc, array: Any, indices: Any, axis: Any = 0, dtype: npt.DTypeLike | None = None, out: Any = None
) -> Array:
    """`ufunc.reduceat`; a run in which a start is out of bounds fails."""
    x = array_like(array)
    place = _one_of(axis, x.ndim)
    known = array_like(indices).known()
    size = x.shape[place]
    if known is None:
        return delivered(_from_traced_starts(ufunc, x, array_like(indices), place, dtype), out)
    starts = [int(i) for i in known]
    if any(start < 0 or (isinstance(size, int) and start >= size) for start in starts):
        raise IndexingError(
            f"a start of {starts} is out of bounds in np.{ufunc.__name__}.reduceat [0, {size})",
            place=tracing.user_place(),
        )
    if not starts:
        return delivered(slab(reduce(ufunc, x, place, dtype, keepdims=True), place, 0, 0), out)
    x, parts = reaching(x, place, max(starts) + 1), []
    for start, end in zip(starts, [*starts[1:], END], strict=True):
        stop = end if end > start else start + 1
        parts.append(reduce(ufunc, slab(x, place, start, stop), place, dtype, keepdims=True))
    return delivered(op.Concat(*parts, axis=place), out)


def _from_traced_starts(ufunc: np.ufunc, x: Array, starts: Array, place: int, dtype: npt.DTypeLike | None) -> Array:
    """`reduceat` of traced starts: every element is asked for every start whether it belongs to it."""
    if ufunc.__name__ not in REDUCTIONS:
        raise ConcretizationError(
            f"np.{ufunc.__name__}.reduceat needs known starts",
            place=tracing.user_place(),
            cure="Pass the starts as a plain list.",
        )
    rows, size = axis_first(x, place), x.shape[place]
    first = op.Cast(starts, to=np.int64)
    end = size_as(size, np.int64)
    first = first + zero_unless(
        op.Or(op.Less(first, 0), op.GreaterOrEqual(first, end)),
        IndexError(f"an index is out of bounds in np.{ufunc.__name__}.reduceat of an axis of {size}"),
    )
    following = slab(op.Concat(first, op.Unsqueeze(end, [0]), axis=0), 0, 1, END)
    last: Any = np.where(following > first, following, first + 1)
    places: Any = count_up(size)
    belongs = (places >= first[:, None]) & (places < last[:, None])
    wide = expand_to(op.Unsqueeze(rows, [0]), (first.shape[0], *rows.shape))
    options: dict[str, Any] = {"where": belongs.reshape((*belongs.shape, *(1,) * (x.ndim - 1)))}
    if ufunc.__name__ in {"maximum", "minimum"}:
        options["initial"] = lowest(x.dtype, -1 if ufunc.__name__ == "maximum" else 1)
    return axis_back(reduce(ufunc, wide, 1, dtype, **options), place)


@ufunc_method("outer")
def outer(ufunc: np.ufunc, a: Any, b: Any, **options: Any) -> Any:
    """`ufunc.outer`: every element of `a` with every element of `b`."""
    left, right = (Array(array_like(x).value) for x in (a, b))  # a Python number is an array here
    column = op.Unsqueeze(left, [left.ndim + i for i in range(right.ndim)]) if right.ndim else left
    return ufunc(column, right, **options)
