"""Factors and determinants of complex matrices: cholesky, qr, det, slogdet."""

from typing import Any

import numpy as np

from primsplit.ir import Type, dims
from primsplit.numpy.complex.dispatch import offers
from primsplit.numpy.complex.elimination import determinant_with, log_determinant_with, pivots
from primsplit.numpy.complex.matrices import (
    Parts,
    interleaved,
    of_interleaved,
    parts_of,
    product,
    square_parts,
    turned,
    whole,
)
from primsplit.numpy.complex.reflections import tall_qr
from primsplit.numpy.dense import cholesky as cholesky_unit
from primsplit.numpy.dense.loop import on_diagonal
from primsplit.numpy.linear.factors import SMALL, QRResult, SlogdetResult, expanded
from primsplit.ops import op
from primsplit.tracing.complex_array import refused


@offers(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """The lower (or upper) triangular factor of Hermitian matrices; reads the same triangle.

    Of the diagonal it reads the real parts. It is in the factor of the real matrix in which each element is a block of
    four. NaN, where NumPy raises, for a
    matrix that is not positive definite.
    """
    (z,) = square_parts(a)
    if upper:
        z = turned(z)
    read = Parts(z.real, op.Where(on_diagonal(z.imag), 0.0, z.imag))
    real, imaginary = of_interleaved(cholesky_unit.cholesky(interleaved(read)))
    factor = Parts(real, op.Where(on_diagonal(imaginary), 0.0, imaginary))
    return whole(turned(factor) if upper else factor)


@offers(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    """Q and R, LAPACK's signs, R's diagonal real. The gradient needs full rank of the first columns.

    A wide matrix is [X Y] with a square X = Q U: then R = [U, Q^H Y]. Raises UnsupportedFunction for mode "complete".
    """
    if mode not in {"reduced", "r"}:
        raise refused(f"np.linalg.qr with mode={mode!r}", "Use mode='reduced' or mode='r'.")
    (z,) = parts_of(a)
    q, r = _reduced(z)
    return whole(r) if mode == "r" else QRResult(whole(q), whole(r))


def _reduced(z: Parts) -> tuple[Parts, Parts]:
    rows, columns = z.real.shape[-2:]
    if dims.at_least(rows, columns):
        found = tall_qr(*z)
        return Parts(*found[:2]), Parts(*found[2:])
    batch, dtype = z.real.shape[:-2], z.real.dtype
    count = dims.minimum(rows, columns)
    kept, rest = (Type(dtype, (*batch, rows, n)) for n in (count, columns - count))
    found = tall_qr(*(op.Slice(p, [0], [count], [-1], types=[kept]) for p in z))
    q, r = Parts(*found[:2]), Parts(*found[2:])
    beyond = Parts(*(op.Slice(p, [count], [columns], [-1], types=[rest]) for p in z))
    joined = Type(dtype, (*batch, count, columns))
    more = product(turned(q), beyond)
    return q, Parts(*(op.Concat(p, m, axis=-1, types=[joined]) for p, m in zip(r, more, strict=True)))


@offers(np.linalg.det)
def det(a: Any) -> Any:
    """The determinant. Up to 3 by 3 by its polynomial, else by elimination.

    The gradient at a singular matrix larger than 3 by 3 is inf or NaN.
    """
    (z,) = square_parts(a)
    size = z.real.shape[-1]
    if isinstance(size, int) and 1 <= size <= SMALL:
        matrix = whole(z)
        return expanded([[matrix[..., i, j] for j in range(size)] for i in range(size)])
    return whole(determinant_with(*z, *pivots(*z)))


@offers(np.linalg.slogdet)
def slogdet(a: Any) -> SlogdetResult:
    """det A / |det A| and log |det A|; 0 and -inf if singular, where the gradient is inf or NaN."""
    (z,) = square_parts(a)
    *sign, log = log_determinant_with(*z, *pivots(*z))
    return SlogdetResult(whole(tuple(sign)), log)
