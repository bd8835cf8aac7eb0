"""Matrix factorizations in SciPy's forms: LU, QR, polar; and the problems that they solve. Only for traced arrays."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from primsplit.frontends.scipy.exchanges import exchanges, order_of
from primsplit.frontends.scipy.known_systems import known_reals, solution
from primsplit.frontends.scipy.linalg import chosen, mirrored, one_axis, toeplitz, turned, windows
from primsplit.frontends.scipy.linalg import substituted as solve_of
from primsplit.frontends.scipy.matrix_functions import by_halves
from primsplit.frontends.scipy.operands import of_at_least, of_length, wide
from primsplit.frontends.scipy.toeplitz import LEAST, of_toeplitz, product
from primsplit.ir import dims
from primsplit.numpy import failing
from primsplit.numpy.complex.lu import lu_parts
from primsplit.numpy.complex.matrices import square_parts, whole
from primsplit.numpy.complex.operands import holds_complex, operand
from primsplit.numpy.dense.loop import identity_like, lower, rows_at, upper
from primsplit.numpy.dense.lu import factor, inverse_order
from primsplit.numpy.dense.orthogonal import orthogonal_factor
from primsplit.numpy.dense.triangular import solve_triangular
from primsplit.numpy.linear import matrices, square
from primsplit.numpy.refusing import refusing
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.tracing.array import Array, unsupported
from primsplit.tracing.asarray import array_like
from primsplit.tracing.broadcasting import swapped
from primsplit.tracing.calls.primitive import primitive, rrule
from primsplit.tracing.complex_array import refused

__all__ = [
    "companion", "eigh_tridiagonal", "hankel", "khatri_rao", "lu", "lu_factor", "lu_solve",
    "matmul_toeplitz", "orthogonal_procrustes", "pinvh", "polar", "qr", "solve_toeplitz",
]  # fmt: skip


Pullback = Callable[..., Any]


@primitive
def _parts(a: Array) -> tuple[Array, Array, Array]:
    """L, U and the rows p of A in their new order: A[p] = L U."""
    unit, worked, order = factor(a)
    return op.Add(lower(unit, -1), identity_like(a)), upper(worked), order


@rrule(_parts)
def _parts_rule(a: Array) -> tuple[tuple[Array, Array, Array], Pullback]:
    """dA[p] = L^-T (the triangle below the diagonal of L^T dL, and that above it of dU U^T) U^-T."""
    left, right, order = _parts(a)

    def pullback(cotangents: Any) -> tuple[Array]:
        dl, du, _ = cotangents
        inner = op.Add(lower(op.MatMul(swapped(left), dl), -1), upper(op.MatMul(du, swapped(right))))
        half = solve_triangular(swapped(left), inner, lower=False, unit=True)
        both = swapped(solve_triangular(right, swapped(half), lower=False))
        return (rows_at(both, inverse_order(order)),)

    return (left, right, order), pullback


def _triangles(a: Any) -> tuple[Any, Any, Array]:
    """L, U and the order of rows. Raises UnsupportedFunction for several complex matrices."""
    if not holds_complex(a):
        found: tuple[Array, Array, Array] = _parts(square(a)[0])
        return found
    (z,) = square_parts(a)
    if z.real.ndim > 2:
        raise refused("scipy.linalg.lu of several matrices", "Write ps.vmap(scipy.linalg.lu)(a).")
    p, q, u, v, order = lu_parts(*z)
    return whole((p, q)), whole((u, v)), order


def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True, p_indices: bool = False
) -> Any:
    """P, L and U of a square matrix, or P L and U; a permutation for P with `p_indices`."""
    left, right, order = _triangles(a)
    back = inverse_order(order)
    if permute_l:
        return left[back] if holds_complex(left) else rows_at(left, back), right
    if p_indices:
        return back, left, right
    return rows_at(identity_like(left.real), back), left, right


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """L and U in one square matrix, and for each row that which it changed places with, int32."""
    left, right, order = _triangles(a)
    return np.tril(left, -1) + right, cast_to(exchanges(order), np.int32)


def lu_solve(
    lu_and_piv: tuple[Any, Any], b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """The solution of A x = b, A^T x = b or A^H x = b, by the factors of A: two triangular solutions.

    Raises UnsupportedFunction for the factors of several matrices.
    """
    factors, pivots = lu_and_piv
    if np.ndim(pivots) != 1:
        raise unsupported("scipy.linalg.lu_solve with the factors of several matrices")
    order = order_of(cast_to(array_like(pivots), np.int64))
    right: Any = of_length(operand(b), order.shape[0], 0)
    if not trans:
        return solve_of(factors, solve_of(factors, right[order], lower=True, unit_diagonal=True))
    found = solve_of(factors, solve_of(factors, right, trans=trans), trans=trans, lower=True, unit_diagonal=True)
    return found[inverse_order(order)]


def qr(
    a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full", pivoting: bool = False, **_: Any
) -> Any:
    """Q and R, whole or "economic", or R alone; a whole Q has a gradient where there are no more rows than columns.

    Raises UnsupportedFunction for pivots.
    """
    if pivoting or mode not in {"full", "economic", "r"}:
        raise unsupported(f"scipy.linalg.qr with mode={mode!r} and pivoting={pivoting}")
    given: Any = array_like(a)
    is_wide = dims.at_least(given.shape[-1], given.shape[-2])
    found = np.linalg.qr(given, "reduced" if is_wide or mode == "economic" else "complete")
    return (found[1],) if mode == "r" else tuple(found)


def polar(a: Any, side: str = "right") -> tuple[Any, Any]:
    """A matrix as a unitary one times a Hermitian one; that times the unitary one with side "left"."""
    given = operand(a)
    unitary = unitary_factor(given)
    stretch = given @ turned(unitary) if side == "left" else turned(unitary) @ given
    return unitary, 0.5 * (stretch + turned(stretch))


def unitary_factor(a: Any) -> Any:
    """The unitary matrix nearest to a matrix."""
    if not holds_complex(a):
        return orthogonal_factor(*matrices(a))
    if dims.same(*a.shape[-2:]):
        return by_halves(orthogonal_factor, a)
    u, _, v = np.linalg.svd(a, full_matrices=False)
    return u @ v


def orthogonal_procrustes(A: Any, B: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """The unitary matrix that brings A nearest to B, and the sum of singular values of A^H B."""
    first, second = operand(A), operand(B)
    for axis in (0, 1):
        second = of_length(second, first.shape[axis], axis)
    product = turned(first) @ second
    unitary = unitary_factor(product)
    return unitary, np.sum(np.conj(unitary) * product).real


def pinvh(a: Any, atol: Any = None, rtol: Any = None, lower: bool = True, return_rank: bool = False, **_: Any) -> Any:
    """The pseudo-inverse of a Hermitian matrix, whose triangle is read. Raises UnsupportedFunction for tolerances."""
    if atol is not None or return_rank:
        raise unsupported("scipy.linalg.pinvh with atol or return_rank")
    if holds_complex(a):
        return np.linalg.pinv(mirrored(a, lower), rtol=rtol)
    given = square(a)[0]
    triangle = np.tril(given) if lower else np.triu(given)
    off = triangle - triangle * identity_like(given)
    return np.linalg.pinv(triangle + np.swapaxes(off, -1, -2), rtol=rtol)


def _tridiagonal(d: Any, e: Any) -> Any:
    return np.diag(d) + np.diag(e, 1) + np.diag(e, -1)


def eigh_tridiagonal(
    d: Any, e: Any, eigvals_only: bool = False, select: str = "a", select_range: Any = None, **options: Any
) -> Any:
    """Eigenvalues, and vectors, of the symmetric matrix of these diagonals; with select "i" from an index to another.

    Raises UnsupportedFunction for those between two numbers.
    """
    if select == "i":
        return chosen(eigh_tridiagonal(d, e, eigvals_only), select_range)
    if select != "a":
        raise unsupported(f"scipy.linalg.eigh_tridiagonal with select={select!r}")
    diagonal, beside = of_at_least(array_like(d), 1), array_like(e)
    matrix = _tridiagonal(diagonal, of_length(beside, diagonal.shape[0] - 1))
    return np.linalg.eigvalsh(matrix) if eigvals_only else tuple(np.linalg.eigh(matrix))


def hankel(c: Any, r: Any = None) -> Any:
    """The matrix whose first column is `c`, and whose last row, but for its first element, is `r`, or zeros."""
    column = one_axis(array_like(c), "hankel")
    row = np.zeros_like(column) if r is None else one_axis(array_like(r), "hankel")
    return windows(np.concatenate([column, row[1:]]), column.shape[0], row.shape[0])


def companion(a: Any) -> Any:
    """The companion matrix of a polynomial, the highest power first."""
    given: Any = of_at_least(array_like(a), 2)
    given = refusing(given, given[0] == 0, ValueError("The first coefficient in `a` must not be zero."))
    first = -given[1:] / given[0]
    return np.concatenate([first[None], np.diag(np.ones_like(first))[:-1]])


def khatri_rao(a: Any, b: Any) -> Any:
    """The Kronecker products of columns."""
    x, y = array_like(a), of_length(array_like(b), np.shape(a)[1])
    return np.reshape(x[:, None, :] * y[None, :, :], (x.shape[0] * y.shape[0], x.shape[1]))


def _of(c_or_cr: Any) -> Any:
    """The matrix in float64 or complex128, as SciPy has it."""
    return toeplitz(*map(wide, c_or_cr)) if isinstance(c_or_cr, tuple) else toeplitz(wide(c_or_cr))


def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """The solution of T x = b, T being the Toeplitz matrix of this column, or column and row.

    One that is known is inverted while tracing, another eliminated.
    """
    given = [known_reals(x) for x in _column_and_row(c_or_cr)]
    known = [x for x in given if x is not None and x.ndim == 1 and x.size]
    if len(known) == 2 and known[0].size == known[1].size:
        found = solution(partial(of_toeplitz, *known), b)
        if found is not None:
            return found
    matrix, right = _of(c_or_cr), wide(b)
    return failing.solved(failing.nan_where_singular.solve(matrix, right), (matrix, right), "Singular principal minor")


def matmul_toeplitz(c_or_cr: Any, x: Any, check_finite: bool = False, workers: Any = None) -> Any:
    """T @ x, T being the Toeplitz matrix of this column, or column and row; of a large one by Fourier transforms."""
    column, row = (wide(one_axis(part, "toeplitz")) for part in _column_and_row(c_or_cr))
    right, sizes = wide(x), (column.shape[0], row.shape[0])
    is_plain = not holds_complex((column, row, right)) and len(right.shape) in {1, 2}
    if is_plain and all(isinstance(n, int) for n in sizes) and np.prod(sizes) > LEAST**2:
        return product(column, row, of_length(right, sizes[1], 0))
    found: Array = _of(c_or_cr) @ right
    return found


def _column_and_row(c_or_cr: Any) -> tuple[Any, Any]:
    return c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, c_or_cr)
