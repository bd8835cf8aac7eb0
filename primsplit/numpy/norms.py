"""Norms of vectors and matrices.

The gradient at a zero vector is zero for every order, as in torch.linalg.norm; so is the gradient of a single zero
element. Before powers are taken, elements are divided by a power of two near the largest, so that powers neither
overflow nor underflow to 0.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import dims
from primsplit.ir.errors import ShapeError
from primsplit.numpy.approximations.reductions import power_of_two_near
from primsplit.numpy.axes import array_like, count_along, many_axes, one_axis, reduced
from primsplit.numpy.dense.singular import singular_values
from primsplit.numpy.extrema import extremum, extremum_of_some
from primsplit.numpy.quotients import length_quotient, signed
from primsplit.numpy.refusing import of_numbers
from primsplit.numpy.ufuncs import call, cast_to
from primsplit.ops import op
from primsplit.tracing.array import Array, implements
from primsplit.tracing.broadcasting import expand_to, inverse_permutation, reshape_to
from primsplit.tracing.calls.primitive import Function, primitive, rrule


def _floats(x: Any) -> Array:
    array = array_like(x)
    return array if array.type.is_float else cast_to(array, np.float64)


def vector_norm_over(x: Array, axes: Sequence[int], order: Any, keepdims: Any) -> Array:
    """The norm of the elements along axes, taken as one vector. `order` is a number, or traced."""
    if isinstance(order, str):
        raise ShapeError(f"the norm {order!r} is one of matrices", place=tracing.user_place())
    if not axes:
        return op.Abs(x)
    if isinstance(order, Array):
        return _general_norm(x, axes, order, keepdims)
    if order is None or order == 2:
        return reduced("ReduceL2", x, axes, keepdims)
    if abs(order) == np.inf:
        return _extreme(op.Abs(x), axes, keepdims, is_largest=order > 0)
    if order == 0:
        return reduced("ReduceSum", cast_to(op.Not(op.Equal(x, 0.0)), x.dtype), axes, keepdims)
    if order == 1:
        return reduced("ReduceL1", x, axes, keepdims)
    if order > 1:
        found: Array = power_norm(x, tuple(axes), repr(float(order)))
        return found if keepdims else op.Squeeze(found, sorted(axes))
    return _general_norm(x, axes, order, keepdims)


@primitive
def power_norm(x: Array, axes: tuple[int, ...], told: str) -> Array:
    """(sum |x|**p) ** (1/p) for p > 1, the axes kept. `told` is p as text, because a float would be an array."""
    return _general_norm(x, axes, float(told), True)


@rrule(power_norm)
def _power_norm(x: Array, axes: tuple[int, ...], told: str) -> tuple[Array, Function]:
    """sign(x) r**(p-1) dy of the shares r = |x| / y; where p >= 2, x r**(p-2) dy / y."""
    y, order = power_norm(x, axes, told), float(told)

    def pullback(dy: Array) -> tuple[Array, None, None]:
        share = length_quotient(op.Abs(x), expand_to(y, x.shape))
        if order >= 2:
            power = share ** (order - 2) if order >= 3 else _powers(share, order - 2)
            return op.Mul(op.Mul(x, power), length_quotient(dy, y), types=[x.type]), None, None
        return signed(op.Mul(dy, share ** (order - 1), types=[x.type]), x), None, None

    return y, pullback


def _general_norm(x: Array, axes: Sequence[int], order: Any, keepdims: Any) -> Array:
    """(sum |x|**p) ** (1/p), with its gradient in p too where p is traced."""
    order = cast_to(order, x.dtype) if isinstance(order, Array) else float(order)
    size = op.Abs(x)
    scale, inverse = power_of_two_near(reduced("ReduceMax", size, axes, True))
    total: Any = reduced("ReduceSum", _powers(size * inverse, order), axes, keepdims)
    if not keepdims:
        scale = reshape_to(scale, total.shape)
    degenerate = call(np.where, order > 0, total == 0, op.IsInf(total))
    root = call(np.where, degenerate, 1.0, total) ** (1.0 / order)
    found: Array = call(np.where, degenerate, 0.0, root * scale)
    return found


def _powers(size: Array, order: Any) -> Array:
    """`size ** order`, whose gradient is 0 where the size is."""
    if not isinstance(order, Array) and order >= 2:
        powers: Array = size**order
        return powers
    is_zero = size == 0
    at_zero = np.where(order > 0, 0.0, np.inf)
    powers = call(np.where, is_zero, at_zero, call(np.where, is_zero, 1.0, size) ** order)
    return cast_to(powers, size.dtype)


def _extreme(x: Array, axes: Sequence[int], keepdims: Any, *, is_largest: bool) -> Array:
    """The largest or smallest of numbers that are not negative; the largest of none is 0, as in NumPy."""
    if not is_largest:
        return extremum_of_some("min", x, axes, keepdims)
    found = extremum("max", x, axes, keepdims)
    if dims.above(count_along(x, axes), 0):
        return found
    return op.Where(op.Less(found, 0.0), 0.0, found)


def matrix_norm_over(x: Array, axes: tuple[int, int], order: Any, keepdims: Any) -> Array:
    """The norm of the matrices whose rows and columns are along `axes`."""
    if order is None or order in {"fro", "f"}:
        return reduced("ReduceL2", x, sorted(axes), keepdims)
    if order in {"nuc", 2, -2}:
        return _spectral(x, axes, order, keepdims)
    if order not in {1, -1, np.inf, -np.inf}:
        raise ShapeError(f"matrices have no norm {order!r}", place=tracing.user_place())
    summed, searched = axes if abs(order) == 1 else axes[::-1]
    sums = reduced("ReduceL1", x, [summed], True)
    found = _extreme(sums, [searched], True, is_largest=order > 0)
    return found if keepdims else op.Squeeze(found, sorted(axes))


def _spectral(x: Array, axes: tuple[int, int], order: Any, keepdims: Any) -> Array:
    """The largest singular value, the smallest, or their sum; a run with NaN fails, as NumPy does."""
    x, rank = of_numbers(x), len(x.shape)
    others = [i for i in range(rank) if i not in axes]
    values = op.Unsqueeze(singular_values(op.Transpose(x, perm=[*others, *axes])), [-1])
    if order == "nuc":
        found = op.ReduceSum(values, [-2], keepdims=1)
    else:
        found = _extreme(values, [rank - 2], True, is_largest=order == 2)
    if not keepdims:
        return op.Squeeze(found, [rank - 2, rank - 1])
    return op.Transpose(found, perm=inverse_permutation([*others, *axes]))


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Array:
    """np.linalg.norm."""
    array = _floats(x)
    if axis is None:
        if ord is None:
            return vector_norm_over(array, tuple(range(array.ndim)), None, keepdims)
        axes: tuple[int, ...] = tuple(range(array.ndim))
    else:
        axes = tuple(one_axis(a, array.ndim) for a in (axis if isinstance(axis, tuple | list) else (axis,)))
    if len(axes) == 1:
        return vector_norm_over(array, axes, ord, keepdims)
    if len(axes) == 2 and axes[0] != axes[1]:
        return matrix_norm_over(array, (axes[0], axes[1]), ord, keepdims)
    raise ShapeError(f"a norm is taken over one axis or two, not over {len(axes)}", place=tracing.user_place())


@implements(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: Any = False, ord: Any = 2) -> Array:
    """np.linalg.vector_norm."""
    array = _floats(x)
    return vector_norm_over(array, many_axes(axis, array.ndim), ord, keepdims)


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: Any = False, ord: Any = "fro") -> Array:
    """np.linalg.matrix_norm."""
    array = _floats(x)
    if array.ndim < 2:
        raise ShapeError("a matrix has two axes", place=tracing.user_place())
    return matrix_norm_over(array, (array.ndim - 2, array.ndim - 1), ord, keepdims)
