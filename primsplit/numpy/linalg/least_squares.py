"""Systems that are not square, by QR: lstsq."""

from typing import Any

import numpy as np

from primsplit import dims, tracing
from primsplit.array import Array, implements
from primsplit.errors import ShapeError
from primsplit.infer import fresh
from primsplit.ir import Type
from primsplit.lifting import as_array
from primsplit.numpy.dense import qr as qr_unit
from primsplit.numpy.dense.loop import swapped
from primsplit.numpy.dense.singular import cut_inverse, is_faint, is_kept, singular_values
from primsplit.numpy.dense.triangular import solve_triangular
from primsplit.numpy.linalg.operands import matrices
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, ...]:
    """The least-squares solution, for a matrix of full rank, by QR: (x, residuals, rank, singular values).

    A wide matrix gets the solution of least norm. A rank-deficient matrix gives inf or NaN, or a solution that
    rounding decides, unless `rcond` is more than 100 units in the last place: singular values up to that many times the
    largest are then taken as 0, in the pseudo-inverse.
    """
    a, b = matrices(a, b)
    if len(a.shape) != 2 or len(b.shape) > 2:
        raise ShapeError("lstsq takes a matrix, and a vector or matrix", place=tracing.user_place())
    right = op.Unsqueeze(b, [1]) if len(b.shape) == 1 else b
    s = singular_values(a)
    rank: Any = dims.minimum(*a.shape)
    if rcond is None or is_faint(rcond, a):
        x = _solution(a, right)
    else:
        cutoff = cast_to(as_array(rcond), a.dtype)
        x = op.MatMul(cut_inverse(a, cutoff), right)
        rank = op.ReduceSum(op.Cast(is_kept(s, cutoff), to=np.int32), [0], keepdims=0)
    residual = op.Sub(op.MatMul(a, x), right)
    squares = op.ReduceSum(op.Mul(residual, residual), [0], keepdims=0)
    x = op.Squeeze(x, [1]) if len(b.shape) == 1 else x
    counted = np.int32(rank) if isinstance(rank, int) else cast_to(as_array(rank), np.int32)
    return x, _residuals(a, squares, rank), counted, s


def _solution(a: Array, b: Array) -> Array:
    """The solution of least squares or least norm; where only the run can tell which, A is factored from both sides."""
    rows, columns = a.shape
    if dims.at_least(rows, columns):
        return _tall_solution(a, b)
    if dims.at_least(columns, rows):
        return _least_norm(a, b)
    q, r = qr_unit.reduced_qr(a)
    return _least_norm(r, op.MatMul(swapped(q), b))


def _residuals(a: Array, squares: Array, rank: Any) -> Array:
    """The sums of squares where the matrix is higher than wide, and of full rank where that is counted; else none."""
    rows, columns = a.shape
    if dims.at_least(columns, rows):
        return op.Slice(squares, [0], [0], [0])
    is_higher: Any = op.Greater(as_array(rows), as_array(columns))
    if isinstance(rank, Array):
        is_higher = op.And(is_higher, op.Equal(op.Cast(rank, to=np.int64), as_array(columns)))
    elif dims.at_least(rows, columns + 1):
        return squares
    count = op.Where(is_higher, as_array(squares.shape[0]), np.int64(0))
    return op.Slice(squares, [0], op.Unsqueeze(count, [0]), [0], types=[Type(squares.dtype, (fresh("residuals"),))])


def _tall_solution(a: Array, b: Array) -> Array:
    q, r = qr_unit.tall_qr(a)
    x: Array = solve_triangular(r, op.MatMul(swapped(q), b), lower=False)
    return x


def _least_norm(a: Array, b: Array) -> Array:
    q, r = qr_unit.tall_qr(swapped(a))
    return op.MatMul(q, solve_triangular(swapped(r), b, lower=True))
