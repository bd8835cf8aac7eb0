"""scipy.linalg's systems of a few diagonals, for traced arrays and NumPy arrays."""

import importlib
from functools import partial
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.scipy.known_systems import known_reals, of_diagonals, solution
from primsplit.frontends.scipy.operands import of_length
from primsplit.ir import Type, dims
from primsplit.ir.errors import ShapeError
from primsplit.numpy import failing
from primsplit.numpy.axes import END
from primsplit.numpy.complex.operands import holds_complex, operand
from primsplit.numpy.dense.loop import scan
from primsplit.numpy.dense.tridiagonal import solve_tridiagonal
from primsplit.numpy.linear import matrices
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import holds_traced
from primsplit.tracing.broadcasting import count_up, of_size

__all__ = ["solve_banded", "solveh_banded"]

SINGULAR = "singular matrix"
INDEFINITE = "a leading minor is not positive definite"


def solve_banded(
    l_and_u: tuple[int, int],
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """The solution of A x = b, the diagonals of A [n, n] being rows of `ab`, `u` of them above the main one.

    A known A is eliminated while tracing. Three traced diagonals are solved in n steps; A is written out where it has
    others, or where nothing is traced.
    """
    known = known_reals(ab) if isinstance(b, Array) else None
    if known is not None and known.ndim == 2 and len(known) == sum(l_and_u) + 1 and max(l_and_u) < known.shape[1]:
        found: Any = solution(partial(of_diagonals, known, *l_and_u), b)
        if found is not None:
            return cast_to(found, matrices(ab, b)[0].dtype)
    if holds_complex(ab) or holds_complex(b):
        rows = of_length(_counted(operand(ab), l_and_u), sum(l_and_u) + 1, 0)
        return np.linalg.solve(_written_out(rows, l_and_u), operand(b))
    if not isinstance(ab, Array) and not isinstance(b, Array):
        return np.linalg.solve(_written_out(_counted(np.asarray(ab), l_and_u), l_and_u), np.asarray(b))
    rows, right = matrices(ab, b)
    rows = of_size(_counted(rows, l_and_u), 0, sum(l_and_u) + 1)
    column = op.Unsqueeze(right, [1]) if len(right.shape) == 1 else right
    if tuple(l_and_u) == (1, 1):
        found = _three_diagonals(rows, of_size(column, 0, rows.shape[-1]))
    else:
        found = np.linalg.solve(_written_out(rows, l_and_u), column)
    return op.Squeeze(found, [-1]) if len(right.shape) == 1 else found


def _counted(rows: Any, l_and_u: tuple[int, int]) -> Any:
    """The diagonals. Raises ShapeError if their number does not match `l_and_u`."""
    if not dims.could_be(rows.shape[0], sum(l_and_u) + 1):
        raise ShapeError(f"{rows.shape[0]} diagonals for l + u + 1 = {sum(l_and_u) + 1}", place=tracing.user_place())
    return rows


def _three_diagonals(rows: Array, right: Array) -> Any:
    """The solution for three diagonals. Where there may be no equation, one more is solved, which says that x is 0."""
    size = rows.shape[-1]
    above, diagonal, below = rows[0], rows[1], rows[2]
    if dims.at_least(size, 1):
        found: Array = solve_tridiagonal(below[:-1], diagonal, above[1:], right)
        return failing.solved(found, (rows, right), SINGULAR)
    none, one = np.zeros(1, rows.dtype), np.ones(1, rows.dtype)
    is_last = op.Equal(count_up(size), size - 1)
    longer = op.Pad(right, [0, 0, 1, 0], types=[Type(right.dtype, (size + 1, right.shape[1]))])
    found = solve_tridiagonal(
        op.Where(is_last, 0.0, below),
        op.Concat(diagonal, one, axis=0),
        op.Slice(op.Concat(above, none, axis=0), [1], [END], [0], types=[above.type]),
        longer,
    )
    return failing.solved(op.Slice(found, [0], [-1], [0], types=[right.type]), (rows, right), SINGULAR)


def solveh_banded(
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Any:
    """The solution of A x = b for a Hermitian A, whose main diagonal and those above (or below) are rows of `ab`.

    It is solved as a matrix that is not symmetric is; a run fails where A is not positive definite.
    """
    count = len(ab) - 1
    ab = _definite(ab, lower=lower)
    above = [ab[k] if lower else np.roll(ab[count - k], -k) for k in range(1, count + 1)]
    below = [np.roll(row, k) for k, row in enumerate(above, 1)]
    if holds_complex(ab) and lower:
        below = [np.conj(row) for row in below]
    elif holds_complex(ab):
        above = [np.conj(row) for row in above]
    rows = np.stack([*below[::-1], ab[0 if lower else count], *above])
    return solve_banded((count, count), rows, b)


def _definite(ab: Any, *, lower: bool) -> Any:
    """The diagonals of a Hermitian matrix, as `solveh_banded` takes them; a run fails if it is not positive definite.

    Those of a known matrix are tried while tracing. Of two diagonals the pivots are read, of others Cholesky's factor.
    """
    if not holds_traced(ab):
        if np.size(ab):
            linalg: Any = importlib.import_module("scipy.linalg")
            linalg.cholesky_banded(ab, lower=lower, check_finite=False)
        return ab
    rows, count = operand(ab), len(ab) - 1
    main = rows[0 if lower else count].real
    if count == 1:
        beside = rows[1, :-1] if lower else rows[0, 1:]
        pivots = _pivots(main, (beside * np.conj(beside)).real)
        failed = op.Not(op.Greater(pivots, np.zeros((), pivots.dtype)))
    else:
        below = rows if lower else np.stack([np.conj(np.roll(rows[count - k], -k)) for k in range(count + 1)])
        failed = failing.no_factor(failing.nan_where_singular.cholesky(_written_out(below, (count, 0))))
    return failing.with_error(rows, failed, (rows,), np.linalg.LinAlgError(INDEFINITE))


def _pivots(main: Array, squares: Array) -> Array:
    """The pivots of a symmetric matrix of a diagonal [n] and squares [n - 1] of the numbers beside it, and a 1 first.

    R. A. Horn and C. R. Johnson, Matrix Analysis (2013), theorem 7.2.5: they are positive if and only if it is
    positive definite.
    """
    one, zero = np.ones(1, main.dtype), np.zeros(1, main.dtype)
    numbers = op.Concat(one, main, axis=0)
    before = op.Slice(op.Concat(zero, zero, squares, axis=0), [0], op.Shape(numbers), [0], types=[numbers.type])

    def step(pivot: Array, number: Array, square: Array) -> tuple[list[Array], list[Array]]:
        found = op.Sub(number, op.Div(square, pivot))
        return [found], [found]

    return scan(step, [Array(tracing.constant(np.ones((), main.dtype)))], [numbers, before])[1]


def _written_out(rows: Any, l_and_u: tuple[int, int]) -> Any:
    """The matrix of these diagonals."""
    lower, upper = l_and_u
    size = rows.shape[-1]
    numbers: Any = count_up(size) if isinstance(rows, Array) else np.arange(size)
    place = upper + numbers[:, None] - numbers
    return sum(np.where(place == i, rows[i], np.zeros((), rows.dtype)) for i in range(lower + upper + 1))
