"""Determinants, their logarithms and cofactors."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.ir import Type, Value
from primsplit.numpy.dense import unrolled
from primsplit.numpy.dense.loop import counting, diagonal, filled, loop, scalar, size, stacked_rows
from primsplit.numpy.dense.lu import factor, inverse_order, inverse_with, rows_in_order
from primsplit.numpy.dense.singular import reduced_svd
from primsplit.numpy.dense.triangular import solve_triangular
from primsplit.ops import op
from primsplit.tracing import regions as nested
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import swapped, zeros_like
from primsplit.tracing.calls.primitive import primitive, rrule

Pullback = Callable[..., Any]


def parity(order: Array, dtype: np.dtype[Any]) -> Array:
    """1 or -1, the sign of permutations [..., n]: by the number of pairs out of order; n^2 comparisons."""
    if unrolled.are_few(order.shape):
        odd = op.Mod(unrolled.inversions(order), np.float32(2), fmod=1)
        return op.Sub(np.ones((), dtype), op.Mul(op.Cast(odd, to=dtype), 2.0))
    numbers = counting(order, -1)
    earlier = op.Less(op.Unsqueeze(numbers, [1]), op.Unsqueeze(numbers, [0]))
    swapped_pairs = op.And(op.Greater(op.Unsqueeze(order, [-1]), op.Unsqueeze(order, [-2])), earlier)
    count = op.ReduceSum(op.Cast(swapped_pairs, to=np.int64), [-1, -2], keepdims=0)
    return op.Sub(np.ones((), dtype), op.Mul(op.Cast(op.Mod(count, 2), to=dtype), 2.0))


def _pivots(worked: Array) -> Array:
    """The pivots, a column [..., n, 1]."""
    return unrolled.diagonal(worked) if unrolled.are_few(worked.shape[:-1]) else diagonal(worked)


def _one_each(a: Array) -> list[Type]:
    return [Type(a.dtype, a.shape[:-2])]


@primitive
def determinant_with(a: Array, unit: Array, worked: Array, order: Array) -> Array:
    """The determinant of A [..., n, n] by its factors: the product of the pivots. A is there for the derivative."""
    pivots = op.ReduceProd(_pivots(worked), [-2, -1], keepdims=0)
    return op.Identity(op.Mul(parity(order, a.dtype), pivots), types=_one_each(a))


@rrule(determinant_with)
def _determinant_with(a: Array, unit: Array, worked: Array, order: Array) -> tuple[Array, Pullback]:
    """dA = dy C, C the matrix of cofactors: right at singular matrices too."""
    y = determinant_with(a, unit, worked, order)

    def pullback(dy: Array) -> tuple[Array | None, ...]:
        cofactors = cofactors_with(a, unit, worked, order)
        return op.Mul(op.Unsqueeze(dy, [-2, -1]), cofactors), None, None, None

    return y, pullback


@primitive
def cofactors_with(a: Array, unit: Array, worked: Array, order: Array) -> Array:
    """The matrix of cofactors of A [..., n, n] by its factors P A = L U, without a division by a pivot.

    adj(A) = det(P) adj(U) L^-1 P, where adj(U) = diag(prefix) W: prefix_i is the product of the pivots before i, and
    column by column W <- u_jj W - (W u_j) e_j^T + e_j e_j^T, which expands the minors of a triangular matrix along
    their last column. n^3 operations and 3 n passes over an n by n matrix for W; products of pivots may overflow where
    the determinant does.
    """
    pivots = _pivots(worked)
    if unrolled.are_few(a.shape[:-1]):
        adjugate = unrolled.adjugate(worked)
    else:
        adjugate = op.Mul(_products_before(pivots), _last_column_expansion(worked, pivots))
    turned = solve_triangular(unit, swapped(adjugate), lower=True, unit=True, transposed=True)
    sign = op.Unsqueeze(parity(order, a.dtype), [-2, -1])
    return op.Identity(op.Mul(rows_in_order(turned, inverse_order(order)), sign), types=[a.type])


def _products_before(pivots: Array) -> Array:
    """The product of the pivots before each, a column [..., n, 1]."""

    def step(i: Array, so_far: Array) -> tuple[list[Array], list[Array]]:
        return [op.Mul(so_far, op.Gather(pivots, op.Unsqueeze(i, [0]), axis=-2))], [so_far]

    one = filled(pivots, [1, 1], pivots.dtype.type(1))
    _, before = loop(scalar(size(pivots, -2)), step, [one])
    return stacked_rows(before)


def _last_column_expansion(worked: Array, pivots: Array) -> Array:
    """W of `cofactors_with`, from the upper triangle of `worked`."""
    numbers = counting(worked, -1)
    start = zeros_like(worked)

    def step(j: Array, w: Array) -> tuple[list[Array], list[Array]]:
        place = op.Unsqueeze(j, [0])
        here = op.Equal(numbers, j)
        standing = op.Unsqueeze(here, [1])
        above = op.Where(op.Less(op.Unsqueeze(numbers, [1]), j), op.Gather(worked, place, axis=-1), 0.0)
        column = op.Sub(op.Cast(standing, to=worked.dtype), op.MatMul(w, above))
        return [op.Where(here, column, op.Mul(w, op.Gather(pivots, place, axis=-2)))], []

    return loop(scalar(size(worked, -1)), step, [start])[0]


@rrule(cofactors_with)
def _cofactors_with(a: Array, unit: Array, worked: Array, order: Array) -> tuple[Array, Pullback]:
    """dA = the cofactors' slope along dC, which is its own transpose: the second derivative of a determinant."""
    c = cofactors_with(a, unit, worked, order)

    def pullback(dc: Array) -> tuple[Array | None, ...]:
        return slope_with(a, unit, worked, order, dc), None, None, None

    return c, pullback


@primitive
def slope_with(a: Array, unit: Array, worked: Array, order: Array, x: Array) -> Array:
    """The slope of the cofactors of A along X, all [..., n, n]: minors of minors, right at singular matrices too.

    By the cofactors where no pivot is small beside the largest, else by singular values.
    """
    pivots = op.Abs(_pivots(worked))
    least, most = (reduce(pivots, [-2, -1], keepdims=0) for reduce in (op.ReduceMin, op.ReduceMax))
    is_regular = op.Greater(least, op.Mul(most, _limit(a.dtype)))
    count = op.ReduceMin(op.Cast(is_regular, to=np.int32), keepdims=0)

    def by_cofactors() -> list[Value]:
        return [_divided(a, unit, worked, order, x).value]

    def by_values() -> list[Value]:
        return [_slope_by_values(a, x).value]

    regular, singular = (nested.record(f.__name__, [], f) for f in (by_cofactors, by_values))
    return Array(nested.emit_if(op.Greater(count, 0).value, regular, singular, [a.type])[0])


def _limit(dtype: np.dtype[Any]) -> Any:
    """Return how small a pivot may be relative to the largest: the quotient of `_divided` loses as many digits."""
    return np.sqrt(np.finfo(dtype).eps).astype(dtype)


def _divided(a: Array, unit: Array, worked: Array, order: Array, x: Array) -> Array:
    """(<C, X> C - C X^T C) / det A, from C = det(A) A^-T."""
    c = cofactors_with(a, unit, worked, order)
    determinant = op.Unsqueeze(determinant_with(a, unit, worked, order), [-2, -1])
    turned = op.MatMul(op.MatMul(c, swapped(x)), c)
    return op.Div(op.Sub(op.Mul(_inner(c, x), c), turned), determinant)


def _inner(x: Array, y: Array) -> Array:
    return op.ReduceSum(op.Mul(x, y), [-2, -1], keepdims=1)


def _slope_by_values(a: Array, x: Array) -> Array:
    """The slope of `_divided` without a quotient, in the coordinates of A = U diag(s) V^T: Y = U^T X V.

    The slope has there, at i and j, - p_ij Y_ji, and on its diagonal the sums of p_ij Y_jj over the other j, where p_ij
    is the product of all but two singular values. n^3 numbers.
    """
    u, s, vh = reduced_svd(a)
    y = op.MatMul(op.MatMul(swapped(u), x), swapped(vh))
    numbers = counting(a, -1)
    row, column = op.Unsqueeze(numbers, [1]), op.Unsqueeze(numbers, [0])
    is_same = op.Equal(row, column)
    is_left_out = op.Or(op.Unsqueeze(is_same, [1]), op.Unsqueeze(is_same, [0]))
    others = op.ReduceProd(op.Where(is_left_out, 1.0, op.Unsqueeze(s, [-2, -3])), [-1], keepdims=0)
    others = op.Where(is_same, 0.0, others)
    on_diagonal = op.MatMul(others, diagonal(y))
    slope = op.Where(is_same, on_diagonal, op.Neg(op.Mul(others, swapped(y))))
    _, worked, order = factor(op.MatMul(u, vh))
    sign = op.Unsqueeze(determinant_sign(worked, order), [-2, -1])
    return op.Identity(op.Mul(op.MatMul(op.MatMul(u, slope), vh), sign), types=[a.type])


@rrule(slope_with)
def _slope_with(a: Array, unit: Array, worked: Array, order: Array, x: Array) -> tuple[Array, Pullback]:
    """dX = G(dZ) for the slope G; dA = (<C, dZ> G(X) + <C, X> G(dZ) - G(dZ C^T X + X C^T dZ) - <G(X), dZ> C) / det A.

    NaN or infinite in A at singular matrices, where minors of minors of minors would be needed.
    """
    z = slope_with(a, unit, worked, order, x)

    def pullback(dz: Array) -> tuple[Array | None, ...]:
        def slope(along: Array) -> Array:
            found: Array = slope_with(a, unit, worked, order, along)
            return found

        dx = slope(dz)
        c = cofactors_with(a, unit, worked, order)
        between = op.Add(op.MatMul(op.MatMul(dz, swapped(c)), x), op.MatMul(op.MatMul(x, swapped(c)), dz))
        both = op.Add(op.Mul(_inner(c, dz), z), op.Mul(_inner(c, x), dx))
        rest = op.Add(slope(between), op.Mul(_inner(z, dz), c))
        determinant = op.Unsqueeze(determinant_with(a, unit, worked, order), [-2, -1])
        return op.Div(op.Sub(both, rest), determinant), None, None, None, dx

    return z, pullback


@primitive
def log_determinant_with(a: Array, unit: Array, worked: Array, order: Array) -> Array:
    """log |det A| of A [..., n, n] by its factors; -inf for a singular A."""
    return op.Identity(op.ReduceSum(op.Log(op.Abs(_pivots(worked))), [-2, -1], keepdims=0), types=_one_each(a))


@rrule(log_determinant_with)
def _log_determinant_with(a: Array, unit: Array, worked: Array, order: Array) -> tuple[Array, Pullback]:
    """dA = dy A^-T by the same factors (Giles 2008, 2.2.4); inf or NaN for a singular A."""
    y = log_determinant_with(a, unit, worked, order)

    def pullback(dy: Array) -> tuple[Array | None, ...]:
        inverse = inverse_with(a, unit, worked, order)
        return op.Mul(op.Unsqueeze(dy, [-2, -1]), swapped(inverse)), None, None, None

    return y, pullback


def determinant_sign(worked: Array, order: Array) -> Array:
    """1, -1 or 0: the sign of the determinant, which has no tangent."""
    signs = op.ReduceProd(op.Sign(_pivots(worked)), [-2, -1], keepdims=0)
    return op.Mul(parity(order, worked.dtype), signs)
