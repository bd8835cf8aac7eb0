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
from primsplit.ir import BFLOAT16, dims
from primsplit.ir.dims import Size
from primsplit.ir.errors import DtypeError, ShapeError
from primsplit.ir.reasons import RAISES
from primsplit.ir.runtimes import fault
from primsplit.numpy.axes import array_like, count_along, delivered, joined_last, many_axes, size_as, with_ones
from primsplit.numpy.scans import folded, lowest
from primsplit.numpy.ufuncs import cast_to, select
from primsplit.ops import op
from primsplit.tracing.array import Array, implements
from primsplit.tracing.asarray import as_array
from primsplit.tracing.broadcasting import axis_first, expand_to


def reduced(kind: str, x: Array, axes: Sequence[int], keepdims: Any) -> Array:
    """The ONNX reduction `kind` over literal axes; over none it is a copy of `x`."""
    if not axes:
        return Array(x.value)
    reduction = getattr(op, kind)
    if len(axes) == x.ndim:
        found: Array = reduction(x, keepdims=int(bool(keepdims)))
    else:
        found = reduction(x, list(axes), keepdims=int(bool(keepdims)))
    return found


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


def is_half(x: Array) -> bool:
    """Return whether this is a dtype that NumPy averages in float32."""
    return x.dtype in {np.dtype(np.float16), BFLOAT16}


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
    result = extremum(which, x, axes, keepdims) if initial is not None else extremum_of_some(which, x, axes, keepdims)
    if initial is not None:
        combine: Any = np.maximum if which == "max" else np.minimum
        result = combine(result, cast_to(as_array(initial), x.dtype))
    return delivered(result, out)


def check_has_result(which: str, x: Array, axes: Sequence[int], initial: Any, where: Any) -> None:
    """Raise ShapeError if there is no `initial` and the axes have no elements, or `where` may leave none."""
    if initial is not None:
        return
    if where is not True:
        raise ShapeError(f"np.{which} with where= needs initial=", place=tracing.user_place())
    if axes and dims.same(count_along(x, axes), 0):
        raise ShapeError(
            f"np.{which} of no elements: the shape is [{','.join(map(str, x.shape))}]",
            place=tracing.user_place(),
            cure="Pass initial=, the result for no elements.",
        )


def of_nothing(x: Array, axes: Sequence[int]) -> Array | None:
    """Return whether a run has no elements along these axes; None if no run can have none."""
    count = count_along(x, axes)
    return None if dims.at_least(count, 1) else op.Equal(size_as(count, np.int64), 0)


def unless(wrong: Array | None, number: Any) -> Any:
    """The number; a run in which the answer is True fails, as in `zero_unless`."""
    if wrong is None:
        return number
    index = op.Cast(wrong, to=np.int64)
    with tracing.remarked(f"{RAISES}ValueError: there is no extremum of no elements"):
        return op.Gather(np.reshape(number, 1), index)


def extremum_of_some(which: str, x: Array, axes: Sequence[int], keepdims: Any) -> Array:
    """The largest or smallest element over axes; a run in which there is none to choose from fails.

    What fails is the number in the place of an extremum that there is none of, so that nothing more is done to arrays.
    """
    wrong = of_nothing(x, axes)
    if wrong is None:
        return extremum(which, x, axes, keepdims)
    found = _reduced(which, x, axes, keepdims)
    if x.type.is_float:
        return with_nan(found, x, axes, keepdims, unless(wrong, np.asarray(np.nan, x.dtype)))
    return op.Where(wrong, unless(wrong, np.zeros((), x.dtype)), found)


def extremum(which: str, x: Array, axes: Sequence[int], keepdims: Any) -> Array:
    """The largest ("max") or smallest ("min") element over axes; NaN where there is one among the elements.

    Of no elements it is -inf (the least integer) or inf.
    """
    found = _reduced(which, x, axes, keepdims)
    if not axes:
        return found
    return (
        _of_whole(which, found, count_along(x, axes)) if x.dtype.kind in "iub" else with_nan(found, x, axes, keepdims)
    )


def _reduced(which: str, x: Array, axes: Sequence[int], keepdims: Any) -> Array:
    """The extremum as onnxruntime has it: it passes over NaN, that of no whole numbers is any; none of no booleans."""
    is_short = x.dtype in {np.dtype(np.int16), np.dtype(np.uint16)}
    is_refused = x.dtype == np.bool_ and not dims.at_least(count_along(x, axes), 1)
    wide = cast_to(x, np.int32) if is_short or is_refused else x
    return cast_to(reduced("ReduceMax" if which == "max" else "ReduceMin", wide, axes, keepdims), x.dtype)


@fault(
    "extremum_of_no_whole_numbers",
    kind="wrong",
    operators=("ReduceMax", "ReduceMin"),
    says="ReduceMax and ReduceMin of no integers are 0, or a limit of another dtype.",
    before="1.27",
)
def _of_whole(which: str, found: Array, count: Any) -> Array:
    """The extremum of so many whole numbers or flags; onnxruntime's of none is that of its 64 bits, or 0."""
    if dims.at_least(count, 1):
        return found
    of_none = np.asarray(lowest(found.dtype, -1 if which == "max" else 1), found.dtype)
    return op.Where(op.Equal(size_as(count, np.int64), np.int64(0)), of_none, found)


@fault(
    "extremum_skips_nan",
    kind="wrong",
    operators=("ReduceMax", "ReduceMin"),
    says="ReduceMax and ReduceMin skip NaN.",
)
def with_nan(found: Array, x: Array, axes: Sequence[int], keepdims: Any, nan: Any = None) -> Array:
    """`found`, or NaN where `x` has one along the axes: onnxruntime's ReduceMax passes over NaN.

    A sum of numbers clipped to [-1, 1] is NaN only if one of them is.
    """
    if not x.type.is_float:
        return found
    clipped = reduced("ReduceSum", op.Clip(x, -1.0, 1.0), axes, keepdims)
    return op.Where(op.IsNaN(clipped), np.asarray(np.nan, x.dtype) if nan is None else nan, found)


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
