"""Systems that are not square, by QR: lstsq."""

from typing import Any

import numpy as np

from primsplit import dims, tracing
from primsplit.array import Array, implements
from primsplit.errors import PrimsplitError, ShapeError
from primsplit.numpy.dense import qr as qr_unit
from primsplit.numpy.dense.loop import swapped
from primsplit.numpy.dense.singular import singular_values
from primsplit.numpy.dense.triangular import solve_triangular
from primsplit.numpy.linalg.operands import matrices
from primsplit.ops import op


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, ...]:
    """The least-squares solution, for a matrix of full rank, by QR: (x, residuals, rank, singular values).

    A wide matrix gets the solution of least norm. A rank-deficient matrix gives inf or NaN, or a solution that
    rounding decides. Which of the two sides is longer must be known when tracing.
    """
    a, b = matrices(a, b)
    if len(a.shape) != 2 or len(b.shape) > 2:
        raise ShapeError("lstsq takes a matrix, and a vector or matrix", place=tracing.user_place())
    right = op.Unsqueeze(b, [1]) if len(b.shape) == 1 else b
    is_tall = _is_tall(a)
    x = _tall_solution(a, right) if is_tall else _least_norm(a, right)
    residual = op.Sub(op.MatMul(a, x), right)
    squares = op.ReduceSum(op.Mul(residual, residual), [0], keepdims=0)
    overdetermined = is_tall and not dims.same(a.shape[0], a.shape[1])
    residuals = squares if overdetermined else op.Slice(squares, [0], [0], [0])
    rank = dims.minimum(a.shape[0], a.shape[1])
    x = op.Squeeze(x, [1]) if len(b.shape) == 1 else x
    return x, residuals, rank, singular_values(a)


def _is_tall(a: Array) -> bool:
    """True for a matrix that is at least as high as wide. Raises UndecidableSize where only the run can tell."""
    rows, columns = a.shape[-2:]
    try:
        return bool(rows >= columns)
    except PrimsplitError as error:
        error.place = tracing.user_place()
        raise


def _tall_solution(a: Array, b: Array) -> Array:
    q, r = qr_unit.tall_qr(a)
    x: Array = solve_triangular(r, op.MatMul(swapped(q), b), lower=False)
    return x


def _least_norm(a: Array, b: Array) -> Array:
    q, r = qr_unit.tall_qr(swapped(a))
    return op.MatMul(q, solve_triangular(swapped(r), b, lower=True))
