"""The largest and the smallest element along axes, recorded by name: `call::max` and `call::min`.

Such a call is one op up to the file, so that recognizing a maximum is a look at a name. It has a derivative rule, and a
batching rule in `transforms/batching/named.py`. Its program is the ONNX reduction with a mend for NaN:

```
y = max(x, axis=1)   ->   m = ReduceMax(x, [1]); s = ReduceSum(Clip(x, -1.0, 1.0), [1]); y = Where(IsNaN(s), nan, m)
```

Numbers that are no floats have no derivative, and are reduced without a call.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import BFLOAT16, Const, dims
from primsplit.ir.errors import ShapeError
from primsplit.ir.reasons import RAISES
from primsplit.ir.runtimes import fault
from primsplit.numpy.axes import count_along, reduced, size_as, with_ones
from primsplit.numpy.refusing import raise_if_caught
from primsplit.numpy.scans import lowest
from primsplit.numpy.ufuncs import cast_to
from primsplit.numpy.units import nan_where
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.calls.named import called_by_name, named
from primsplit.tracing.calls.primitive import Function, Primitive, rrule


def is_half(x: Array) -> bool:
    """Return whether this is a dtype that NumPy averages in float32."""
    return x.dtype in {np.dtype(np.float16), BFLOAT16}


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
    raise_if_caught(lambda: of_nothing(x, axes), ValueError(f"np.{which} of no elements"))


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


Axis = int | tuple[int, ...]


def _named(which: str) -> Primitive:
    """The call of this extremum, with its rule."""

    @named(which)
    def call(x: Array, *, axis: Axis, keepdims: bool = False, may_be_empty: bool = False) -> Array:
        return (extremum if may_be_empty else extremum_of_some)(which, x, _axes(axis), keepdims)

    @rrule(call)
    def shared(x: Array, *, axis: Axis, keepdims: bool = False, may_be_empty: bool = False) -> tuple[Array, Function]:
        """Equal extrema share the cotangent evenly. 16 bits are compared in 32: see `rules/halves.py`."""
        y = called_by_name(call, x, axis=axis, keepdims=keepdims, may_be_empty=may_be_empty)

        def pullback(dy: Array) -> tuple[Array]:
            if not is_half(x):
                return (_shares(dy, x, y, _axes(axis), keepdims),)
            wide = cast_to(x, np.float32)
            best = called_by_name(call, wide, axis=axis, keepdims=keepdims, may_be_empty=may_be_empty)
            return (cast_to(_shares(cast_to(dy, np.float32), wide, best, _axes(axis), keepdims), x.dtype),)

        return y, pullback

    return call


def _axes(axis: Axis) -> tuple[int, ...]:
    return (axis,) if isinstance(axis, int) else axis


def _shares(dy: Array, x: Array, y: Array, axes: Sequence[int], keepdims: bool) -> Array:
    """The cotangent of each element; NaN where y is NaN, but a cotangent of 0 stays 0."""
    winners = op.Cast(op.Equal(x, y if keepdims else with_ones(y, axes)), to=dy.dtype)
    count = op.Max(op.ReduceSum(winners, list(axes), keepdims=1), 1.0)
    dy = nan_where(op.IsNaN(y), dy)
    return op.Mul(winners, op.Div(dy if keepdims else with_ones(dy, axes), count), types=[x.type])


NAMED: dict[str, Primitive] = {which: _named(which) for which in ("max", "min")}
"""The calls by the names of NumPy's functions."""


def named_extremum(which: str, x: Array, axes: Sequence[int], keepdims: bool, *, may_be_empty: bool) -> Array:
    """The largest or smallest element over axes, recorded by name where it has a derivative.

    Of no elements it is -inf (the least integer) or inf if it `may_be_empty`; else the run fails.
    """
    if not x.type.is_float or not axes or isinstance(x.value, Const):
        return (extremum if may_be_empty else extremum_of_some)(which, x, axes, keepdims)
    axis = axes[0] if len(axes) == 1 else tuple(sorted(axes))
    return called_by_name(NAMED[which], x, axis=axis, keepdims=bool(keepdims), may_be_empty=may_be_empty)
