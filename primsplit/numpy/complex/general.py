"""Eigenvalues and eigenvectors of matrices that need not be symmetric: np.linalg.eig and eigvals."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from primsplit.array import FUNCTIONS, Array, implements
from primsplit.broadcasting import zeros_like
from primsplit.calls.primitive import primitive, rrule
from primsplit.ir import Type
from primsplit.numpy.complex.arithmetic import quotient
from primsplit.numpy.complex.handle import refused
from primsplit.numpy.complex.hermitian import in_phase
from primsplit.numpy.complex.matrices import Parts, product, turned, whole
from primsplit.numpy.complex.operands import holds_complex
from primsplit.numpy.complex.systems import solved
from primsplit.numpy.dense.general.eigen import Decomposed, decomposed
from primsplit.numpy.dense.loop import counting, identity_like, loop, on_diagonal, scalar, size, sizes, upper
from primsplit.numpy.dense.symmetric import loud_pairs
from primsplit.numpy.linalg.operands import square
from primsplit.numpy.ufuncs import ELEMENTWISE
from primsplit.ops import op
from primsplit.passes.compositions.limits import float_limits

Eigen = tuple[Array, Array, Array, Array]
"""The parts of eigenvalues [..., n], and of eigenvectors [..., n, n] in columns."""
Pullback = Callable[..., Any]


class EigResult(NamedTuple):
    """What np.linalg.eig returns."""

    eigenvalues: Array
    eigenvectors: Array


@primitive
def general_eigen(a: Array) -> Eigen:
    """The parts of the eigenvalues [..., n] and of the eigenvectors, in columns, of matrices [..., n, n].

    The eigenvalues are in the order in which LAPACK finds them up to n = 75, but for matrices whose iteration hangs on
    rounding. Vectors have length 1. NaN where a matrix is not finite. Matrices are worked on one after another; one of
    10 rows takes some milliseconds, one of 30 a tenth of a second: see the parts in `dense/general/`.
    """
    if len(a.shape) == 2:
        return _of_one(a)
    *batch, rows, columns = a.shape
    count = op.ReduceProd(sizes(a, 0, len(batch)), keepdims=1)
    flat = op.Reshape(a, op.Concat(count, sizes(a, len(batch)), axis=0))

    def step(i: Array) -> tuple[list[Array], list[Array]]:
        return [], list(_of_one(op.Gather(flat, i, axis=0, types=[Type(a.dtype, (rows, columns))])))

    found = loop(scalar(size(flat, 0)), step, [])
    line, square_ = Type(a.dtype, a.shape[:-1]), a.type
    shapes = (sizes(a, 0, len(batch) + 1), sizes(a))
    real, imag, u, v = (op.Reshape(f, shapes[i // 2], types=[(line, square_)[i // 2]]) for i, f in enumerate(found))
    return real, imag, u, v


def _of_one(a: Array) -> Eigen:
    """Of one matrix."""
    found = decomposed(a)
    u, v = (op.Add(p, found.defect, types=[a.type]) for p in _vectors(found))
    real, imag = (
        op.Add(op.Mul(w, op.Squeeze(found.scale, [0, 1])), found.defect, types=[Type(a.dtype, a.shape[:1])])
        for w in (found.real, found.imag)
    )
    return real, imag, u, v


def _vectors(found: Decomposed) -> Parts:
    """The eigenvectors, of length 1, by back substitution: n steps of 40 small operators and four products."""
    triangle, basis = _complex_schur(found)
    vectors = product(basis, _substituted(triangle, Parts(found.real, found.imag)))
    length = _lengths(vectors)
    return Parts(*(op.Div(p, length, types=[found.t.type]) for p in vectors))


def _lengths(vectors: tuple[Array, Array]) -> Array:
    """The lengths of columns, [..., 1, n]; 1 for that of zeros."""
    u, v = vectors
    return op.Sqrt(op.ReduceSum(op.Add(op.Mul(u, u), op.Mul(v, v)), [-2], keepdims=1))


def _complex_schur(found: Decomposed) -> tuple[Parts, Parts]:
    """The triangle G^H T G and S G: a block of two of T, [[a, b], [c, d]], has the eigenvector (w - d, c)."""
    t = found.t
    numbers = counting(t, 0)
    rows, columns = op.Unsqueeze(numbers, [1]), op.Unsqueeze(numbers, [0])
    is_below = op.Equal(columns, rows - 1)
    below = op.ReduceSum(op.Where(is_below, t, 0.0), [0], keepdims=0)
    starts = op.Not(op.Equal(below, 0.0))
    after = op.Slice(op.Pad(op.Squeeze(_diagonal(t), [1]), [0, 1]), [1], [2**62], [0], types=[found.real.type])
    x, y = op.Where(starts, found.real - after, 1.0), op.Where(starts, found.imag, 0.0)
    length = ELEMENTWISE["hypot"](ELEMENTWISE["hypot"](x, y), below)
    x, y, c = (op.Div(p, length) for p in (x, y, below))
    first = [op.Where(starts, p, 0.0) for p in (x, y)]
    second = [op.Slice(op.Pad(p, [1, 0]), [0], [-1], [0], types=[p.type]) for p in first]
    ends = op.Slice(op.Pad(starts, [1, 0]), [0], [-1], [0], types=[starts.type])
    on_it = op.Where(ends, second[0], x), op.Where(ends, op.Neg(second[1]), y)
    aside = op.Where(is_below, op.Unsqueeze(c, [0]), op.Where(op.Equal(rows, columns - 1), op.Unsqueeze(-c, [1]), 0.0))
    here = on_diagonal(t)
    turn = Parts(op.Where(here, op.Unsqueeze(on_it[0], [0]), aside), op.Where(here, op.Unsqueeze(on_it[1], [0]), 0.0))
    nothing = zeros_like(t)
    triangle = product(turned(turn), product((t, nothing), turn))
    return Parts(*(upper(p) for p in triangle)), product((found.s, nothing), turn)


def _diagonal(t: Array) -> Array:
    return op.ReduceSum(op.Where(on_diagonal(t), t, 0.0), [-1], keepdims=1)


def _substituted(triangle: Parts, values: Parts) -> Parts:
    """The eigenvectors of a triangle with these values on its diagonal, the last element of each 1.

    Values that are equal are taken to differ by a unit in the last place, as LAPACK's trevc does.
    """
    t = triangle.real
    numbers, n = counting(t, 0), scalar(size(t, 0))
    limits = float_limits(t)
    sizes_of = op.Add(op.Abs(values.real), op.Abs(values.imag))
    least = op.Max(sizes_of * float(limits.eps), float(limits.tiny) / float(limits.eps) * op.Cast(n, to=t.dtype))

    def step(j: Array, x: Array, y: Array) -> tuple[list[Array], list[Array]]:
        place = n - 1 - j
        at, behind = op.Equal(numbers, place), numbers > place
        row = Parts(*(op.Unsqueeze(op.Where(behind, op.Gather(p, place, axis=0), 0.0), [0]) for p in triangle))
        share = Parts(*(op.Squeeze(op.Neg(p), [0]) for p in product(row, (x, y))))
        gap = Parts(*(op.Sub(op.Gather(p, place, axis=0), p) for p in values))
        is_none = op.Add(op.Abs(gap.real), op.Abs(gap.imag)) < least
        found = quotient(*share, op.Where(is_none, least, gap.real), op.Where(is_none, 0.0, gap.imag))
        lines = op.Where(at, 1.0, op.Where(behind, found[0], 0.0)), op.Where(behind, found[1], 0.0)
        index = op.Unsqueeze(place, [0, 1])
        return [op.ScatterND(p, index, op.Unsqueeze(q, [0])) for p, q in zip((x, y), lines, strict=True)], []

    return Parts(*loop(n, step, [identity_like(t), zeros_like(t)]))


@rrule(general_eigen)
def _general_eigen(a: Array) -> tuple[Eigen, Pullback]:
    """No tangent: `values_with` and `vectors_with` take the matrix itself for theirs."""
    return general_eigen(a), lambda _: (None,)


@primitive
def values_with(x: Array, y: Array, real: Array, imag: Array, u: Array, v: Array) -> tuple[Array, Array]:
    """The eigenvalues of X + i Y, with their derivative."""
    return op.Identity(real), op.Identity(imag)


@rrule(values_with)
def _values_with(
    x: Array, y: Array, real: Array, imag: Array, u: Array, v: Array
) -> tuple[tuple[Array, Array], Pullback]:
    """dA = V^-H diag(dw) V^H (Giles 2008, 3.1). Infinite or NaN where there is no basis of eigenvectors."""
    found = values_with(x, y, real, imag, u, v)
    vectors = Parts(*vectors_with(x, y, real, imag, u, v))

    def pullback(cotangents: tuple[Array, Array]) -> tuple[Array | None, ...]:
        (a, b), (p, q) = (op.Unsqueeze(c, [-1]) for c in cotangents), turned(vectors)
        share = Parts(op.Sub(op.Mul(a, p), op.Mul(b, q)), op.Add(op.Mul(a, q), op.Mul(b, p)))
        return (*solved(turned(vectors), share), None, None, None, None)

    return found, pullback


@primitive
def vectors_with(x: Array, y: Array, real: Array, imag: Array, u: Array, v: Array) -> tuple[Array, Array]:
    """The eigenvectors of X + i Y, with a derivative that is right for what lengths and phases do not change."""
    return op.Identity(u), op.Identity(v)


@rrule(vectors_with)
def _vectors_with(
    x: Array, y: Array, real: Array, imag: Array, u: Array, v: Array
) -> tuple[tuple[Array, Array], Pullback]:
    """dA = V^-H (K / conj(w_j - w_i)) V^H with K = V^H dV, 0 on its diagonal (Giles 2008, 3.1).

    The vectors of values that differ by no more than n units in the last place of the largest have no derivative:
    infinite or NaN, unless both have the cotangent 0.
    """
    vectors = Parts(*vectors_with(x, y, real, imag, u, v))
    values = Parts(*values_with(x, y, real, imag, u, v))

    def pullback(cotangents: tuple[Array, Array]) -> tuple[Array | None, ...]:
        k = product(turned(vectors), cotangents)
        gap = Parts(*(op.Sub(op.Unsqueeze(w, [-2]), op.Unsqueeze(w, [-1])) for w in values))
        is_near, here = _is_near(gap, values), on_diagonal(x)
        safe = op.Where(op.Or(is_near, here), 1.0, gap.real), op.Where(op.Or(is_near, here), 0.0, gap.imag)
        undefined = op.Add(*map(loud_pairs, cotangents))
        apart = quotient(*k, safe[0], op.Neg(safe[1]))
        inner = Parts(*(op.Where(here, 0.0, op.Where(is_near, undefined, p)) for p in apart))
        return (*solved(turned(vectors), product(inner, turned(vectors))), None, None, None, None)

    return (vectors.real, vectors.imag), pullback


def _is_near(gap: Parts, values: Parts) -> Array:
    """Where two values are at most n units in the last place of the largest apart."""
    largest = op.ReduceMax(op.Max(op.Abs(values.real), op.Abs(values.imag)), [-1], keepdims=1)
    units = op.Cast(size(gap.real, -1), to=gap.real.dtype) * float(float_limits(gap.real).eps)
    bound = op.Unsqueeze(op.Mul(largest, units), [-1])
    return op.And(op.Abs(gap.real) <= bound, op.Abs(gap.imag) <= bound)


def general_pairs(a: Array) -> tuple[Array, Array, Array, Array]:
    """`general_eigen` of real matrices, with derivatives."""
    found = general_eigen(a)
    given = (a, zeros_like(a), *found)
    return (*values_with(*given), *vectors_with(*given))


@implements(np.linalg.eig)
def eig(a: Any) -> EigResult:
    """Eigenvalues, in LAPACK's order, and eigenvectors of length 1, in columns.

    Real where all eigenvalues are, as in NumPy: that is a branch. Each vector's element of largest absolute value is
    real and positive, where LAPACK's signs are arbitrary. The derivative of the vectors of equal eigenvalues is
    infinite or NaN: there is none.
    """
    real, imag, u, v = general_pairs(_real_square(a, "eig"))
    length = _lengths((u, v))
    vectors = in_phase(Parts(*(op.Div(p, length, types=[u.type]) for p in (u, v))))
    if is_zero(imag):
        return EigResult(real, vectors.real)
    return EigResult(whole((real, imag)), whole(vectors))


@implements(np.linalg.eigvals)
def eigvals(a: Any) -> Array:
    """Eigenvalues, in LAPACK's order; real where all are, as in NumPy: that is a branch."""
    real, imag, _, _ = general_pairs(_real_square(a, "eigvals"))
    if is_zero(imag):
        return real
    return whole((real, imag))


def _real_square(a: Any, name: str) -> Array:
    if holds_complex(a):
        raise refused(f"np.linalg.{name}")
    (found,) = square(a)
    return found


def is_zero(imag: Array) -> Array:
    """Whether there is no imaginary part: a branch of the program."""
    found: Array = FUNCTIONS[np.all](op.Equal(imag, 0.0))
    return found
