"""scipy.linalg for traced arrays and NumPy arrays: the functions of np.linalg, triangular solves, the exponential."""

import math
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.scipy.banded import solve_banded, solveh_banded
from primsplit.frontends.scipy.frechet import give_rules, upper_right
from primsplit.frontends.scipy.operands import double, of_at_least, of_length
from primsplit.frontends.scipy.spectral import eig, eigvals
from primsplit.ir.errors import ShapeError
from primsplit.numpy import failing
from primsplit.numpy.complex.matrices import halved, of_halves, square_parts, whole
from primsplit.numpy.complex.operands import holds_complex
from primsplit.numpy.dense.loop import identity_like, loop
from primsplit.numpy.dense.triangular import solve_triangular as triangular_unit
from primsplit.numpy.linear import solve_matrix, square
from primsplit.numpy.refusing import refusing
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import array_like, holds_traced, plain_or_traced
from primsplit.tracing.broadcasting import swapped
from primsplit.tracing.calls.primitive import primitive
from primsplit.tracing.complex_array import ComplexArray

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "circulant",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "expm",
    "inv",
    "lstsq",
    "norm",
    "pinv",
    "solve",
    "solve_banded",
    "solve_triangular",
    "solveh_banded",
    "svd",
    "svdvals",
    "toeplitz",
]

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
    """The solution of A x = b (or A^T x = b, or A^H x = b) with one triangle of A. Its cotangent lies in that triangle.

    Complex ones are solved as other complex systems are, which pivot.
    A run with a zero on the diagonal fails. `overwrite_b` and `check_finite` are accepted.
    """
    found = substituted(a, b, trans, lower, unit_diagonal)
    if unit_diagonal or not holds_traced((a, b)):
        return found
    is_zero = np.diagonal(plain_or_traced(a), axis1=-2, axis2=-1) == 0
    return refusing(found, is_zero, np.linalg.LinAlgError("singular matrix: there is a zero on the diagonal"))


def substituted(a: Any, b: Any, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False) -> Any:
    """`solve_triangular`, whose solution is infinite or NaN for a zero on the diagonal."""
    if trans not in _TRANSPOSED:
        raise ShapeError(f"trans must be 0, 1, 2, 'N', 'T' or 'C', not {trans!r}", place=tracing.user_place())
    transposed = _TRANSPOSED[trans]
    is_complex = holds_complex(a) or holds_complex(b)
    if is_complex or not (isinstance(a, Array) or isinstance(b, Array)):
        a = np.conj(a) if trans in {2, "C"} and holds_complex(a) else a
        return _plain_solve(plain_or_traced(a), plain_or_traced(b), transposed, lower, unit_diagonal)
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
    return failing.nan_where_singular.solve(np.swapaxes(triangle, -1, -2) if transposed else triangle, b)


def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, bool]:
    """The Cholesky factor and `lower`, for cho_solve; the other triangle is zero, where SciPy leaves it undefined."""
    return np.linalg.cholesky(a, upper=not lower), lower


def cho_solve(c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """The solution of A x = b by the factor of A that cho_factor gives: two triangular solutions."""
    factor, lower = c_and_lower
    first, second = (0, 2) if lower else (2, 0)
    return substituted(factor, substituted(factor, b, trans=first, lower=lower), trans=second, lower=lower)


def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: str | None = None,
    transposed: bool = False,
) -> Any:
    """The solution of A x = b, or A^T x = b.

    A run fails for a singular matrix, and with "pos" for one that is not positive definite. Raises ShapeError for what
    `_assumed` does not know.
    """
    a, b = _lapack(_assumed(a, assume_a, lower), b)
    return np.linalg.solve(np.swapaxes(a, -1, -2) if transposed else a, b)


def _assumed(a: Any, assume_a: str | None, lower: bool) -> Any:
    """The matrix that `assume_a` makes of what is read.

    All for "gen", None or "banded"; the triangle that `lower` names for "sym", "her" or "pos", which fails where it is
    not positive definite; one triangle for "upper triangular" and "lower triangular"; the diagonal, and those beside
    it, for "diagonal" and "tridiagonal". Raises ShapeError for another name.
    """
    kind = {"positive definite": "pos", "symmetric": "sym", "hermitian": "her"}.get(assume_a or "", assume_a)
    if kind in {"sym", "her", "pos"}:
        whole = mirrored(a, lower, is_symmetric=kind == "sym")
        return _definite(whole) if kind == "pos" else whole
    if kind in {"diagonal", "tridiagonal"}:
        beside = int(kind == "tridiagonal")
        return np.triu(np.tril(a, beside), -beside)
    if kind in {"upper triangular", "lower triangular"}:
        return np.triu(a) if kind == "upper triangular" else np.tril(a)
    if kind not in {None, "gen", "general", "banded"}:
        raise ShapeError(f"assume_a={assume_a!r} is not supported", place=tracing.user_place(), cure="Leave it away.")
    return a


def _definite(a: Any) -> Any:
    """Hermitian matrices; a run in which one is not positive definite fails."""
    if not holds_traced(a):
        np.linalg.cholesky(_lapack(a)[0])
        return a
    failed = failing.no_factor(failing.nan_where_singular.cholesky(a))
    return failing.with_error(a, failed, (a,), np.linalg.LinAlgError(failing.NO_FACTOR))


def _lapack(*values: Any) -> list[Any]:
    """The arrays in a dtype that LAPACK has: integers of up to 16 bits, and halves, become float32, others float64."""
    arrays = [plain_or_traced(v) for v in values]
    dtype = np.result_type(*(a.dtype for a in arrays))
    if dtype.kind in "fc" and dtype.itemsize >= 4:
        return arrays
    return [a.astype(np.float32 if np.can_cast(dtype, np.float32) else np.float64) for a in arrays]


def mirrored(a: Any, lower: bool, *, is_symmetric: bool = False) -> Any:
    """The Hermitian (or symmetric) matrices of which one triangle is read, of a Hermitian diagonal the real parts."""
    a = of_length(a if isinstance(a, ComplexArray) else plain_or_traced(a), np.shape(a)[-2])
    off = np.tril(a, -1) if lower else np.triu(a, 1)
    if np.iscomplexobj(a) and not is_symmetric:
        return off + np.triu(np.tril(a.real)) + turned(off)
    return (np.tril(a) if lower else np.triu(a)) + np.swapaxes(off, -1, -2)


def turned(a: Any) -> Any:
    """The conjugate transpose."""
    return np.swapaxes(np.conj(a) if np.iscomplexobj(a) else a, -1, -2)


def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: str | None = None,
) -> Any:
    """Eigenvalues and vectors of symmetric matrices, or of A v = w B v with B positive definite, v^T B v = 1.

    One triangle is read. A subset is told by its first and last index. Raises ShapeError for a subset by values and for
    the other two types of problem.
    """
    if type != 1 or subset_by_value is not None:
        raise ShapeError(
            "eigh takes neither a subset by values nor another type than 1",
            place=tracing.user_place(),
            cure="Take a slice of what it returns.",
        )
    if subset_by_index is not None:
        return chosen(eigh(a, b, lower=lower, eigvals_only=eigvals_only), subset_by_index)
    a = mirrored(a, lower)
    if b is None:
        return np.linalg.eigvalsh(a) if eigvals_only else tuple(np.linalg.eigh(a))
    factor = np.linalg.cholesky(mirrored(b, lower))
    half = np.linalg.solve(factor, a)
    inner = np.linalg.solve(factor, turned(half))
    if eigvals_only:
        return np.linalg.eigvalsh(inner)
    values, vectors = np.linalg.eigh(inner)
    return values, np.linalg.solve(turned(factor), vectors)


def chosen(spectrum: Any, ends: Any) -> Any:
    """The eigenvalues, and vectors, from the first to the last of two indices; a run with fewer fails."""
    first, last = map(int, ends)
    if isinstance(spectrum, tuple):
        values, vectors = spectrum
        return chosen(values, ends), of_at_least(vectors, last + 1)[..., first : last + 1]
    return of_at_least(spectrum, last + 1)[..., first : last + 1]


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """U, s and V^T, or s alone, as np.linalg.svd has them."""
    if not compute_uv:
        return np.linalg.svd(a, compute_uv=False)
    return tuple(np.linalg.svd(a, full_matrices=full_matrices))


def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The singular values, descending."""
    return np.linalg.svd(a, compute_uv=False)


def inv(
    a: Any,
    overwrite_a: bool = False,
    check_finite: bool = True,
    *,
    assume_a: str | None = None,
    lower: bool = False,
) -> Any:
    """The inverse; a run with a singular matrix fails. Raises ShapeError as `solve` does."""
    return np.linalg.inv(_lapack(_assumed(a, assume_a, lower))[0])


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The determinant, in float64 as in SciPy."""
    return np.linalg.det(a if np.iscomplexobj(a) else double(a))


def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The upper (or lower) triangular factor, which is read from the same triangle of `a`."""
    return np.linalg.cholesky(a, upper=not lower)


def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True) -> Any:
    """A norm of a vector or matrix, as np.linalg.norm has it."""
    return np.linalg.norm(a, ord, axis, keepdims)


def pinv(a: Any, *, atol: Any = None, rtol: Any = None, return_rank: bool = False, check_finite: bool = True) -> Any:
    """The pseudo-inverse, singular values up to `rtol` (max(m, n) units in the last place) times the largest as 0."""
    if return_rank or atol is not None:
        raise ShapeError("pinv takes neither atol nor return_rank", place=tracing.user_place())
    return np.linalg.pinv(a, rtol=rtol)


def lstsq(a: Any, b: Any, cond: Any = None, *_: Any, **__: Any) -> tuple[Any, ...]:
    """The least-squares solution of A x = b, and what np.linalg.lstsq returns with it.

    Singular values up to `cond` times the largest are taken as 0, by default a unit in the last place.
    """
    unit = np.finfo(np.result_type(a, b, np.float32)).eps if cond is None else cond
    return np.linalg.lstsq(a, b, rcond=unit)


PADE = np.cumprod([1.0, *((14 - k) / (k * (27 - k)) for k in range(1, 14))])
"""Coefficients of the diagonal Pade approximant of exp of degree 13."""

REACH = 5.371920351148152
"""The 1-norm up to which it is right to double precision."""

MOST = 1100
"""The most squarings, which every finite norm takes fewer than."""


def expm(A: Any) -> Any:
    """The exponential of square matrices.

    The Pade approximant of degree 13 of A / 2**s, squared s times; `s` is the smallest, alike for all matrices of a
    stack, that brings their 1-norms under `REACH`. N. J. Higham, The Scaling and Squaring Method for the Matrix
    Exponential Revisited, SIAM J. Matrix Anal. Appl. 26 (2005), algorithm 2.3 with degree 13 alone. Raises ShapeError.
    """
    if not isinstance(A, Array):
        return _plain_exponential(np.asarray(A))
    if not np.iscomplexobj(A):
        return _exponential(square(A)[0])
    (z,) = square_parts(A)
    size = z.real.shape[-1]
    return whole(of_halves(_exponential(halved(z)), size, size))


def _plain_exponential(a: Any) -> Any:
    """`expm` of a NumPy array."""
    a = a if a.dtype.kind in "fc" else a.astype(np.float64)
    norm = max(np.max(np.sum(np.abs(a), axis=-2), initial=0.0), REACH)
    steps = min(math.ceil(math.log2(norm / REACH)), MOST) if np.isfinite(norm) else 0
    found = _approximant(
        a * a.real.dtype.type(2.0) ** -steps, np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
    )
    for _ in range(steps):
        found = found @ found
    return found


@primitive
def _exponential(a: Array) -> Array:
    """`expm` of a traced array."""
    largest = op.ReduceMax(op.ReduceSum(op.Abs(a), [-2], keepdims=0), keepdims=0)
    norm = op.Max(op.Min(largest, np.asarray(np.finfo(a.dtype).max, a.dtype)), REACH)
    steps = op.Min(op.Ceil(op.Mul(op.Log(op.Div(norm, REACH)), 1.0 / math.log(2.0))), float(MOST))
    (squared,) = loop(
        op.Cast(steps, to=np.int64),
        lambda _, x: ([op.MatMul(x, x, types=[x.type])], []),
        [_approximant(op.Mul(a, op.Pow(np.asarray(2.0, a.dtype), op.Neg(steps))), identity_like(a))],
    )
    return squared


def _approximant(a: Any, identity: Any) -> Any:
    """The Pade approximant of exp, in six products and a solution."""
    second = a @ a
    fourth = second @ second
    sixth = second @ fourth
    powers = (identity, second, fourth, sixth)

    def combined(coefficients: Any) -> Any:
        lower = sum(float(c) * p for p, c in zip(powers, coefficients[:4], strict=True))
        return lower + sixth @ sum(float(c) * p for p, c in zip(powers[1:], coefficients[4:], strict=True))

    even, odd = combined(PADE[::2]), a @ combined(PADE[1::2])
    return np.linalg.solve(even - odd, even + odd)


@primitive
def exponential_along(a: Array, direction: Array) -> Array:
    """The derivative of `expm` along a direction."""
    return upper_right(_exponential, a, direction)


give_rules(_exponential, exponential_along)


def block_diag(*arrs: Any) -> Any:
    """The matrix with these blocks on its diagonal, and zeros elsewhere; a vector is a row."""
    blocks: list[Any] = [np.atleast_2d(array_like(a) if holds_traced(a) else a) for a in arrs]
    widths = [block.shape[1] for block in blocks]
    padded = (np.pad(block, ((0, 0), (sum(widths[:i]), sum(widths[i + 1 :])))) for i, block in enumerate(blocks))
    return np.concatenate(list(padded), axis=0)


def one_axis(x: Any, name: str) -> Any:
    """A vector. Raises ShapeError for more axes, of which SciPy's versions make different things."""
    if np.ndim(x) > 1:
        raise ShapeError(f"{name} takes vectors", place=tracing.user_place(), cure="Write np.ravel(c), or ps.vmap.")
    return np.ravel(x)


def toeplitz(c: Any, r: Any = None) -> Any:
    """The matrix of first column `c`, whose first row, but for its first element, is `r`, or that of c conjugate."""
    column = one_axis(c, "toeplitz")
    row = np.conj(column) if r is None else one_axis(r, "toeplitz")
    return windows(np.concatenate([column[::-1], row[1:]]), column.shape[0], row.shape[0])[::-1]


def windows(x: Any, rows: Any, columns: Any) -> Any:
    """The matrix [rows, columns] whose element i, j is `x[i + j]`; there may be no row and no column."""
    longer = np.concatenate([x, np.zeros(2, x.dtype)])
    return np.lib.stride_tricks.sliding_window_view(longer, columns + 1)[:rows, :columns]


def circulant(c: Any) -> Any:
    """The matrix whose columns are `c`, each turned by one place more."""
    column = one_axis(c, "circulant")
    return toeplitz(column, np.roll(column[::-1], 1))
