"""Eigenvalues and eigenvectors of Hermitian matrices by Jacobi's method: eigh, eigvalsh."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.array import Array
from primsplit.broadcasting import zeros_like
from primsplit.calls.primitive import primitive, rrule
from primsplit.ir import Type
from primsplit.numpy.complex.dispatch import offers
from primsplit.numpy.complex.matrices import Parts, difference, mirrored, product, turned, whole
from primsplit.numpy.dense.loop import (
    diagonal,
    identity_like,
    on_diagonal,
    rows_at,
    size,
    sizes,
    swapped,
    until,
)
from primsplit.numpy.dense.rotations import MOST, Pairs, at_partner, both_rounds, rotation, swept, to_unit
from primsplit.numpy.dense.symmetric import SLACK, excess, is_blurred, loud_pairs, places_of
from primsplit.numpy.linalg.spectral import EighResult
from primsplit.numpy.ufuncs import ELEMENTWISE
from primsplit.ops import op

Eigen = tuple[Array, Array, Array]
"""The eigenvalues, and the parts of the eigenvectors."""
Pullback = Callable[..., Any]


@primitive
def hermitian_eigen(x: Array, y: Array) -> Eigen:
    """The eigenvalues [..., n], ascending, and the eigenvectors, in columns, of the Hermitian X + i Y [..., n, n].

    Jacobi's method, as for symmetric matrices: a round first turns the element that the two rows of a pair share to a
    positive one, by the phase of one of them. The phases of the vectors are those that this leaves.
    """
    rounds = both_rounds(x)
    places = {id(p): places_of(p, size(x, -1)) for p in rounds}
    flat = op.Concat(sizes(x, 0, len(x.shape) - 2), op.Mul(size(x, -1), size(x, -1)), axis=0)

    def turn(pairs: Pairs, *given: Array) -> list[Array]:
        matrix, rows = given[:2], given[2:]
        near, beside = (op.Gather(op.Reshape(p, flat), places[id(pairs)], axis=-1) for p in matrix)
        low, high, coupling = op.Split(near, axis=-1, num_outputs=3)
        length, phase = _polar(coupling, op.Gather(beside, np.array([2]), axis=-1))
        is_second = op.Less(pairs.side, 0.0)
        own = Parts(op.Where(is_second, phase.real, 1.0), op.Where(is_second, phase.imag, 0.0))
        partners = _at_partners(own, pairs)
        factors = rotation(pairs.side, op.Sub(high, low), length)

        def rotated(z: tuple[Array, ...]) -> Parts:
            return _sum(_scaled(_at_partners(z, pairs), partners, factors[0]), _scaled(z, own, factors[1]))

        return [*rotated(turned(rotated(matrix))), *rotated(rows)]

    def sweep(*given: Array) -> list[Array]:
        a, b, *rows = swept(turn, rounds, given)
        return [
            op.Mul(op.Add(a, swapped(a)), 0.5, types=[x.type]),
            op.Mul(op.Sub(b, swapped(b)), 0.5, types=[x.type]),
            *rows,
        ]

    def is_settled(a: Array, b: Array, *_: Array) -> Array:
        return op.Equal(op.ReduceSum(op.Cast(excess(_lengths(a, b), 0.5), to=np.int32), keepdims=0), 0)

    start, scale = _to_unit(x, y)
    a, b, *rows = until(is_settled, sweep, [*start, identity_like(x), zeros_like(x)], MOST)
    return _finished(a, excess(_lengths(a, b), SLACK), Parts(*rows), scale)


def _to_unit(x: Array, y: Array) -> tuple[Parts, Array]:
    """The matrix over a power of two near the largest of its parts, and that power."""
    both, scale = to_unit(op.Concat(x, y, axis=-1))
    count = size(x, -1)
    first = op.Slice(both, [0], count, [-1], types=[x.type])
    second = op.Slice(both, count, [2**62], [-1], types=[x.type])
    return Parts(first, second), scale


def _lengths(a: Array, b: Array) -> Array:
    return op.Sqrt(op.Add(op.Mul(a, a), op.Mul(b, b)))


def _polar(a: Array, b: Array) -> tuple[Array, Parts]:
    """The size of a + i b, and the number of size 1 that it is that times: 1 for 0."""
    scale = op.Max(op.Abs(a), op.Abs(b))
    is_zero = op.Equal(scale, 0.0)
    safe = op.Where(is_zero, 1.0, scale)
    a, b = op.Where(is_zero, 1.0, op.Div(a, safe)), op.Div(b, safe)
    root = op.Sqrt(op.Add(op.Mul(a, a), op.Mul(b, b)))
    return op.Mul(scale, root), Parts(op.Div(a, root), op.Div(b, root))


def _at_partners(z: tuple[Array, ...], pairs: Pairs) -> Parts:
    return Parts(*(at_partner(p, pairs) for p in z))


def _scaled(z: tuple[Array, ...], phase: Parts, factor: Array) -> Parts:
    """Each row times a number of size 1 and a real one."""
    (a, b), (c, d) = z, (op.Mul(p, factor) for p in phase)
    return Parts(op.Sub(op.Mul(a, c), op.Mul(b, d)), op.Add(op.Mul(a, d), op.Mul(b, c)))


def _sum(a: Parts, b: Parts) -> Parts:
    return Parts(*(op.Add(p, q) for p, q in zip(a, b, strict=True)))


def _finished(matrix: Array, is_far: Array, rows: Parts, scale: Array) -> Eigen:
    """In order, the lengths that rounding changed put right."""
    count = len(matrix.shape)
    line = Type(matrix.dtype, matrix.shape[:-1])
    squares = op.Add(op.Mul(rows.real, rows.real), op.Mul(rows.imag, rows.imag))
    defect = op.Where(is_far, np.asarray(np.nan, matrix.dtype), 0.0)
    lengths = op.ReduceSum(squares, [-1], keepdims=1)
    column = op.Add(op.Mul(op.Div(diagonal(matrix), lengths), scale), defect)
    values, order = op.TopK(
        op.Squeeze(column, [count - 1], types=[line]),
        size(matrix, -1),
        axis=-1,
        largest=0,
        types=[line, Type(np.int64, line.shape)],
    )
    more = product(rows, turned(rows))
    excessive = Parts(op.Sub(more.real, identity_like(matrix)), more.imag)
    half = Parts(*(op.Mul(p, 0.5) for p in product(excessive, rows)))
    vectors = turned(Parts(*(rows_at(op.Add(p, defect), order) for p in difference(rows, half))))
    u, v = (op.Identity(p, types=[matrix.type]) for p in vectors)
    return values, u, v


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
