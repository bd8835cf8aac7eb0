"""Singular values and vectors by the one-sided Jacobi method, which does not square the condition number."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.ir import Type, dims
from primsplit.ir.errors import MissingRule
from primsplit.numpy.approximations.limits import float_limits
from primsplit.numpy.dense import lu
from primsplit.numpy.dense.loop import cut, diagonal, identity_like, on_diagonal, rows_at, size, until
from primsplit.numpy.dense.qr import complete_q, reduced_qr, tall_qr
from primsplit.numpy.dense.rotations import (
    MOST,
    Pairs,
    at_partner,
    both_rounds,
    loud,
    orthonormal,
    rotated,
    rotation,
    sign_of_largest,
    swept,
    to_unit,
)
from primsplit.numpy.dense.symmetric import SLACK, is_blurred, loud_pairs, with_diagonal
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.broadcasting import swapped
from primsplit.tracing.calls.primitive import primitive, rrule

Pullback = Callable[..., Any]
Factors = tuple[Array, Array, Array]


@primitive
def reduced_svd(a: Array) -> Factors:
    """U [..., m, k], s [..., k], descending, and V^T [..., k, n] with U diag(s) V^T = A; k the smaller of m and n.

    QR, then Jacobi's method on the rows of R (Z. Drmac and K. Veselic, New fast and accurate Jacobi SVD algorithm I,
    SIAM J. Matrix Anal. Appl. 29 (2008) 1322-1342, without pivots). The element of largest absolute value, the first
    of equals, of each column of U is positive. U and V^T are orthonormal for matrices without full rank too. NaN
    for a matrix that is not finite. Usually 5 to 13 sweeps, each of which is k rounds of 31 small operators and 12
    passes over a k by k matrix; before and after, two or three QR factorizations.
    """
    rows, columns = a.shape[-2:]
    start, scale = to_unit(a)
    if dims.at_least(rows, columns):
        q, r = tall_qr(start)
        left, s, right = _square_svd(r)
        left = op.MatMul(q, left)
    elif dims.at_least(columns, rows):
        q, r = tall_qr(swapped(start))
        turned, s, left = _square_svd(r)
        left, right = swapped(left), swapped(op.MatMul(q, turned))
    else:
        first, r = reduced_qr(start)
        last, core = tall_qr(swapped(r))
        left, s, right = _square_svd(swapped(core))
        left, right = op.MatMul(first, left), op.MatMul(right, swapped(last))
    count, batch = dims.minimum(rows, columns), a.shape[:-2]
    sign = sign_of_largest(swapped(left))
    values = op.Squeeze(op.Mul(s, scale), [len(a.shape) - 1])
    return (
        op.Identity(op.Mul(left, swapped(sign)), types=[Type(a.dtype, (*batch, rows, count))]),
        op.Identity(values, types=[Type(a.dtype, (*batch, count))]),
        op.Identity(op.Mul(right, sign), types=[Type(a.dtype, (*batch, count, columns))]),
    )


def _square_svd(a: Array) -> Factors:
    """U, s as a column [..., n, 1], and V^T of square matrices.

    J^T A has orthogonal rows: their lengths are s. Their directions are by QR, so that rows of zeros have some too.
    """
    rounds = both_rounds(a)

    def turn(pairs: Pairs, matrix: Array, vectors: Array) -> list[Array]:
        others = at_partner(matrix, pairs)
        lengths = _inner(matrix, matrix)
        difference = op.Mul(op.Sub(at_partner(lengths, pairs), lengths), pairs.side)
        product = _inner(matrix, others)
        # A sum is rounded by where its row lies in memory, and where lengths are equal rounding tells the angle.
        alike = op.Mul(op.Add(product, at_partner(product, pairs)), 0.5)
        factors = rotation(pairs.side, difference, alike)
        return [rotated(matrix, others, *factors), rotated(vectors, at_partner(vectors, pairs), *factors)]

    matrix, vectors = until(_is_settled, lambda *given: swept(turn, rounds, given), [a, identity_like(a)], MOST)
    defect = op.Where(_excess(matrix, SLACK), np.asarray(np.nan, a.dtype), 0.0)
    values = op.Sqrt(op.Div(_inner(matrix, matrix), _inner(vectors, vectors)))
    values = op.Add(values, defect)
    line = Type(a.dtype, a.shape[:-1])
    _, order = op.TopK(
        op.Squeeze(values, [len(a.shape) - 1], types=[line]),
        size(a, -1),
        axis=-1,
        types=[line, Type(np.int64, line.shape)],
    )
    q, r = tall_qr(op.Identity(swapped(rows_at(matrix, order)), types=[a.type]))
    sign = op.Where(op.Less(diagonal(r), 0.0), np.asarray(-1, a.dtype), 1.0)
    left = op.Identity(swapped(rows_at(orthonormal(vectors), order)), types=[a.type])
    return left, rows_at(values, order), op.Mul(swapped(q), sign)


def _inner(x: Array, y: Array) -> Array:
    """The inner products of rows, a column."""
    return op.ReduceSum(op.Mul(x, y), [-1], keepdims=1)


def _is_settled(matrix: Array, vectors: Array) -> Array:
    """Return whether no two rows of any matrix are further from orthogonal than 10 (or n) units in the last place."""
    return op.Equal(op.ReduceSum(op.Cast(_excess(matrix, 1.0), to=np.int32), keepdims=0), 0)


def _excess(matrix: Array, factor: float) -> Array:
    """Return where the cosine between some two rows exceeds that limit times a factor, [..., 1, 1]; False for NaN."""
    limits = float_limits(matrix)
    products = op.MatMul(matrix, swapped(matrix))
    lengths = diagonal(products)
    units = op.Add(op.Cast(size(matrix, -1), to=matrix.dtype), 10.0)
    bound = op.Mul(units, factor * float(limits.eps))
    allowed = op.Mul(op.Mul(lengths, bound), op.Mul(swapped(lengths), bound))
    tiny = np.asarray(limits.smallest_normal, matrix.dtype)
    far = op.Greater(op.Mul(products, products), op.Max(allowed, tiny))
    far = op.And(far, op.Not(on_diagonal(matrix)))
    return op.Greater(op.ReduceSum(op.Cast(far, to=matrix.dtype), [-2, -1], keepdims=1), 0.0)


@rrule(reduced_svd)
def _reduced_svd(a: Array) -> tuple[Factors, Pullback]:
    """No tangent: `values_with` and `vectors_with` take A itself for theirs."""
    return reduced_svd(a), lambda _: (None,)


@primitive
def values_with(a: Array, u: Array, s: Array, vh: Array) -> Array:
    """The singular values of A, with their derivative."""
    return op.Identity(s)


@rrule(values_with)
def _values_with(a: Array, u: Array, s: Array, vh: Array) -> tuple[Array, Pullback]:
    """dA = U diag(ds) V^T, right at equal values too for functions smooth there; a value of 0 has a share of 0."""
    left, right = vectors_with(a, u, s, vh)

    def pullback(ds: Array) -> tuple[Array | None, ...]:
        share = op.Unsqueeze(op.Mul(ds, op.Sign(s)), [-2])
        return op.Identity(op.MatMul(op.Mul(left, share), right), types=[a.type]), None, None, None

    return values_with(a, u, s, vh), pullback


@primitive
def vectors_with(a: Array, u: Array, s: Array, vh: Array) -> tuple[Array, Array]:
    """U and V^T of A, with their derivatives."""
    return op.Identity(u), op.Identity(vh)


@rrule(vectors_with)
def _vectors_with(a: Array, u: Array, s: Array, vh: Array) -> tuple[tuple[Array, Array], Pullback]:
    """dA = U E V^T + (I - U U^T) dU s^-1 V^T + U s^-1 dV^T (I - V V^T).

    E is 0 on its diagonal, 2 E_ij = (P + Q)_ij / (s_j - s_i) + (P - Q)_ij / (s_j + s_i), P = U^T dU - dU^T U,
    and Q likewise from V (J. Townsend, Differentiating the singular value decomposition, 2016, with the fractions of
    the squares taken apart). The vectors of equal singular values have no derivative, nor have those of a 0 beside a
    longer side: NaN or infinite. Where two values differ, or one differs from 0, but by no more than k units in the
    last place of the largest, it is infinite or NaN too unless the vectors have the cotangent 0.
    """
    left, right = vectors_with(a, u, s, vh)
    values = values_with(a, u, s, vh)

    def pullback(cotangents: tuple[Array, Array]) -> tuple[Array | None, ...]:
        du, dv = cotangents[0], swapped(cotangents[1])
        v = swapped(right)
        inner = _coupled(values, _turning(left, du), _turning(v, dv), op.Add(loud_pairs(du), loud_pairs(dv)))
        da = op.MatMul(op.MatMul(left, inner), right)
        if not dims.same(u.shape[-2], u.shape[-1]):
            da = op.Add(da, op.MatMul(_outside(left, du, values), right))
        if not dims.same(vh.shape[-2], vh.shape[-1]):
            da = op.Add(da, op.MatMul(left, swapped(_outside(v, dv, values))))
        return op.Identity(da, types=[a.type]), None, None, None

    return (left, right), pullback


def _turning(u: Array, du: Array) -> Array:
    k = op.MatMul(swapped(u), du)
    return op.Sub(k, swapped(k))


def _coupled(s: Array, p: Array, q: Array, undefined: Array) -> Array:
    """E of the rule."""
    here, there = op.Unsqueeze(s, [-1]), op.Unsqueeze(s, [-2])
    gap = op.Sub(there, here)
    blurred = is_blurred(gap, s)
    is_safe = op.Or(blurred, on_diagonal(gap))
    apart = op.Div(op.Add(p, q), op.Where(is_safe, 1.0, gap))
    together = op.Div(op.Sub(p, q), op.Where(is_safe, 1.0, op.Add(here, there)))
    found = op.Where(blurred, undefined, op.Mul(op.Add(apart, together), 0.5))
    return with_diagonal(np.zeros((), s.dtype), found)


def _outside(u: Array, du: Array, s: Array) -> Array:
    """(I - U U^T) dU s^-1."""
    line = op.Unsqueeze(s, [-2])
    blurred = is_blurred(line, s)
    rest = op.Sub(du, op.MatMul(u, op.MatMul(swapped(u), du)))
    return op.Where(blurred, loud(du), op.Div(rest, op.Where(blurred, 1.0, line)))


def svd(a: Array) -> Factors:
    """`reduced_svd`, with derivatives."""
    found = reduced_svd(a)
    u, vh = vectors_with(a, *found)
    return u, values_with(a, *found), vh


def singular_values(a: Array) -> Array:
    """The singular values of `svd`."""
    found: Array = values_with(a, *reduced_svd(a))
    return found


@primitive
def pseudo_inverse(a: Array, cutoff: Array) -> Array:
    """The pseudo-inverse [..., n, m] of A [..., m, n], singular values up to `cutoff` [...] times the largest as 0."""
    return cut_pseudo_inverse(a, reduced_svd(a), cutoff)


def cut_pseudo_inverse(a: Array, factors: Factors, cutoff: Array) -> Array:
    """The pseudo-inverse by the factors of `reduced_svd`; singular values up to the cutoff count as 0."""
    u, s, vh = factors
    found = op.MatMul(op.Mul(swapped(vh), op.Unsqueeze(_reciprocals(s, cutoff), [-2])), swapped(u))
    return op.Identity(found, types=[Type(a.dtype, (*a.shape[:-2], a.shape[-1], a.shape[-2]))])


def _reciprocals(s: Array, cutoff: Array) -> Array:
    """The reciprocals of the singular values above the cutoff, 0 for the others."""
    kept = is_kept(s, cutoff)
    return op.Where(kept, op.Reciprocal(op.Where(kept, s, 1.0)), op.Mul(s, 0.0))


def is_kept(s: Array, cutoff: Array) -> Array:
    """Return which singular values are more than `cutoff` [...] times the largest."""
    return op.Greater(s, op.Mul(op.ReduceMax(s, [-1], keepdims=1), op.Unsqueeze(cutoff, [-1])))


@rrule(pseudo_inverse)
def _pseudo_inverse(a: Array, cutoff: Array) -> tuple[Array, Pullback]:
    """dA = -P^T dP P^T + (I - A P) dP^T P P^T + P^T P dP^T (I - P A), P the pseudo-inverse: where the rank stays.

    G. Golub and V. Pereyra, The differentiation of pseudo-inverses and nonlinear least squares problems whose
    variables separate, SIAM J. Numer. Anal. 10 (1973) 413-432, equation 4.12, transposed.
    """
    p = pseudo_inverse(a, cutoff)

    def pullback(dp: Array) -> tuple[Array, None]:
        turned, back = swapped(dp), swapped(p)
        da = op.Neg(op.MatMul(op.MatMul(back, dp), back))
        left = op.Sub(turned, op.MatMul(a, op.MatMul(p, turned)))
        right = op.Sub(turned, op.MatMul(op.MatMul(turned, p), a))
        da = op.Add(da, op.MatMul(left, op.MatMul(p, back)))
        da = op.Add(da, op.MatMul(op.MatMul(back, p), right))
        return op.Identity(da, types=[a.type]), None

    return p, pullback


def is_faint(cutoff: Any, like: Array) -> bool:
    """Return whether a cutoff is known to drop only singular values that rounding may have made of 0."""
    known = as_array(cutoff).known()
    units = max([100, *(d for d in like.shape[-2:] if isinstance(d, int))])
    return known is not None and bool(np.all(known <= units * float(float_limits(like).eps)))


@primitive
def cut_inverse(a: Array, cutoff: Array) -> Array:
    """`pseudo_inverse` with a cutoff that may drop singular values other than 0."""
    return cut_pseudo_inverse(a, reduced_svd(a), cutoff)


@rrule(cut_inverse)
def _cut_inverse(a: Array, cutoff: Array) -> tuple[Array, Pullback]:
    """dA = U X V^T + (I - U U^T) dP^T V F^2 V^T + U F^2 U^T dP^T (I - V V^T), F the reciprocals of what is kept.

    With Y = U^T dP^T V: 2 X = G (Y + Y^T) + H (Y - Y^T), where G and H are -f_i f_j and f_i f_j, but for one value that
    is kept and one that is not: f / |s_i - s_j| and f / (s_i + s_j), f that of the kept one (V. Noferini, A formula for
    the Frechet derivative of a generalized matrix function, SIAM J. Matrix Anal. Appl. 38 (2017) 434-457). Equal
    singular values are no matter; their second derivative is infinite or NaN.
    """
    u, s, vh = svd(a)
    f = _reciprocals(s, cutoff)
    here, there = op.Unsqueeze(f, [-1]), op.Unsqueeze(f, [-2])
    is_mixed = op.Xor(op.Equal(here, 0.0), op.Equal(there, 0.0))
    both, one = op.Mul(here, there), op.Add(here, there)
    column, row = op.Unsqueeze(s, [-1]), op.Unsqueeze(s, [-2])
    gap = op.Where(is_mixed, op.Abs(op.Sub(column, row)), 1.0)
    total = op.Where(is_mixed, op.Add(column, row), 1.0)
    alike = op.Where(is_mixed, op.Div(one, gap), op.Neg(both))
    turning = op.Where(is_mixed, op.Div(one, total), both)
    squares = op.Mul(f, f)

    def pullback(dp: Array) -> tuple[Array, None]:
        wide, tall = op.MatMul(swapped(u), swapped(dp)), op.MatMul(swapped(dp), swapped(vh))
        y = op.MatMul(wide, swapped(vh))
        x = op.Add(op.Mul(alike, op.Add(y, swapped(y))), op.Mul(turning, op.Sub(y, swapped(y))))
        right = op.Sub(wide, op.MatMul(y, vh))
        inner = op.Add(op.MatMul(op.Mul(x, 0.5), vh), op.Mul(op.Unsqueeze(squares, [-1]), right))
        left = op.Mul(op.Sub(tall, op.MatMul(u, y)), op.Unsqueeze(squares, [-2]))
        return op.Identity(op.Add(op.MatMul(u, inner), op.MatMul(left, vh)), types=[a.type]), None

    return cut_inverse(a, cutoff), pullback


@primitive
def completion(u: Array) -> Array:
    """Columns [..., m, m - k] that make orthonormal columns U [..., m, k] a basis."""
    return _completing(u)


def _completing(u: Array) -> Array:
    rows, columns = u.shape[-2:]
    whole = complete_q(u)
    return op.Identity(cut(whole, size(u, -1), None, -1), types=[Type(u.dtype, (*u.shape[:-2], rows, rows - columns))])


@rrule(completion)
def _completion(u: Array) -> Any:
    """Refused: the vectors that complete the basis are not a smooth function of U."""
    raise MissingRule(
        "svd with full_matrices=True has no gradient in several vectors that complete the basis: they are arbitrary",
        cure="Use full_matrices=False.",
    )


@primitive
def normal(u: Array) -> Array:
    """The one column [..., n + 1, 1] that makes orthonormal columns U [..., n + 1, n] a basis."""
    return _completing(u)


@rrule(normal)
def _normal(u: Array) -> tuple[Array, Pullback]:
    """No tangent: `normal_with` takes A itself for its own."""
    return normal(u), lambda _: (None,)


@primitive
def normal_with(a: Array, vector: Array) -> Array:
    """The unit vector [..., n + 1, 1] at right angles to the columns of A [..., n + 1, n], with its derivative."""
    return op.Identity(vector)


@rrule(normal_with)
def _normal_with(a: Array, vector: Array) -> tuple[Array, Pullback]:
    """dA = -c (A^+ dc)^T, from A^T c = 0; [A c]^-1 dc starts with A^+ dc. Without full rank it is infinite or NaN."""
    c = normal_with(a, vector)

    def pullback(dc: Array) -> tuple[Array | None, ...]:
        whole = op.Concat(a, c, axis=-1, types=[Type(a.dtype, (*a.shape[:-1], a.shape[-2]))])
        z = cut(lu.solve(whole, dc), 0, -1, -2)
        return op.Neg(op.MatMul(c, swapped(z))), None

    return c, pullback
