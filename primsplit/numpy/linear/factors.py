"""Matrix factorizations and determinants: cholesky, qr, det, slogdet."""

from typing import Any, NamedTuple

import numpy as np

from primsplit import tracing
from primsplit.ir import dims
from primsplit.ir.errors import UnsupportedFunction
from primsplit.numpy.dense import cholesky as cholesky_unit
from primsplit.numpy.dense import determinant, lu, small
from primsplit.numpy.dense import qr as qr_unit
from primsplit.numpy.linear.operands import matrices, square
from primsplit.ops import op
from primsplit.tracing.array import Array, implements
from primsplit.tracing.broadcasting import full, swapped


class QRResult(NamedTuple):
    """The result of np.linalg.qr."""

    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    """The result of np.linalg.slogdet."""

    sign: Array
    logabsdet: Array


@implements(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Array:
    """The lower (or upper) triangular factor; reads the same triangle of `a`, which alone has a gradient.

    NaN for a matrix that is not positive definite (see `failing`).
    """
    (a,) = square(a)
    return swapped(cholesky_unit.cholesky(swapped(a))) if upper else cholesky_unit.cholesky(a)


@implements(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    """Q and R with orthonormal columns of Q, LAPACK's signs. The gradient needs full rank of the first columns.

    A wide matrix is [X Y] with a square X = Q U: then R = [U, Q^T Y]. The complete Q of a matrix that is higher than
    wide has no gradient, its R has.
    """
    (a,) = matrices(a)
    if mode not in {"reduced", "r", "complete"}:
        raise UnsupportedFunction(
            f"np.linalg.qr with mode={mode!r} has no form for traced arrays",
            place=tracing.user_place(),
            cure="Use mode='reduced' or mode='r'.",
        )
    q, r = qr_unit.reduced_qr(a)
    rows, columns = a.shape[-2:]
    if mode == "complete" and not dims.at_least(columns, rows):
        below = [(0, 0)] * (len(a.shape) - 2) + [(0, rows - dims.minimum(rows, columns)), (0, 0)]
        whole: Any = np.pad(r, below)
        return QRResult(qr_unit.complete_q(a), whole)
    return r if mode == "r" else QRResult(q, r)


@implements(np.linalg.det)
def det(a: Any) -> Array:
    """The determinant. Up to 3 by 3 by its polynomial; else by elimination, with the cofactors as its gradient.

    The gradient is right at singular matrices too. The second derivative of a singular matrix larger than 3 by 3
    is NaN.
    """
    (a,) = square(a)
    size = a.shape[-1]
    if isinstance(size, int) and size <= SMALL:
        return expanded(_entries(a, size)) if size else full(a.shape[:-2], a.dtype.type(1))
    found: Array = determinant.determinant_with(a, *lu.factors_of(a))
    return found


def _entries(a: Array, size: int) -> list[list[Array]]:
    rows = [op.Gather(a, np.array(i), axis=-2) for i in range(size)]
    return [[op.Gather(r, np.array(j), axis=-1) for j in range(size)] for r in rows]


SMALL = 3
"""The most rows of a matrix whose determinant is a polynomial that is written out."""


def expanded(entries: list[list[Any]]) -> Any:
    """The determinant of one to three rows of numbers."""
    if len(entries) == 1:
        return entries[0][0]
    if len(entries) == 2:
        (a, b), (c, d) = entries
        return a * d - b * c
    (a, b, c), (d, e, f), (g, h, i) = entries
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)


@implements(np.linalg.slogdet)
def slogdet(a: Any) -> SlogdetResult:
    """Sign and log of the absolute determinant; 0 and -inf if singular, where the gradient is inf or NaN."""
    (a,) = square(a)
    if small.is_small(a.shape):
        inverse, sign, log = small.parts(a)
        return SlogdetResult(sign, small.log_determinant_by(a, inverse, log))
    factors = lu.factors_of(a)
    sign = determinant.determinant_sign(factors[1], factors[2])
    return SlogdetResult(
        op.Identity(sign, types=[_batch_type(a)]),
        determinant.log_determinant_with(a, *factors),
    )


def _batch_type(a: Array) -> Any:
    return type(a.type)(a.dtype, a.shape[:-2])
