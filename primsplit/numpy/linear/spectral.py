"""Eigenvalues of symmetric matrices and singular values: eigh, eigvalsh, svd, svdvals, matrix_rank, cond, pinv."""

from typing import Any, NamedTuple

import numpy as np

from primsplit import tracing
from primsplit.ir import dims
from primsplit.ir.errors import ShapeError
from primsplit.numpy.approximations.limits import float_limits
from primsplit.numpy.dense import singular, symmetric
from primsplit.numpy.dense.loop import lower, upper
from primsplit.numpy.linear.operands import matrices, square
from primsplit.numpy.linear.solving import inv
from primsplit.numpy.norms import matrix_norm_over
from primsplit.numpy.refusing import of_numbers
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.tracing.array import Array, implements
from primsplit.tracing.asarray import array_like, as_array
from primsplit.tracing.broadcasting import swapped

MISSING = object()
"""An argument that was not given."""


class EighResult(NamedTuple):
    """The result of np.linalg.eigh."""

    eigenvalues: Array
    eigenvectors: Array


class SVDResult(NamedTuple):
    """The result of np.linalg.svd."""

    U: Array
    S: Array
    Vh: Array


@implements(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> EighResult:
    """Eigenvalues, ascending, and eigenvectors of symmetric matrices; reads one triangle, which alone has a gradient.

    Each vector's element of largest absolute value is positive, where LAPACK's signs are arbitrary. The derivative of
    the vectors of equal eigenvalues is infinite or NaN: there is none.
    """
    return EighResult(*symmetric.eigenpairs(_mirrored(a, UPLO)))


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Array:
    """Eigenvalues of symmetric matrices, ascending; reads one triangle, which alone has a gradient."""
    return symmetric.eigenvalues(_mirrored(a, UPLO))


def _mirrored(a: Any, triangle: str) -> Array:
    """The symmetric matrices of which this triangle, "L" or "U", is read. Raises ShapeError for another name."""
    if triangle.upper() not in {"L", "U"}:
        raise ShapeError(f"UPLO must be 'L' or 'U', not {triangle!r}", place=tracing.user_place())
    (a,) = square(a)
    if triangle.upper() == "L":
        return op.Add(lower(a), swapped(lower(a, -1)), types=[a.type])
    return op.Add(upper(a), swapped(upper(a, 1)), types=[a.type])


@implements(np.linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """U, S and Vh; S alone with compute_uv=False.

    The element of largest absolute value of each column of U is positive, where LAPACK's signs are arbitrary. The
    derivative of the vectors of equal singular values is infinite or NaN: there is none. Of what full_matrices adds to
    a matrix that is not square, a single vector has a gradient, several have none.
    """
    a = _mirrored(a, "L") if hermitian else matrices(a)[0]
    if not compute_uv:
        return singular.singular_values(a)
    u, s, vh = singular.svd(a)
    if full_matrices:
        u, vh = _full(u, a), swapped(_full(swapped(vh), swapped(a)))
    return SVDResult(u, s, vh)


def _full(u: Array, a: Array) -> Array:
    """Orthonormal columns, which span those of A, completed to a basis."""
    rows, columns = u.shape[-2:]
    if dims.same(rows, columns):
        return u
    whole = type(u.type)(u.dtype, (*u.shape[:-2], rows, rows))
    is_one = dims.same(rows, columns + 1)
    added = singular.normal_with(a, singular.normal(u)) if is_one else singular.completion(u)
    return op.Concat(u, added, axis=-1, types=[whole])


@implements(np.linalg.svdvals)
def svdvals(x: Any, /) -> Array:
    """Return the singular values, descending. The derivative of one that is 0 is 0, as for abs."""
    return singular.singular_values(*matrices(x))


@implements(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Array:
    """The number of singular values above max(m, n) units in the last place of the largest, or above `tol`.

    It has no gradient. Of a vector, 1 unless all elements are 0. Raises ShapeError where both tolerances are given.
    """
    if tol is not None and rtol is not None:
        raise ShapeError("matrix_rank takes `tol` or `rtol`, not both", place=tracing.user_place())
    array = array_like(A)
    if len(array.shape) < 2:
        nonzero = op.Cast(op.Not(op.Equal(array, 0)), to=np.int64)
        return op.ReduceMax(nonzero, keepdims=0)
    s = svd(array, compute_uv=False, hermitian=hermitian)
    if tol is None:
        bound = op.Mul(_largest(s, keepdims=1), _column(unit_cutoff(array, s) if rtol is None else rtol, s))
    else:
        bound = _column(tol, s)
    return op.ReduceSum(op.Cast(op.Greater(s, bound), to=np.int64), [-1], keepdims=0)


def unit_cutoff(a: Array, s: Array) -> Any:
    """max(m, n) units in the last place."""
    longer = cast_to(as_array(dims.maximum(*a.shape[-2:])), s.dtype)
    return op.Mul(longer, float(float_limits(s).eps))


def _column(x: Any, s: Array) -> Array:
    found: Array = cast_to(as_array(x), s.dtype)
    return op.Unsqueeze(found, [-1]) if found.shape else found


def _largest(s: Array, *, keepdims: int) -> Array:
    return op.ReduceMax(s, [-1], keepdims=keepdims)


@implements(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Array:
    """The condition number: of singular values for p None, 2 and -2, else |A| |A^-1| in that norm.

    Infinite, where the matrix has no NaN, for what would be NaN. A run with NaN fails for singular values.
    """
    if p in {None, 2, -2}:
        a = of_numbers(matrices(x)[0])
        s = singular.singular_values(a)
        first, last = op.Gather(s, np.array(0), axis=-1), op.Gather(s, np.array(-1), axis=-1)
        found = op.Div(last, first) if p == -2 else op.Div(first, last)
    else:
        (a,) = square(x)
        inverse = inv(a)
        axes = (len(a.shape) - 2, len(a.shape) - 1)
        found = op.Mul(matrix_norm_over(a, axes, p, False), matrix_norm_over(inverse, axes, p, False))
    given = op.Greater(op.ReduceSum(op.Cast(op.IsNaN(a), to=a.dtype), [-2, -1], keepdims=0), 0.0)
    return op.Where(op.And(op.IsNaN(found), op.Not(given)), np.inf, found)


@implements(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = MISSING) -> Array:
    """The pseudo-inverse, singular values up to `rcond` (1e-15) times the largest taken as 0.

    With rtol=None those up to max(m, n) units in the last place. The derivative is that where the rank stays. A cutoff
    that the rounding of the matrix's dtype would exceed is compared in float64.
    """
    if rcond is not None and rtol is not MISSING:
        raise ShapeError("pinv takes `rcond` or `rtol`, not both", place=tracing.user_place())
    a = _mirrored(a, "L") if hermitian else matrices(a)[0]
    cutoff: Any = 1e-15 if rcond is None and rtol is MISSING else rcond if rtol is MISSING else rtol
    inverse = singular.pseudo_inverse if cutoff is None or singular.is_faint(cutoff, a) else singular.cut_inverse
    given = unit_cutoff(a, a) if cutoff is None else as_array(cutoff)
    known = as_array(given).known()
    is_rounded = cutoff is not None and known is not None and bool(np.all(known < np.finfo(a.dtype).eps))
    dtype = np.dtype(np.float64) if is_rounded else a.dtype
    found: Array = inverse(cast_to(a, dtype), cast_to(given, dtype))
    return cast_to(found, a.dtype)
