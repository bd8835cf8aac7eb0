"""Singular values of complex matrices, and least squares.

The Hermitian matrix [[0, A], [A^H, 0]] has the eigenvalues s and -s for each singular value s of A, with the
eigenvectors [u, v] and [u, -v] over the square root of 2 (Golub, Van Loan, Matrix Computations, section 8.6.1).
"""

import math
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import dims
from primsplit.ir.errors import ShapeError
from primsplit.numpy.complex.dispatch import offers
from primsplit.numpy.complex.factors import qr
from primsplit.numpy.complex.hermitian import eigh, eigvalsh, in_phase
from primsplit.numpy.complex.matrices import Parts, halved, mirrored, of_halves, parts_of, turned, whole
from primsplit.numpy.dense.loop import counting
from primsplit.numpy.linear.least_squares import lstsq as real_lstsq
from primsplit.numpy.linear.least_squares import solved, units
from primsplit.numpy.linear.spectral import SVDResult, unit_cutoff
from primsplit.ops import op
from primsplit.tracing.array import FUNCTIONS, Array
from primsplit.tracing.broadcasting import zeros
from primsplit.tracing.complex_array import ComplexArray, refused


@offers(np.linalg.svdvals)
def svdvals(x: Any, /) -> Array:
    """Return the singular values, descending. The derivative of one that is 0 is that of an eigenvalue."""
    return _values(parts_of(x)[0])


@offers(np.linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """U, S and Vh; S alone with compute_uv=False. Raises UnsupportedFunction for columns that complete a basis.

    The element of largest absolute value of each column of U is real and positive, where LAPACK's phases are arbitrary.
    The vectors of a singular value that is 0 are NaN, and so is the derivative of those of equal values.
    """
    z = mirrored(a, "L") if hermitian else parts_of(a)[0]
    if not compute_uv:
        return _values(z)
    rows, columns = z.real.shape[-2:]
    if full_matrices and not dims.same(rows, columns):
        raise refused("np.linalg.svd of a complex matrix that is not square", "Use full_matrices=False.")
    given, s, v = _factors(z)
    u = whole(in_phase(Parts(given.real, given.imag)))
    turn = (given.conj() * u).sum(-2)
    return SVDResult(u, s, (v * turn[..., None, :]).conj().swapaxes(-1, -2))


def _factors(z: Parts) -> tuple[Any, Array, Any]:
    """U, the singular values, and V, in any phases.

    Of a matrix that is known not to be square those of its triangular factor: the eigenvalues 0 of the larger matrix
    would have no second derivatives.
    """
    rows, columns = z.real.shape[-2:]
    if dims.at_least(rows, columns + 1):
        q, r = qr(whole(z))
        u, s, v = _factors(_reflected(Parts(r.real, r.imag)))
        return q @ whole(_reflected(Parts(u.real, u.imag))), s, v
    if dims.at_least(columns, rows + 1):
        v, s, u = _factors(turned(z))
        return u, s, v
    count = dims.minimum(rows, columns)
    values, vectors = eigh(whole(_twofold(z)))
    s, both = values[..., ::-1][..., :count], vectors[..., ::-1][..., :count]
    is_there = FUNCTIONS[np.expand_dims](s > unit_cutoff(z.real, s) * s[..., :1], -2)
    both = both * FUNCTIONS[np.where](is_there, np.asarray(math.sqrt(2.0), s.dtype), np.asarray(math.nan, s.dtype))
    return both[..., :rows, :], s, both[..., rows:, :]


def _values(z: Parts) -> Array:
    rows, columns = z.real.shape[-2:]
    if dims.at_least(columns, rows + 1):
        return _values(turned(z))
    if dims.at_least(rows, columns + 1):
        r = qr(whole(z)).R
        z, rows = _reflected(Parts(r.real, r.imag)), columns
    found: Array = eigvalsh(whole(_twofold(z)))[..., ::-1][..., : dims.minimum(rows, columns)]
    return found


def _reflected(z: Parts) -> Parts:
    """The rows mirrored at a plane that is at right angles to no axis; its own inverse.

    Without full rank a triangular factor has rows that are rounding alone. Of pairs of such with others Jacobi's method
    takes the phase, which has no derivative worth a name: in a file that is loaded again each step has one.
    """
    numbers = op.Cast(op.Add(counting(z.real, -2), 1), to=z.real.dtype)
    row = op.Unsqueeze(numbers, [0])
    twice = op.Div(op.Unsqueeze(op.Mul(numbers, 2.0), [1]), op.ReduceSum(op.Mul(row, row), [1], keepdims=1))
    return Parts(*(op.Sub(p, op.Mul(twice, op.MatMul(row, p)), types=[p.type]) for p in z))


def _twofold(z: Parts) -> Parts:
    """[[0, A], [A^H, 0]]."""
    *batch, rows, columns = z.real.shape
    above, below = (zeros((*batch, size, size), z.real.dtype) for size in (rows, columns))
    return Parts(*(
        op.Concat(op.Concat(above, right, axis=-1), op.Concat(left, below, axis=-1), axis=-2)
        for right, left in zip(z, turned(z), strict=True)
    ))  # fmt: skip


@offers(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, ...]:
    """As for real matrices, of which this is one of twice the size: (x, residuals, rank, singular values)."""
    z, right = parts_of(a, b)
    if len(z.real.shape) != 2 or len(right.real.shape) > 2:
        raise ShapeError("lstsq takes a matrix, and a vector or matrix", place=tracing.user_place())
    is_vector = len(right.real.shape) == 1
    parts = [op.Unsqueeze(p, [1]) if is_vector else p for p in right]
    if rcond is None:  # max(m, n) units, where the real matrix has twice as many rows and columns
        both, right_sides = halved(z), op.Concat(*parts, axis=0)
        found, residuals, rank, _ = solved(both, right_sides, units(z.real), is_rounding=True)
    else:
        found, residuals, rank, _ = real_lstsq(halved(z), op.Concat(*parts, axis=0), rcond)
    x: ComplexArray = whole(of_halves(found, z.real.shape[1], parts[0].shape[-1]))
    rank = op.Div(rank, np.int32(2))
    return x[:, 0] if is_vector else x, residuals, rank, _values(z)
