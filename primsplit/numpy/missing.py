"""NumPy's reductions that skip NaN, such as nansum.

The gradient of an element that is NaN is 0; where the result is NaN, as that of nothing but NaN, it is NaN.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit.numpy.axes import array_like, delivered, many_axes, reduced
from primsplit.numpy.cumulative import cumprod, cumsum
from primsplit.numpy.extrema import check_has_result, is_half, of_nothing, unless
from primsplit.numpy.reductions import maximum, mean, minimum, product, total
from primsplit.numpy.statistics import freedom, safe_root, var
from primsplit.numpy.ufuncs import cast_to
from primsplit.numpy.validity import defined
from primsplit.ops import op
from primsplit.tracing.array import Array, implements
from primsplit.tracing.broadcasting import reshape_to


def filled(x: Array, number: float) -> Array:
    """`x` with a number for each NaN."""
    return op.Where(op.IsNaN(x), np.asarray(number, x.dtype), x) if x.type.is_float else x


def present(x: Array) -> Array:
    """Return 1 for each element of a float array that is not NaN, else 0."""
    return op.Cast(op.Not(op.IsNaN(x)), to=x.dtype)


@implements(np.nansum)
def nansum(a: Any, axis: Any = None, dtype: npt.DTypeLike | None = None, out: Any = None, **options: Any) -> Array:
    """np.nansum."""
    return total(filled(array_like(a), 0), axis, dtype, out, **options)


@implements(np.nanprod)
def nanprod(a: Any, axis: Any = None, dtype: npt.DTypeLike | None = None, out: Any = None, **options: Any) -> Array:
    """np.nanprod."""
    return product(filled(array_like(a), 1), axis, dtype, out, **options)


@implements(np.nancumsum)
def nancumsum(a: Any, axis: Any = None, dtype: npt.DTypeLike | None = None, out: Any = None) -> Array:
    """np.nancumsum."""
    return cumsum(filled(array_like(a), 0), axis, dtype, out)


@implements(np.nancumprod)
def nancumprod(a: Any, axis: Any = None, dtype: npt.DTypeLike | None = None, out: Any = None) -> Array:
    """np.nancumprod."""
    return cumprod(filled(array_like(a), 1), axis, dtype, out)


def _nan_extremum(which: str, a: Any, axis: Any, out: Any, keepdims: Any, initial: Any, where: Any) -> Array:
    x = array_like(a)
    axes = many_axes(axis, x.ndim)
    check_has_result(f"nan{which}", x, axes, initial, where)
    if not x.type.is_float:
        return (maximum if which == "max" else minimum)(x, axis, out, keepdims, initial, where)
    x = _taken(x, where)
    kind, worst = ("ReduceMax", -np.inf) if which == "max" else ("ReduceMin", np.inf)
    found = reduced(kind, filled(x, worst), axes, keepdims)
    none = op.Equal(reduced("ReduceSum", present(x), axes, keepdims), 0.0)
    nan = np.asarray(np.nan, x.dtype)
    found = op.Where(none, nan if initial is not None else unless(of_nothing(x, axes), nan), found)
    found = _of_some(found, x, axes, keepdims)
    if initial is not None:
        combine: Any = np.fmax if which == "max" else np.fmin
        found = combine(found, cast_to(array_like(initial), x.dtype))
    return delivered(found, out)


@implements(np.nanmax)
def nanmax(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Array:
    """np.nanmax; NaN where there is nothing else."""
    return _nan_extremum("max", a, axis, out, keepdims, initial, where)


@implements(np.nanmin)
def nanmin(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Array:
    """np.nanmin; NaN where there is nothing else."""
    return _nan_extremum("min", a, axis, out, keepdims, initial, where)


def _of_some(found: Array, x: Array, axes: Sequence[int], keepdims: Any) -> Array:
    """`found` of an array along axes, whose derivatives are NaN where it is NaN: where there is nothing but NaN."""
    answer: Array = defined(found, cast_to(reduced("ReduceSum", x, axes, keepdims), found.dtype))
    return answer


def _taken(x: Array, where: Any) -> Array:
    """The numbers, NaN where `where` does not hold."""
    return x if where is True else op.Where(array_like(where), x, np.asarray(np.nan, x.dtype))


@implements(np.nanmean)
def nanmean(
    a: Any,
    axis: Any = None,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
    keepdims: Any = False,
    *,
    where: Any = True,
) -> Array:
    """np.nanmean."""
    x = array_like(a)
    if not x.type.is_float:
        return mean(x, axis, dtype, out, keepdims, where=where)
    x = _taken(x, where)
    result = np.dtype(dtype) if dtype is not None else x.dtype
    wide = cast_to(x, np.float32 if is_half(x) and dtype is None else result)
    axes = many_axes(axis, x.ndim)
    counted = reduced("ReduceSum", present(wide), axes, keepdims)
    found = reduced("ReduceSum", filled(wide, 0), axes, keepdims) / counted
    return delivered(cast_to(_of_some(found, wide, axes, keepdims), result), out)


@implements(np.nanvar)
def nanvar(
    a: Any,
    axis: Any = None,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> Array:
    """np.nanvar; NaN where no degree of freedom is left."""
    ddof = ddof if correction is None else correction
    return delivered(_nan_variance(array_like(a), axis, dtype, ddof, keepdims, where, mean, lambda v: v), out)


def _nan_variance(
    x: Array,
    axis: Any,
    dtype: npt.DTypeLike | None,
    ddof: Any,
    keepdims: Any,
    where: Any,
    mean: Any,
    finish: Callable[[Array], Array],
) -> Array:
    """The variance of what is not NaN, after `finish`."""
    if not x.type.is_float:
        return finish(var(x, axis, dtype, None, ddof, keepdims, where=where, mean=mean))
    x = _taken(x, where)
    result = np.dtype(dtype) if dtype is not None else x.dtype
    wide = cast_to(x, np.float32 if is_half(x) and dtype is None else result)
    axes = many_axes(axis, x.ndim)
    counted = reduced("ReduceSum", present(wide), axes, True)
    centre = (
        reduced("ReduceSum", filled(wide, 0), axes, True) / counted
        if mean is None
        else cast_to(array_like(mean), wide.dtype)
    )
    apart = op.Where(op.IsNaN(wide), np.zeros((), wide.dtype), wide - centre)
    squares = reduced("ReduceSum", op.Mul(apart, apart), axes, keepdims)
    left = freedom(counted if keepdims else reshape_to(counted, squares.shape), ddof, wide.dtype)
    found = op.Where(op.Equal(left, 0.0), np.asarray(np.nan, wide.dtype), op.Div(squares, left))
    return _of_some(finish(cast_to(found, result)), x, axes, keepdims)


@implements(np.nanstd)
def nanstd(
    a: Any,
    axis: Any = None,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> Array:
    """np.nanstd. The gradient is 0 where all elements are equal."""
    ddof = ddof if correction is None else correction
    return delivered(_nan_variance(array_like(a), axis, dtype, ddof, keepdims, where, mean, safe_root), out)
