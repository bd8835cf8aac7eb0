"""scipy.linalg for traced arrays and NumPy arrays: solve_triangular, cho_factor, cho_solve."""

from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.array import Array
from primsplit.errors import ShapeError
from primsplit.numpy.dense.loop import swapped
from primsplit.numpy.dense.triangular import solve_triangular as triangular_unit
from primsplit.numpy.linalg import solve_matrix, square
from primsplit.ops import op

_TRANSPOSED = {0: False, "N": False, 1: True, "T": True, 2: True, "C": True}


def solve_triangular(
    a: Any,
    b: Any,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """The solution of A x = b (or A^T x = b) with one triangle of A. Its cotangent lies in that triangle.

    A zero on the diagonal gives inf or NaN where SciPy raises. `overwrite_b` and `check_finite` are accepted.
    """
    if trans not in _TRANSPOSED:
        raise ShapeError(f"trans must be 0, 1, 2, 'N', 'T' or 'C', not {trans!r}", place=tracing.user_place())
    transposed = _TRANSPOSED[trans]
    if not isinstance(a, Array) and not isinstance(b, Array):
        return _plain_solve(np.asarray(a), np.asarray(b), transposed, lower, unit_diagonal)
    a, b = square(a, b)
    if transposed:
        a, lower = swapped(a), not lower
    column = op.Unsqueeze(b, [1]) if len(b.shape) == 1 else b
    found = solve_matrix(a, column, lambda t, x: triangular_unit(t, x, lower=lower, unit=unit_diagonal))
    return op.Squeeze(found, [-1]) if len(b.shape) == 1 else found


def _plain_solve(a: Any, b: Any, transposed: bool, lower: bool, unit: bool) -> Any:
    triangle = np.tril(a) if lower else np.triu(a)
    if unit:
        size = a.shape[-1]
        triangle = np.where(np.eye(size, dtype=bool), np.ones((), a.dtype), triangle)
    return np.linalg.solve(np.swapaxes(triangle, -1, -2) if transposed else triangle, b)


def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, bool]:
    """The Cholesky factor and `lower`, for cho_solve; the other triangle is zero, where SciPy leaves it undefined."""
    return np.linalg.cholesky(a, upper=not lower), lower


def cho_solve(c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """The solution of A x = b by the factor of A that cho_factor gives: two triangular solutions."""
    factor, lower = c_and_lower
    first, second = (0, 1) if lower else (1, 0)
    return solve_triangular(factor, solve_triangular(factor, b, trans=first, lower=lower), trans=second, lower=lower)
