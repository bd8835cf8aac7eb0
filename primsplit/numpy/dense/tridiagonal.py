"""Tridiagonal systems: elimination and substitution, one row per step."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.ir import Type
from primsplit.numpy.dense.loop import cut, scan
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import zeros_like
from primsplit.tracing.calls.primitive import primitive, rrule

Pullback = Callable[..., Any]


@primitive
def solve_tridiagonal(below: Array, diagonal: Array, above: Array, b: Array) -> Array:
    """X with A X = B, for A of the diagonals [n - 1], [n] and [n - 1], and B [n, k]; n at least 1.

    Gaussian elimination with partial pivoting, which leaves a second diagonal above (LAPACK's gtsv). A singular A gives
    inf or NaN. n steps of 14 small operators, and n of 4 back.
    """
    beyond = np.zeros(1, b.dtype)
    above, below = op.Concat(above, beyond, axis=0), op.Concat(below, beyond, axis=0)
    first = op.Concat(cut(diagonal, 0, 1, 0), cut(above, 0, 1, 0), beyond, op.Gather(b, np.array(0), axis=0), axis=0)
    after = op.Concat(diagonal, np.ones(1, b.dtype), axis=0)
    columns = [below, cut(after, 1, None, 0), cut(op.Concat(above, beyond, axis=0), 1, None, 0)]
    right = op.Concat(cut(b, 1, None, 0), zeros_like(cut(b, 0, 1, 0)), axis=0)
    following = op.Concat(*(op.Unsqueeze(x, [1]) for x in columns), right, axis=1)
    return op.Identity(_substituted(_eliminated(first, following)), types=[b.type])


def _eliminated(first: Array, following: Array) -> Array:
    """The rows [n, 3 + k] of the triangular system: a pivot, the two elements after it, the right-hand side."""

    def step(row: Array, after: Array) -> tuple[list[Array], list[Array]]:
        turned = op.Greater(op.Abs(_pivot(after)), op.Abs(_pivot(row)))
        upper, lower = op.Where(turned, after, row), op.Where(turned, row, after)
        rest = op.Sub(lower, op.Mul(op.Div(_pivot(lower), _pivot(upper)), upper))
        shifted = op.Concat(cut(rest, 1, 3, 0), np.zeros(1, row.dtype), cut(rest, 3, None, 0), axis=0)
        return [op.Identity(shifted, types=[row.type])], [upper]

    row = Type(first.dtype, following.shape[1:])
    return scan(step, [op.Identity(first, types=[row])], [following])[1]


def _pivot(row: Array) -> Array:
    return cut(row, 0, 1, 0)


def _substituted(reduced: Array) -> Array:
    """The solution [n, k] of the triangular system."""
    rows = op.Div(reduced, cut(reduced, 0, 1, 1))
    near, far, right = cut(rows, 1, 2, 1), cut(rows, 2, 3, 1), cut(rows, 3, None, 1)

    def step(one: Array, two: Array, *row: Array) -> tuple[list[Array], list[Array]]:
        to_one, to_two, number = row
        x = op.Sub(op.Sub(number, op.Mul(to_one, one)), op.Mul(to_two, two), types=[one.type])
        return [x, one], [x]

    nothing = zeros_like(op.Gather(right, np.array(0), axis=0))
    return scan(step, [nothing, nothing], [near, far, right], backward=True)[2]


@rrule(solve_tridiagonal)
def _solve_tridiagonal(below: Array, diagonal: Array, above: Array, b: Array) -> tuple[Array, Pullback]:
    """dB = A^-T dX, and dA = -dB X^T on the three diagonals (Giles 2008, 2.3.1)."""
    x = solve_tridiagonal(below, diagonal, above, b)

    def pullback(dx: Array) -> tuple[Array, ...]:
        db = solve_tridiagonal(above, diagonal, below, dx)
        pairs = [
            (cut(db, 1, None, 0), cut(x, 0, -1, 0), below),
            (db, x, diagonal),
            (cut(db, 0, -1, 0), cut(x, 1, None, 0), above),
        ]
        products = (op.Neg(op.ReduceSum(op.Mul(p, q), [1], keepdims=0), types=[v.type]) for p, q, v in pairs)
        return (*products, db)

    return x, pullback
