"""Solves systems of one to three equations without a loop: by the inverse, with one step of refinement.

A Scan costs as much as thirty operators before its first step, and factoring and substitution are three to five Scans.
For a matrix that was already factored, other solutions reuse those factors (`lu.factors_of`).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.ir import Type, dims
from primsplit.ir.dims import Shape
from primsplit.numpy.approximations.limits import float_limits
from primsplit.numpy.dense.loop import identity_like, rows_at
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import swapped
from primsplit.tracing.calls.primitive import listed, primitive, rrule

Pullback = Callable[..., Any]
Parts = tuple[Array, Array, Array]
"""The transpose of A^-1 [..., n, n], the sign of det A [...], and log |det A| [...]."""

LARGEST = 3

_SWAPS = np.array([[0, 1, 2], [1, 0, 2], [2, 1, 0]])
"""The order of the rows that brings each of them to the top; each is its own inverse."""


def is_small(shape: Shape) -> bool:
    """Return whether there is one matrix of at most three rows. A batch is solved by `unrolled` elimination."""
    return len(shape) == 2 and isinstance(shape[-1], int) and 1 <= shape[-1] <= LARGEST


@listed
def parts(a: Array) -> Parts:
    """The parts of A [..., n, n], n at most 3. A singular A has an inverse of inf or NaN, sign 0 and -inf.

    They are a means to solve and to take logarithms of determinants, which have the rules: no gradient flows through
    them.
    """
    inverse, sign, log = _PARTS[int(a.shape[-1]) - 1](a)
    number = Type(a.dtype, a.shape[:-2])
    sign, log = (op.Identity(op.Squeeze(x, [-2, -1]), types=[number]) for x in (sign, log))
    return op.Identity(inverse, types=[a.type]), sign, log


@rrule(parts)
def _parts(a: Array) -> tuple[Parts, Pullback]:
    """No tangent: `solve_by` and `log_determinant_by` take A itself for their derivatives."""
    return parts(a), lambda _: (None,)


def _of_one(a: Array) -> Parts:
    return op.Reciprocal(a), op.Sign(a), op.Log(op.Abs(a))


def _of_two(a: Array) -> Parts:
    """By cofactors, the rows scaled so that no product overflows or underflows.

    For two equations that is forward stable (N. Higham, Accuracy and Stability of Numerical Algorithms, 2002, 1.10.1).
    """
    scale = op.Max(op.ReduceSum(op.Abs(a), [-1], keepdims=1), float(float_limits(a).tiny))
    rows = op.Div(a, scale)
    turned = op.Gather(op.Gather(rows, [1, 0], axis=-1), [1, 0], axis=-2)
    cofactors = op.Mul(turned, np.array([[1, -1], [-1, 1]], a.dtype))
    twice = op.ReduceSum(op.Mul(rows, cofactors), [-1], keepdims=1)  # expanded along each row: the same two products
    determinant = op.Gather(twice, [0], axis=-2)
    log = op.Add(op.Log(op.Abs(determinant)), op.ReduceSum(op.Log(scale), [-2], keepdims=1))
    return op.Div(cofactors, op.Mul(twice, scale)), op.Sign(determinant), log


def _of_three(a: Array) -> Parts:
    """One step of elimination with partial pivoting; the two equations that are left by cofactors.

    With [p u; c D] the matrix whose pivot row is on top, S = D - c u / p, and its inverse is
    [1/p + u S^-1 c / p^2, -u S^-1 / p; -S^-1 c / p, S^-1].
    """
    place = op.ArgMax(op.Abs(op.Gather(a, np.array(0), axis=-1)), axis=-1, keepdims=0)
    order = op.Gather(_SWAPS, place, axis=0)
    top, below = op.Split(rows_at(a, order), [1, 2], axis=-2, outputs=2)
    pivot, row = op.Split(top, [1, 2], axis=-1, outputs=2)
    column, rest = op.Split(below, [1, 2], axis=-1, outputs=2)
    multiplier = op.Div(column, op.Where(op.Equal(pivot, 0.0), 1.0, pivot))
    inverse, sign, log = _of_two(op.Sub(rest, op.Mul(multiplier, row)))
    left = op.MatMul(swapped(multiplier), inverse)
    under = op.Div(op.MatMul(inverse, swapped(row)), pivot)
    corner = op.Add(op.Reciprocal(pivot), op.MatMul(swapped(multiplier), under))
    joined = op.Concat(op.Concat(corner, op.Neg(left), axis=-1), op.Concat(op.Neg(under), inverse, axis=-1), axis=-2)
    swap = op.Gather(np.array([1, -1, -1], a.dtype).reshape(3, 1, 1), place, axis=0)
    return (
        rows_at(joined, order),
        op.Mul(swap, op.Mul(op.Sign(pivot), sign)),
        op.Add(op.Log(op.Abs(pivot)), log),
    )


_PARTS: tuple[Callable[[Array], Parts], ...] = (_of_one, _of_two, _of_three)


@listed
def solve_by(a: Array, inverse: Array, b: Array, *, transposed: bool = False) -> Array:
    """X with A X = B, or A^T X = B, by the transpose of A's inverse, and once refined.

    A [..., n, n] and B [..., n, k] have the same batch. The refinement makes the residual that of elimination
    (R. Skeel, Iterative refinement implies numerical stability for Gaussian elimination, Math. Comp. 35, 1980).
    """
    matrix, by = (swapped(a), inverse) if transposed else (a, swapped(inverse))
    x = op.MatMul(by, b)
    return op.Add(x, op.MatMul(by, op.Sub(b, op.MatMul(matrix, x))), types=[b.type])


@rrule(solve_by)
def _solve_by(a: Array, inverse: Array, b: Array, *, transposed: bool = False) -> tuple[Array, Pullback]:
    """dB = A^-T dX, and dA = -dB X^T (Giles 2008, 2.3.1); A^T has the transposed cotangent."""
    x = solve_by(a, inverse, b, transposed=transposed)

    def pullback(dx: Array) -> tuple[Array | None, ...]:
        db = solve_by(a, inverse, dx, transposed=not transposed)
        da = op.MatMul(x, swapped(db)) if transposed else op.MatMul(db, swapped(x))
        return op.Neg(da), None, db

    return x, pullback


def solve(a: Array, b: Array) -> Array:
    """X with A X = B, for A [..., n, n], n at most 3, and B [..., n, k] with the same batch."""
    if dims.is_one(a.shape[-1]):
        return op.Div(b, a)
    x: Array = solve_by(a, parts(a)[0], b)
    return x


@primitive
def log_determinant_by(a: Array, inverse: Array, log: Array) -> Array:
    """`log`, which is log |det A|; A and the transpose of its inverse are there for the derivative."""
    return op.Identity(log)


@rrule(log_determinant_by)
def _log_determinant_by(a: Array, inverse: Array, log: Array) -> tuple[Array, Pullback]:
    """dA = dy A^-T (Giles 2008, 2.2.4); inf or NaN for a singular A."""

    def pullback(dy: Array) -> tuple[Array | None, ...]:
        turned = solve_by(a, inverse, identity_like(a), transposed=True)
        return op.Mul(op.Unsqueeze(dy, [-2, -1]), turned), None, None

    return log_determinant_by(a, inverse, log), pullback
