"""The methods of NumPy's ufuncs: reduce, accumulate, reduceat, outer."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.array import Array, unsupported
from primsplit.dims import Size
from primsplit.errors import ConcretizationError, IndexingError, ShapeError
from primsplit.numpy import cumulative, reductions
from primsplit.numpy.axes import array_like, delivered, many_axes, one_axis, slab
from primsplit.numpy.reductions import reduced
from primsplit.numpy.scans import scanned
from primsplit.numpy.ufuncs import cast_to, ufunc_method
from primsplit.ops import op

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
    """`ufunc.reduce`. An associative ufunc that ONNX cannot reduce with is applied along an axis of literal size."""
    x = array_like(array)
    axes = many_axes(axis, x.ndim)
    options: dict[str, Any] = {"axis": axes, "keepdims": keepdims, "where": where}
    name = ufunc.__name__
    if name in {"logical_and", "logical_or"}:
        return delivered(REDUCTIONS[name](x, **options), out)
    if initial is not NOTHING and initial is not None:
        options["initial"] = initial
    if name in REDUCTIONS:
        if dtype is not None:
            x = cast_to(x, dtype)
            if name in {"add", "multiply"}:
                options["dtype"] = dtype
        return delivered(REDUCTIONS[name](x, **options), out)
    if name in {"fmax", "fmin"} and x.type.is_float:
        function = np.nanmax if name == "fmax" else np.nanmin
        return delivered(function(x, **options), out)
    if "initial" in options or where is not True:
        raise unsupported(f"np.{name}.reduce with initial= or where=")
    if name == "logaddexp" and x.type.is_float:
        return delivered(reduced("ReduceLogSumExp", x, axes, keepdims), out)
    for place in reversed(axes):
        x = _folded(ufunc, x, place, bool(keepdims))
    return delivered(x, out)


def _pieces(ufunc: np.ufunc, method: str, x: Array, axis: int) -> list[Array]:
    """The slices of `x` along an axis of literal size, the axis kept."""
    size = x.shape[axis]
    if isinstance(size, Size):
        raise ConcretizationError(
            f"np.{ufunc.__name__}.{method} goes along an axis of size {size}, which is known only at run time",
            place=tracing.user_place(),
            cure="Give the axis a fixed size in the spec, or loop over it with scan.",
        )
    return [slab(x, axis, i, i + 1) for i in range(size)]


def _folded(ufunc: np.ufunc, x: Array, axis: int, keepdims: bool) -> Array:
    x = x.astype(np.bool_) if ufunc.__name__ == "logical_xor" else x
    pieces = _pieces(ufunc, "reduce", x, axis)
    if not pieces:
        if ufunc.identity is None:
            raise ShapeError(f"np.{ufunc.__name__}.reduce of no elements", place=tracing.user_place())
        pieces = [np.full_like(x.sum(axis=axis, keepdims=True), ufunc.identity)]
    result = pieces[0]
    for piece in pieces[1:]:
        result = ufunc(result, piece)
    return result if keepdims else op.Squeeze(result, [axis])


def lowest(dtype: np.dtype[Any], sign: int) -> Any:
    """The number that is never the maximum (sign -1), or never the minimum (sign 1)."""
    if dtype.kind == "b":
        return sign > 0
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if sign < 0 else np.iinfo(dtype).max
    return sign * np.inf


def _one_of(axis: Any, rank: int) -> int:
    """The axis; for None the only one. Raises ShapeError where there are several."""
    if axis is None and rank != 1:
        raise ShapeError(f"axis=None names one axis, not {rank}", place=tracing.user_place())
    return one_axis(0 if axis is None else axis, rank)


@ufunc_method("accumulate")
def accumulate(
    ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: npt.DTypeLike | None = None, out: Any = None
) -> Array:
    """`ufunc.accumulate`. Where running maxima tie, each step shares the cotangent half and half."""
    x = array_like(array)
    if x.ndim == 0:
        raise ShapeError("cannot accumulate a number", place=tracing.user_place())
    place = _one_of(axis, x.ndim)
    name = ufunc.__name__
    if name in {"add", "multiply"}:
        found = (cumulative.cumsum if name == "add" else cumulative.cumprod)(x, place, dtype)
    elif name in {"maximum", "minimum"}:
        found = scanned(x, place, ufunc, lowest(x.dtype, -1 if name == "maximum" else 1))
    elif name in {"logaddexp", "logaddexp2"} and x.type.is_float:
        found = scanned(x, place, ufunc, -np.inf)
    else:
        x = cast_to(x, np.bool_) if name.startswith("logical_") else x
        pieces = _pieces(ufunc, "accumulate", x, place)
        steps = pieces[:1]
        for piece in pieces[1:]:
            steps.append(ufunc(steps[-1], piece))
        found = op.Concat(*steps, axis=place) if len(steps) > 1 else x
    return delivered(found, out)


@ufunc_method("reduceat")
def reduceat(
    ufunc: np.ufunc, array: Any, indices: Any, axis: Any = 0, dtype: npt.DTypeLike | None = None, out: Any = None
) -> Array:
    """`ufunc.reduceat`, for starts that are known."""
    x = array_like(array)
    place = _one_of(axis, x.ndim)
    known = array_like(indices).known()
    size = x.shape[place]
    if known is None or isinstance(size, Size):
        raise ConcretizationError(
            f"np.{ufunc.__name__}.reduceat needs known starts along an axis of known size",
            place=tracing.user_place(),
            cure="Give the axis a fixed size in the spec and pass the starts as a plain list.",
        )
    starts = [int(i) for i in known]
    if any(not 0 <= start < size for start in starts):
        raise IndexingError(
            f"a start of {starts} is out of bounds in np.{ufunc.__name__}.reduceat [0, {size})",
            place=tracing.user_place(),
        )
    if not starts:
        return delivered(slab(reduce(ufunc, x, place, dtype, keepdims=True), place, 0, 0), out)
    parts = []
    for start, end in zip(starts, [*starts[1:], size], strict=True):
        stop = end if end > start else start + 1
        parts.append(reduce(ufunc, slab(x, place, start, stop), place, dtype, keepdims=True))
    return delivered(op.Concat(*parts, axis=place), out)


@ufunc_method("outer")
def outer(ufunc: np.ufunc, a: Any, b: Any, **options: Any) -> Any:
    """`ufunc.outer`: every element of `a` with every element of `b`."""
    left, right = array_like(a), array_like(b)
    column = op.Unsqueeze(left, [left.ndim + i for i in range(right.ndim)]) if right.ndim else left
    return ufunc(column, right, **options)
