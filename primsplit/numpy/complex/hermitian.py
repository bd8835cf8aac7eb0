"""Eigenvalues and eigenvectors of Hermitian matrices by Jacobi's method: eigh, eigvalsh."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.numpy.complex.dispatch import offers
from primsplit.numpy.complex.matrices import Parts, difference, mirrored, product, times, turned, whole
from primsplit.numpy.dense.loop import diagonal, identity_like, on_diagonal, rows_at, size, sizes, until
from primsplit.numpy.dense.rotations import MOST, Pairs, at_partner, both_rounds, root_or_one, swept, to_unit
from primsplit.numpy.dense.symmetric import (
    apart,
    excess,
    is_blurred,
    is_far,
    loud_pairs,
    off_diagonal,
    ordered,
    shared_places,
)
from primsplit.numpy.linear.spectral import EighResult
from primsplit.numpy.ufuncs import ELEMENTWISE
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import swapped, zeros_like
from primsplit.tracing.calls.primitive import primitive, rrule

Eigen = tuple[Array, Array, Array]
"""The eigenvalues, and the parts of the eigenvectors."""
Pullback = Callable[..., Any]


@primitive
def hermitian_eigen(x: Array, y: Array) -> Eigen:
    """The eigenvalues [..., n], ascending, and the eigenvectors, in columns, of the Hermitian X + i Y [..., n, n].

    Jacobi's method, as for symmetric matrices. The phases of the vectors are those that its rotations leave.
    """
    rounds = both_rounds(x)
    places = {id(p): shared_places(p, size(x, -1)) for p in rounds}
    others = {id(p): apart(p, x) for p in rounds}
    flat = op.Concat(sizes(x, 0, len(x.shape) - 2), op.Mul(size(x, -1), size(x, -1)), axis=0)

    def turn(pairs: Pairs, line: Array, *given: Array) -> list[Array]:
        rest, rows = Parts(*given[:2]), Parts(*given[2:])
        shared = Parts(*(op.Gather(op.Reshape(p, flat), places[id(pairs)], axis=-1) for p in rest))
        partners = at_partner(line, pairs)
        cosine, own, shift = _rotation(pairs.side, op.Sub(partners, line), shared)
        turned_rest = _rotated(turned(_rotated(rest, pairs, cosine, own)), pairs, cosine, own)
        return [
            op.Add(partners, shift, types=[line.type]),
            *(op.Mul(p, others[id(pairs)], types=[x.type]) for p in turned_rest),
            *_rotated(rows, pairs, cosine, own),
        ]

    def sweep(*given: Array) -> list[Array]:
        line, a, b, *rows = swept(turn, rounds, given)
        return [
            line,
            op.Mul(op.Add(a, swapped(a)), 0.5, types=[x.type]),
            op.Mul(op.Sub(b, swapped(b)), 0.5, types=[x.type]),
            *rows,
        ]

    def is_settled(line: Array, a: Array, b: Array, *_: Array) -> Array:
        return op.Equal(op.ReduceSum(op.Cast(excess(line, _lengths(a, b), 0.5), to=np.int32), keepdims=0), 0)

    start, scale = _to_unit(x, y)
    carries = [diagonal(start.real), *map(off_diagonal, start), identity_like(x), zeros_like(x)]
    line, a, b, *rows = until(is_settled, sweep, carries, MOST)
    values, defect, order = ordered(line, scale, is_far(line, _lengths(a, b)))
    found = turned(Parts(*(rows_at(op.Add(p, defect), order) for p in _orthonormal(Parts(*rows)))))
    u, v = (op.Identity(p, types=[x.type]) for p in found)
    return values, u, v


def _to_unit(x: Array, y: Array) -> tuple[Parts, Array]:
    """The matrix over a power of two near the largest of its parts, and that power."""
    both, scale = to_unit(op.Concat(x, y, axis=-1))
    count = size(x, -1)
    first = op.Slice(both, [0], count, [-1], types=[x.type])
    second = op.Slice(both, count, [2**62], [-1], types=[x.type])
    return Parts(first, second), scale


def _lengths(a: Array, b: Array) -> Array:
    return op.Sqrt(op.Add(op.Mul(a, a), op.Mul(b, b)))


def _rotation(side: Array, apart: Array, shared: Parts) -> tuple[Array, Parts, Array]:
    """The factors of the partner's row, real, and of one's own; the eigenvalue less the partner's diagonal element.

    As `rotation` and for [[p, c], [conj(c), q]]; `apart` is the partner's diagonal element less one's own. No phase is
    divided by the size of c, of which rounding leaves anything in the end.
    """
    signs = op.Mul(side, 2.0), op.Mul(op.Abs(side), -2.0)
    doubled = Parts(*(op.Mul(p, s) for p, s in zip(shared, signs, strict=True)))
    square = op.Add(op.Mul(doubled.real, doubled.real), op.Mul(doubled.imag, doubled.imag))
    gap = op.Mul(apart, side)
    root = root_or_one(op.Add(op.Mul(gap, gap), square))
    divisor = op.Add(gap, op.Where(op.GreaterOrEqual(gap, 0.0), root, op.Neg(root)))
    tangent = Parts(*(op.Div(p, divisor) for p in doubled))
    lengths = op.Add(op.Mul(tangent.real, tangent.real), op.Mul(tangent.imag, tangent.imag))
    cosine = op.Reciprocal(op.Sqrt(op.Add(lengths, 1.0)))
    shift = op.Div(op.Mul(square, op.Mul(side, 0.5)), divisor)
    return cosine, Parts(*(op.Mul(p, cosine) for p in tangent)), shift


def _rotated(z: Parts, pairs: Pairs, cosine: Array, own: Parts) -> Parts:
    """The rows turned and swapped."""
    partners = (op.Mul(at_partner(p, pairs), cosine) for p in z)
    return Parts(*(op.Add(p, q) for p, q in zip(partners, times(z, own), strict=True)))


def _orthonormal(rows: Parts) -> Parts:
    """Square matrices that are unitary but for rounding, so to a few units: a step of Newton and Schulz."""
    more = product(rows, turned(rows))
    excessive = Parts(op.Sub(more.real, identity_like(rows.real)), more.imag)
    return difference(rows, Parts(*(op.Mul(p, 0.5) for p in product(excessive, rows))))


@rrule(hermitian_eigen)
def _hermitian_eigen(x: Array, y: Array) -> tuple[Eigen, Pullback]:
    """No tangent: `values_with` and `vectors_with` take the matrix itself for theirs."""
    return hermitian_eigen(x, y), lambda _: (None, None)


@primitive
def values_with(x: Array, y: Array, values: Array, u: Array, v: Array) -> Array:
    """The eigenvalues of X + i Y, with their derivative."""
    return op.Identity(values)


@rrule(values_with)
def _values_with(x: Array, y: Array, values: Array, u: Array, v: Array) -> tuple[Array, Pullback]:
    """dA = V diag(dw) V^H: right also at equal eigenvalues, for functions smooth there."""
    vectors = Parts(*vectors_with(x, y, values, u, v))

    def pullback(dw: Array) -> tuple[Array | None, ...]:
        share = Parts(*(op.Mul(p, op.Unsqueeze(dw, [-2])) for p in vectors))
        return (*product(share, turned(vectors)), None, None, None)

    return values_with(x, y, values, u, v), pullback


@primitive
def vectors_with(x: Array, y: Array, values: Array, u: Array, v: Array) -> tuple[Array, Array]:
    """The eigenvectors of X + i Y, with the derivative that keeps their phases."""
    return op.Identity(u), op.Identity(v)


@rrule(vectors_with)
def _vectors_with(x: Array, y: Array, values: Array, u: Array, v: Array) -> tuple[tuple[Array, Array], Pullback]:
    """dA = V ((K - K^H) / (2 (w_j - w_i))) V^H with K = V^H dV, 0 on its diagonal; see `eigenvectors_with`."""
    vectors = Parts(*vectors_with(x, y, values, u, v))
    w = values_with(x, y, values, u, v)

    def pullback(cotangents: tuple[Array, Array]) -> tuple[Array | None, ...]:
        k = product(turned(vectors), cotangents)
        gap = op.Sub(op.Unsqueeze(w, [-2]), op.Unsqueeze(w, [-1]))
        blurred = is_blurred(gap, op.Abs(w))
        divisor = op.Where(op.Or(blurred, on_diagonal(gap)), 1.0, op.Mul(gap, 2.0))
        undefined = op.Add(*map(loud_pairs, cotangents))
        inner = Parts(
            *(
                op.Where(on_diagonal(gap), 0.0, op.Where(blurred, undefined, op.Div(p, divisor)))
                for p in difference(k, turned(k))
            )
        )
        return (*product(product(vectors, inner), turned(vectors)), None, None, None)

    return (vectors.real, vectors.imag), pullback


@offers(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> EighResult:
    """Eigenvalues, ascending, and eigenvectors of Hermitian matrices; reads one triangle, of the diagonal real parts.

    Each vector's element of largest absolute value is real and positive, where LAPACK's phases are arbitrary. The
    derivative of the vectors of equal eigenvalues is infinite or NaN: there is none.
    """
    z = mirrored(a, UPLO)
    found = hermitian_eigen(*z)
    return EighResult(values_with(*z, *found), whole(in_phase(Parts(*vectors_with(*z, *found)))))


def in_phase(vectors: Parts) -> Parts:
    """Columns whose elements of largest absolute value are real and positive."""
    sizes_of = _lengths(*vectors)
    place = op.ArgMax(sizes_of, axis=-2, keepdims=1)
    a, b = (op.GatherElements(p, place, axis=-2) for p in vectors)
    length = ELEMENTWISE["hypot"](a, b)
    (c, d), (u, v) = (op.Div(a, length), op.Div(b, length)), vectors
    real, imaginary = op.Add(op.Mul(u, c), op.Mul(v, d)), op.Sub(op.Mul(v, c), op.Mul(u, d))
    return Parts(*(op.Identity(p, types=[u.type]) for p in (real, imaginary)))


@offers(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Array:
    """Eigenvalues of Hermitian matrices, ascending; reads one triangle, of the diagonal real parts."""
    z = mirrored(a, UPLO)
    found: Array = values_with(*z, *hermitian_eigen(*z))
    return found
