"""Least-squares and least-norm solutions for matrices of any rank, with derivatives where the rank does not change.

A QR factorization proves most matrices to have full rank, and gives their pseudo-inverse. Singular values take ten
times as long, and are computed only in a run where the rank is in doubt.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.ir import Type, Value, dims
from primsplit.numpy.dense.loop import identity_like
from primsplit.numpy.dense.qr import reduced_qr, tall_qr
from primsplit.numpy.dense.singular import cut_pseudo_inverse, is_kept, reduced_svd
from primsplit.numpy.dense.triangular import solve_triangular
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.broadcasting import swapped
from primsplit.tracing.calls.primitive import listed, primitive, rrule
from primsplit.tracing.operators import cast_to
from primsplit.tracing.regions import emit_if, record

Pullback = Callable[..., Any]


def least_squares(a: Array, b: Array, cutoff: Array) -> tuple[Array, Array]:
    """The x [n, k] of least norm among those with the least |A x - b|, for A [m, n] and b [m, k], and the rank of A.

    Singular values up to `cutoff` times the largest are taken as 0.
    """
    inverse, rank = inverse_and_rank(a, cutoff)
    return solution_with(a, b, inverse), rank


@listed
def inverse_and_rank(a: Array, cutoff: Array) -> tuple[Array, Array]:
    """The pseudo-inverse [n, m] of A [m, n], and its rank, int32."""
    declared = [Type(a.dtype, (a.shape[1], a.shape[0])), Type(np.int32, ())]
    inverse, bound = _by_qr(a)

    def full() -> list[Value]:
        count = cast_to(as_array(dims.minimum(*a.shape)), np.int32)
        return [op.Identity(inverse, types=declared[:1]).value, op.Identity(count).value]

    def cut() -> list[Value]:
        factors = reduced_svd(a)
        kept = op.Cast(is_kept(factors[1], cutoff), to=np.int32)
        found = cut_pseudo_inverse(a, factors, cutoff)
        return [op.Identity(found, types=declared[:1]).value, op.ReduceSum(kept, [0], keepdims=0).value]

    is_full = op.Less(op.Mul(bound, cutoff), 1.0)
    found, rank = emit_if(is_full.value, record("full", [], full), record("cut", [], cut), declared)
    return Array(found), Array(rank)


def _by_qr(a: Array) -> tuple[Array, Array]:
    """The pseudo-inverse of a matrix of full rank, and a bound of its condition, |R| |R^-1| in Frobenius' norm.

    The bound is infinite or NaN without full rank.
    """
    rows, columns = a.shape
    if dims.at_least(rows, columns):
        return _tall(a)
    if dims.at_least(columns, rows):
        found, bound = _tall(swapped(a))
        return swapped(found), bound
    q, r = reduced_qr(a)
    found, bound = _tall(swapped(r))
    return op.MatMul(swapped(found), swapped(q)), bound


def _tall(a: Array) -> tuple[Array, Array]:
    q, r = tall_qr(a)
    inverse = solve_triangular(r, identity_like(r), lower=False)
    return op.MatMul(inverse, swapped(q)), op.Mul(_length(r), _length(inverse))


def _length(x: Array) -> Array:
    found: Array = op.ReduceL2(x, keepdims=0)
    return found


@rrule(inverse_and_rank)
def _inverse_and_rank(a: Array, cutoff: Array) -> tuple[tuple[Array, Array], Pullback]:
    """No tangent: `solution_with` and `inverse_with` take A itself for theirs."""
    return inverse_and_rank(a, cutoff), lambda _: (None, None)


@listed
def solution_with(a: Array, b: Array, inverse: Array) -> Array:
    """A^+ b, with its derivative."""
    found: Array = op.MatMul(inverse, b)
    return found


@rrule(solution_with)
def _solution_with(a: Array, b: Array, inverse: Array) -> tuple[Array, Pullback]:
    """db = w and dA = -w x^T + r (P w)^T + (P^T x) (dx - P A dx)^T for w = P^T dx, r = b - A x and P = A^+.

    G. Golub and V. Pereyra, The differentiation of pseudo-inverses and nonlinear least squares problems whose
    variables separate, SIAM J. Numer. Anal. 10 (1973) 413-432, equation 4.12, times b and transposed.
    """
    p = inverse_with(a, inverse)
    x = solution_with(a, b, inverse)

    def pullback(dx: Array) -> tuple[Array | None, ...]:
        w = op.MatMul(swapped(p), dx)
        residual = op.Sub(b, op.MatMul(a, x))
        beside = op.Sub(dx, op.MatMul(p, op.MatMul(a, dx)))
        terms = [
            op.Neg(op.MatMul(w, swapped(x))),
            op.MatMul(residual, swapped(op.MatMul(p, w))),
            op.MatMul(op.MatMul(swapped(p), x), swapped(beside)),
        ]
        return op.Sum(*terms, types=[a.type]), op.Identity(w, types=[b.type]), None

    return x, pullback


@primitive
def inverse_with(a: Array, inverse: Array) -> Array:
    """The pseudo-inverse of A, with its derivative."""
    found: Array = op.Identity(inverse)
    return found


@rrule(inverse_with)
def _inverse_with(a: Array, inverse: Array) -> tuple[Array, Pullback]:
    """dA = -P^T dP P^T + (I - A P) dP^T P P^T + P^T P dP^T (I - P A), as in `_solution_with` for b = I."""
    p = inverse_with(a, inverse)

    def pullback(dp: Array) -> tuple[Array, None]:
        turned, back = swapped(dp), swapped(p)
        left = op.Sub(turned, op.MatMul(a, op.MatMul(p, turned)))
        right = op.Sub(turned, op.MatMul(op.MatMul(turned, p), a))
        terms = [
            op.Neg(op.MatMul(op.MatMul(back, dp), back)),
            op.MatMul(left, op.MatMul(p, back)),
            op.MatMul(op.MatMul(back, p), right),
        ]
        return op.Sum(*terms, types=[a.type]), None

    return p, pullback
