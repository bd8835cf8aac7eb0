"""NumPy's reductions: sum, prod, max, min, ptp, mean, all, any, count_nonzero.

Over no elements a sum is 0, a product 1, a mean NaN. A maximum or minimum is an error as in NumPy; if a size turns out
to be 0 at run time, the run fails.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir.dims import Size
from primsplit.ir.errors import DtypeError
from primsplit.ir.runtimes import fault
from primsplit.numpy.axes import array_like, count_along, delivered, joined_last, many_axes, reduced, size_as, with_ones
from primsplit.numpy.extrema import check_has_result, is_half, named_extremum
from primsplit.numpy.scans import folded
from primsplit.numpy.ufuncs import cast_to, select
from primsplit.ops import op
from primsplit.tracing.array import Array, implements
from primsplit.tracing.asarray import as_array
from primsplit.tracing.broadcasting import axis_first, expand_to


def sum_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which NumPy sums and multiplies: integers are widened to 64 bits."""
    if dtype.kind == "b" or (dtype.kind == "i" and dtype.itemsize < 8):
        return np.dtype(np.int64)
    return np.dtype(np.uint64) if dtype.kind == "u" else dtype


def summed_in(x: Array, dtype: npt.DTypeLike | None) -> tuple[Array, np.dtype[Any]]:
    """`x` in what it is added up or multiplied in, and the result's dtype. Truth values are counted.

    ONNX adds no integers of 8 or 16 bits: what they are in 64 bits wraps to the same.
    """
    wanted = sum_dtype(x.dtype) if dtype is None else np.dtype(dtype)
    found = cast_to(x, wanted)
    is_narrow = wanted.kind in "biu" and wanted.itemsize < 4
    return cast_to(found, np.int64) if is_narrow else found, wanted


def masked(x: Array, where: Any, fill: Any) -> Array:
    """`x` where the mask holds, else the number `fill`, which may be a traced one."""
    if where is True:
        return x
    return select(where, x, cast_to(as_array(fill), x.dtype))


def _folded(function: Any, kind: str, neutral: int, combine: Callable[[Any, Any], Any]) -> Callable[..., Array]:
    """The function that combines elements, by the ONNX reduction `kind`; of none it is `neutral`."""

    @implements(function)
    def folded(
        a: Any,
        axis: Any = None,
        dtype: npt.DTypeLike | None = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = True,
    ) -> Array:
        x, wanted = summed_in(array_like(a), dtype)
        x = masked(x, where, neutral)
        fold = _product_of_integers if kind == "ReduceProd" and x.dtype.kind in "iu" else reduced
        result = fold(kind, x, many_axes(axis, x.ndim), keepdims)
        result = result if initial is None else combine(result, summed_in(as_array(initial), wanted)[0])
        return delivered(cast_to(result, wanted), out)

    return folded


@fault(
    "int64_product_in_double",
    kind="wrong",
    operators=("ReduceProd",),
    says="ReduceProd of integers is computed in float64: it is inexact beyond 2**53.",
    since="1.27",
)
def _product_of_integers(kind: str, x: Array, axes: Sequence[int], keepdims: Any) -> Array:
    """The product, which wraps as NumPy's does; onnxruntime's is one of doubles, exact for sizes alone."""
    if not axes or x.value.sizes is not None:
        return reduced(kind, x, axes, keepdims)
    found = folded(axis_first(joined_last(x, axes), -1), op.Mul, 1)
    return with_ones(found, axes) if keepdims else found


total = _folded(np.sum, "ReduceSum", 0, operator.add)
product = _folded(np.prod, "ReduceProd", 1, operator.mul)


@implements(np.max, np.amax)
def maximum(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Array:
    """np.max. Equal largest elements share the gradient evenly, as in torch.amax."""
    return _extremum("max", a, axis, out, keepdims, initial, where)


@implements(np.min, np.amin)
def minimum(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Array:
    """np.min. Equal smallest elements share the gradient evenly, as in torch.amin."""
    return _extremum("min", a, axis, out, keepdims, initial, where)


def _extremum(which: str, a: Any, axis: Any, out: Any, keepdims: Any, initial: Any, where: Any) -> Array:
    x = array_like(a)
    axes = many_axes(axis, x.ndim)
    check_has_result(which, x, axes, initial, where)
    if initial is not None:
        x = masked(x, where, initial)
    result = named_extremum(which, x, axes, bool(keepdims), may_be_empty=initial is not None)
    if initial is not None:
        combine: Any = np.maximum if which == "max" else np.minimum
        result = combine(result, cast_to(as_array(initial), x.dtype))
    return delivered(result, out)


@implements(np.ptp)
def peak_to_peak(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Array:
    """np.ptp."""
    x = array_like(a)
    return delivered(maximum(x, axis, keepdims=keepdims) - minimum(x, axis, keepdims=keepdims), out)


@implements(np.mean)
def mean(
    a: Any,
    axis: Any = None,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
    keepdims: Any = False,
    *,
    where: Any = True,
) -> Array:
    """np.mean: integers in float64, float16 in float32 and rounded back. In an integer dtype fractions are lost."""
    x = array_like(a)
    axes = many_axes(axis, x.ndim)
    if dtype is not None and np.dtype(dtype).kind in "iu":
        added = total(x, axes, dtype, None, keepdims, where=where)
        count = (
            size_as(count_along(x, axes), np.float64)
            if where is True
            else counted_where(where, x, axes, keepdims, np.float64)
        )
        return delivered(cast_to(cast_to(added, np.float64) / count, dtype), out)
    wide, result_dtype = widened(x, dtype, "mean")
    if where is not True:
        counted = counted_where(where, x, axes, keepdims, wide.dtype)
        result = op.Div(reduced("ReduceSum", masked(wide, where, 0), axes, keepdims), counted)
    else:
        result = mean_over(wide, axes, keepdims)
    return delivered(cast_to(result, result_dtype), out)


def widened(x: Array, dtype: npt.DTypeLike | None, what: str) -> tuple[Array, np.dtype[Any]]:
    """Numbers as an average of them is computed, and the dtype that it has. Raises DtypeError for one of integers."""
    asked = np.dtype(dtype) if dtype is not None else x.dtype if x.type.is_float else np.dtype(np.float64)
    if asked.kind in "iub":
        raise DtypeError(f"a {what} in {asked} is no {what}", place=tracing.user_place(), cure="Leave dtype= away.")
    return cast_to(x, np.float32 if dtype is None and is_half(x) else asked), asked


def mean_over(x: Array, axes: Sequence[int], keepdims: Any) -> Array:
    """The mean of floats. onnxruntime's ReduceMean of no elements is 0, so it is used for literal sizes only."""
    count = count_along(x, axes)
    if not isinstance(count, Size) and count > 0:
        return reduced("ReduceMean", x, axes, keepdims)
    return op.Div(reduced("ReduceSum", x, axes, keepdims), size_as(count, x.dtype))


def counted_where(where: Any, x: Array, axes: Sequence[int], keepdims: Any, dtype: Any) -> Array:
    """Return how many elements of `x` a mask that broadcasts to it selects, along axes."""
    mask = expand_to(cast_to(array_like(where), np.bool_), x.shape)
    return reduced("ReduceSum", cast_to(mask, dtype), axes, keepdims)


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Array:
    """np.count_nonzero; a NaN counts."""
    x = cast_to(array_like(a), np.bool_)
    return reduced("ReduceSum", cast_to(x, np.int64), many_axes(axis, x.ndim), keepdims)


@implements(np.any)
def any_of(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Array:
    """np.any."""
    x = masked(cast_to(array_like(a), np.bool_), where, False)
    return delivered(op.Greater(count_nonzero(x, axis, keepdims=keepdims), 0), out)


@implements(np.all)
def all_of(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Array:
    """np.all."""
    x = masked(cast_to(array_like(a), np.bool_), where, True)
    return delivered(op.Equal(count_nonzero(op.Not(x), axis, keepdims=keepdims), 0), out)
