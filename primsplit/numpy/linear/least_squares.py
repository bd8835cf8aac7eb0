"""Least-squares solutions of systems that are not square: lstsq."""

from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Type, dims
from primsplit.ir.errors import ShapeError
from primsplit.numpy.dense.least_squares import least_squares
from primsplit.numpy.dense.singular import cut_inverse, is_faint, is_kept, singular_values
from primsplit.numpy.linear.operands import matrices
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.ops.inference import fresh
from primsplit.tracing.array import Array, implements
from primsplit.tracing.asarray import as_array

UNIT = float(np.finfo(np.float64).eps)


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, ...]:
    """The least-squares solution of least norm: (x, residuals, rank, singular values).

    Singular values up to `rcond` times the largest are taken as 0: by default max(m, n) units in the last place, for a
    negative one a unit. The derivative is that where the rank stays. There are no residuals of a matrix that is not
    higher than wide, or lacks full rank, as in NumPy: how many there are the run decides.
    """
    a, b = matrices(a, b)
    if len(a.shape) != 2 or len(b.shape) > 2:
        raise ShapeError("lstsq takes a matrix, and a vector or matrix", place=tracing.user_place())
    cutoff = units(a) if rcond is None else _not_negative(cast_to(as_array(rcond), np.float64))
    return solved(a, b, cutoff, is_rounding=rcond is None or is_faint(rcond, a))


def units(a: Array) -> Array:
    """max(m, n) units in the last place of float64, in which NumPy solves systems of every dtype."""
    longer = cast_to(as_array(dims.maximum(*a.shape)), np.float64)
    found: Array = op.Mul(longer, UNIT)
    return found


def solved(a: Array, b: Array, cutoff: Array, *, is_rounding: bool) -> tuple[Array, Array, Array, Array]:
    """Return the results of lstsq, computed in float64.

    `is_rounding` says that only what rounding may have made of 0 is below the cutoff.
    """
    x, residuals, rank, s = _solved(*(cast_to(v, np.float64) for v in (a, b, cutoff)), is_rounding=is_rounding)
    return cast_to(x, a.dtype), cast_to(residuals, a.dtype), rank, cast_to(s, a.dtype)


def _solved(a: Array, b: Array, cutoff: Array, *, is_rounding: bool) -> tuple[Array, Array, Array, Array]:
    right = op.Unsqueeze(b, [1]) if len(b.shape) == 1 else b
    s = singular_values(a)
    if is_rounding:
        x, rank = least_squares(a, right, cutoff)
    else:
        x = op.MatMul(cut_inverse(a, cutoff), right)
        rank = op.ReduceSum(op.Cast(is_kept(s, cutoff), to=np.int32), [0], keepdims=0)
    residual = op.Sub(op.MatMul(a, x), right)
    squares = op.ReduceSum(op.Mul(residual, residual), [0], keepdims=0)
    x = op.Squeeze(x, [1]) if len(b.shape) == 1 else x
    return x, _residuals(a, squares, rank), rank, s


def _not_negative(cutoff: Array) -> Array:
    """The cutoff, for a negative one the unit in the last place, as LAPACK has it."""
    known = cutoff.known()
    if known is not None:
        return Array(tracing.constant(np.where(known < 0, UNIT, known)))
    found: Array = op.Where(op.Less(cutoff, 0.0), UNIT, cutoff)
    return found


def _residuals(a: Array, squares: Array, rank: Array) -> Array:
    """The sums of squares where the matrix is higher than wide, and of full rank; else none."""
    rows, columns = a.shape
    if dims.at_least(columns, rows):
        return op.Slice(squares, [0], [0], [0])
    is_higher = op.Greater(as_array(rows), as_array(columns))
    is_higher = op.And(is_higher, op.Equal(op.Cast(rank, to=np.int64), as_array(columns)))
    count = op.Where(is_higher, as_array(squares.shape[0]), np.int64(0))
    return op.Slice(squares, [0], op.Unsqueeze(count, [0]), [0], types=[Type(squares.dtype, (fresh("residuals"),))])
