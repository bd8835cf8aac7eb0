"""Normalizes axis arguments as NumPy does, and cuts slabs of an array along one axis."""

import operator
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Const, Type, Value, dims
from primsplit.ir.dims import Dim, Size
from primsplit.ir.errors import ShapeError
from primsplit.numpy.ufuncs import cast_to, write_out
from primsplit.ops import op
from primsplit.tracing import asarray as lifting
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.branching.raising import checked
from primsplit.tracing.broadcasting import reshape_to, reshaped_unless, transpose
from primsplit.tracing.hooks import HOOKS

END = int(np.iinfo(np.int64).max)
"""The end of a slice that goes to the end of the axis."""
FRONT = int(np.iinfo(np.int64).min)
"""The end of a slice that goes backwards to the front of the axis."""

array_like = lifting.array_like


def one_axis(axis: Any, rank: int) -> int:
    """The axis counted from the front. Raises ShapeError at the user's line."""
    number = operator.index(axis)
    if not -rank <= number < rank:
        raise ShapeError(f"axis {number} is out of bounds for an array with {rank} axes", place=tracing.user_place())
    return number % rank


def many_axes(axis: Any, rank: int) -> tuple[int, ...]:
    """The axes that an argument names, sorted: all for None. An array without axes takes 0 and -1, as in NumPy."""
    if axis is None:
        return tuple(range(rank))
    numbers = axis if isinstance(axis, tuple | list) else (axis,)
    if rank == 0 and len(numbers) == 1 and numbers[0] in {0, -1}:
        return ()
    found = sorted(one_axis(a, rank) for a in numbers)
    if len(set(found)) != len(found):
        raise ShapeError(f"axis={axis} names an axis twice", place=tracing.user_place())
    return tuple(found)


def count_along(x: Array, axes: Sequence[int]) -> Dim:
    """Return the number of elements that a reduction over these axes reads for each element of its result."""
    return dims.product(x.shape[a] for a in axes)


NEGATIVE = ValueError("negative dimensions are not allowed")


def as_size(given: Any, negative: Exception = NEGATIVE) -> Dim:
    """The size that a number of the user's is: an int, a Size, or a traced whole number, which becomes a size.

    A run in which it is `negative` fails with this error. One that is no ValueError is none that Python raises. Raises
    TypeError, or NumberAsked for a traced value that is no whole number.
    """
    if isinstance(given, Size):
        return _not_below_zero(given, negative)
    if not isinstance(given, Array):
        return operator.index(given)
    sizes = given.value.sizes
    if sizes is not None and len(sizes) == 1:
        return sizes[0]
    is_whole = given.shape == () and given.dtype.kind in "iu" and not isinstance(given.value, Const)
    if not is_whole or HOOKS.whole_number(given) is not None:
        return operator.index(given)
    return tracing.size_of_number(given.value, partial(_checked, negative))


def as_count(given: Any) -> Dim:
    """The size that a number of the user's is; a Size may be negative, for which there is no element."""
    return given if isinstance(given, Size) else as_size(given)


def as_count_or_none(given: Any) -> Dim:
    """The number of elements that a number of the user's asks for, which is none for any negative number."""
    if isinstance(given, Array) and given.value.sizes is None and given.shape == () and given.dtype.kind == "i":
        given = given if isinstance(given.value, Const) else op.Max(given, np.zeros((), given.dtype))
    return as_count(given)


def _not_below_zero(size: Size, negative: Exception) -> Size:
    """Return a size; a run that reads it fails with this error where it is negative. Those of rules are not checked."""
    if not dims.at_least(size, 0) and tracing.current().path is not None:
        tracing.check_size(size, partial(_checked, negative))
    return size


def _checked(negative: Exception, number: Value) -> Value:
    wrong = op.Less(Array(number), np.int64(0))
    return checked(Array(number), wrong, negative, is_pythons=isinstance(negative, ValueError)).value


def size_as(size: Dim, dtype: Any) -> Array:
    """A size as a traced number."""
    if isinstance(size, Size):
        return cast_to(Array(as_array(size).value), dtype)
    return Array(tracing.constant(np.asarray(size, dtype)))


def slab(x: Array, axis: int, start: Dim, end: Dim) -> Array:
    """`x[start:end]` along one axis."""
    return op.Slice(x, [start], [end], [axis])


def slab_of(x: Array, axis: int, size: Dim) -> Array:
    """The first `size` elements along an axis that has at least as many."""
    if dims.same(x.shape[axis], size):
        return x
    shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
    return op.Slice(x, [0], [size], [axis], types=[Type(x.dtype, shape)])


def reaching(x: Array, axis: int, count: Dim) -> Array:
    """Return `x`; a run in which the axis has fewer than `count` slices fails."""
    if dims.same(count, 0) or dims.at_least(x.shape[axis], count):
        return x
    least = count if isinstance(count, int) else Array(tracing.size_of(count))
    return reshaped_unless(op.Less(Array(tracing.size_of(x.shape[axis])), least), x, x.shape)


def joined_last(x: Array, axes: Sequence[int]) -> Array:
    """`x` with these axes joined to one, which comes last."""
    kept = [i for i in range(x.ndim) if i not in axes]
    moved = transpose(x, (*kept, *axes))
    return reshape_to(moved, (*(x.shape[i] for i in kept), count_along(x, axes)))


def with_ones(x: Array, axes: Sequence[int]) -> Array:
    """`x` with axes of size 1 at these places of the result."""
    return op.Unsqueeze(x, list(axes)) if axes else x


def delivered(result: Array, out: Any) -> Array:
    """`result`, written to the array that the user gave as `out=`."""
    if isinstance(out, tuple):
        (out,) = out
    if out is None:
        return result
    written: Array = write_out(result, out, True, "same_kind")
    return written


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
