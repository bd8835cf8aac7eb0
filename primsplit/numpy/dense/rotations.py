"""Rotates all pairs of rows of a matrix, n / 2 pairs at once: the step that both Jacobi methods share.

The pairs are neighbours, starting at even and at odd places in turn, and the two rows of a pair change places while
they are rotated. After n rounds every row has met every other. (R. P. Brent and F. T. Luk, The solution of
singular-value and symmetric eigenvalue problems on multiprocessor arrays, SIAM J. Sci. Stat. Comput. 6 (1985) 69-84.)
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from primsplit.numpy.approximations.limits import float_limits
from primsplit.numpy.approximations.reductions import power_of_two_near
from primsplit.numpy.dense.loop import counting, identity_like, loop, scalar, size
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import swapped

MOST = 40
"""The most sweeps. Random matrices of 100 rows take 9, hard ones 13."""


class Pairs(NamedTuple):
    """The neighbours of one round, for each row: one row of an odd number is its own neighbour."""

    numbers: Array
    """0, 1, ..., int64 [n]."""
    partner: Array
    """The other row, int64 [n]."""
    side: Array
    """1 for the first row of a pair, -1 for the second, 0 for a row alone, [n, 1]."""


def both_rounds(x: Array) -> tuple[Pairs, Pairs]:
    """The pairs (0, 1), (2, 3), ... and (1, 2), (3, 4), ... of the rows of `x`."""
    numbers = counting(x, -2)
    return _pairs(x, numbers, 0), _pairs(x, numbers, 1)


def _pairs(x: Array, numbers: Array, offset: int) -> Pairs:
    odd = op.Mod(op.Add(numbers, offset), 2)
    other = op.Sub(op.Add(numbers, 1), op.Mul(odd, 2))
    is_row = op.And(op.GreaterOrEqual(other, 0), op.Less(other, scalar(size(x, -2))))
    partner = op.Where(is_row, other, numbers)
    side = op.Unsqueeze(op.Cast(op.Sub(partner, numbers), to=x.dtype), [1])
    return Pairs(numbers, partner, side)


def swept(turn: Callable[..., Sequence[Array]], rounds: Sequence[Pairs], carries: Sequence[Array]) -> list[Array]:
    """The carries after `turn(pairs, *carries)` of all rounds, each row with each other at least once."""
    halves = scalar(op.Div(op.Add(size(carries[0], -2), 1), 2))

    def step(_: Array, *given: Array) -> tuple[list[Array], list[Array]]:
        for pairs in rounds:
            given = tuple(turn(pairs, *given))
        return list(given), []

    return loop(halves, step, carries)


def rotation(side: Array, difference: Array, coupling: Array) -> tuple[Array, Array]:
    """The factors [..., n, 1] of the partner's row and of one's own, for `rotated`, that diagonalize [[p, c], [c, q]].

    `difference` is q - p, `coupling` is c, both alike for the two rows of a pair. The angle is at most pi / 4
    (H. Rutishauser, The Jacobi method for real symmetric matrices, Numer. Math. 9 (1966) 1-10).
    """
    doubled = op.Mul(coupling, op.Mul(side, 2.0))
    square = op.Add(op.Mul(difference, difference), op.Mul(doubled, doubled))
    root = root_or_one(square)
    signed = op.Where(op.GreaterOrEqual(difference, 0.0), root, op.Neg(root))
    tangent = op.Div(doubled, op.Add(difference, signed))
    cosine = op.Reciprocal(op.Sqrt(op.Add(op.Mul(tangent, tangent), 1.0)))
    return cosine, op.Mul(tangent, cosine)


def root_or_one(square: Array) -> Array:
    """The square root, 1 where there is as good as nothing to turn: a quotient by it has a derivative there too."""
    tiny = np.asarray(float_limits(square).smallest_normal, square.dtype)
    return op.Sqrt(op.Where(op.Less(square, tiny), np.asarray(1, square.dtype), square))


def rotated(x: Array, partners: Array, cosine: Array, own: Array) -> Array:
    """The rows turned and swapped, from `x` and its rows at their partners' places."""
    return op.Add(op.Mul(partners, cosine), op.Mul(x, own), types=[x.type])


def at_partner(x: Array, pairs: Pairs) -> Array:
    """The rows of the partners."""
    return op.Gather(x, pairs.partner, axis=-2, types=[x.type])


def orthonormal(x: Array) -> Array:
    """Square matrices that are orthogonal but for rounding, so to a few units: a step of Newton and Schulz."""
    excess = op.Sub(op.MatMul(x, swapped(x)), identity_like(x))
    return op.Sub(x, op.Mul(op.MatMul(excess, x), 0.5), types=[x.type])


def to_unit(x: Array) -> tuple[Array, Array]:
    """Matrices over a power of two near their largest element, and that power [..., 1, 1]; all NaN if not finite."""
    scale, inverse = power_of_two_near(op.ReduceMax(op.Abs(x), [-2, -1], keepdims=1))
    defect = op.ReduceSum(op.Mul(x, 0.0), [-2, -1], keepdims=1)
    return op.Add(op.Mul(x, inverse), defect, types=[x.type]), scale


def sign_of_largest(rows: Array) -> Array:
    """1 or -1 [..., n, 1]: the sign of each row's element of largest absolute value, the first of equals."""
    place = op.ArgMax(op.Abs(rows), axis=-1, keepdims=1)
    largest = op.GatherElements(rows, place, axis=-1)
    return op.Where(op.Less(largest, 0.0), np.asarray(-1, rows.dtype), 1.0)


def loud(x: Array) -> Array:
    """Infinite where `x` is not 0, and 0 where it is; linear, so that forward mode has it too."""
    most = np.asarray(float_limits(x).max, x.dtype)
    return op.Mul(op.Mul(op.Mul(x, most), most), most)
