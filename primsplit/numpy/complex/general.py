"""Eigenvalues and eigenvectors of matrices that need not be symmetric: np.linalg.eig and eigvals."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from primsplit.ir import Type
from primsplit.numpy.approximations.limits import float_limits
from primsplit.numpy.complex.arithmetic import quotient
from primsplit.numpy.complex.dispatch import offers
from primsplit.numpy.complex.hermitian import in_phase
from primsplit.numpy.complex.matrices import Parts, product, square_parts, times, turned, whole
from primsplit.numpy.complex.operands import holds_complex
from primsplit.numpy.complex.systems import inverse, solved
from primsplit.numpy.complex.triangles import Triangular, eigenvectors, lengths, of_complex, of_real
from primsplit.numpy.dense.loop import loop, on_diagonal, scalar, size, sizes
from primsplit.numpy.dense.symmetric import loud_pairs
from primsplit.numpy.linear.operands import square
from primsplit.numpy.units import nan_where
from primsplit.ops import op
from primsplit.tracing.array import FUNCTIONS, Array, implements
from primsplit.tracing.broadcasting import expand_to, zeros_like
from primsplit.tracing.calls.primitive import primitive, rrule

Eigen = tuple[Array, Array, Array, Array]
"""The parts of eigenvalues [..., n], and of eigenvectors [..., n, n] in columns."""
Pullback = Callable[..., Any]


class EigResult(NamedTuple):
    """The result of np.linalg.eig."""

    eigenvalues: Array
    eigenvectors: Array


@primitive
def general_eigen(a: Array) -> Eigen:
    """The parts of the eigenvalues [..., n] and of the eigenvectors, in columns, of matrices [..., n, n].

    The eigenvalues are in the order in which LAPACK finds them up to n = 75, but for matrices whose iteration hangs on
    rounding. Vectors have length 1. NaN where a matrix is not finite. Matrices are worked on one after another; one of
    10 rows takes some milliseconds, one of 30 a tenth of a second: see the parts in `dense/general/`.
    """
    return _one_by_one(of_real, a)


@primitive
def complex_eigen(x: Array, y: Array) -> Eigen:
    """`general_eigen` of X + i Y, which takes half as long again: see `schur` and `hessenberg`."""
    return _one_by_one(of_complex, x, y)


def _one_by_one(made: Callable[..., Triangular], *given: Array) -> Eigen:
    """The eigenvalues and eigenvectors of each matrix of stacks."""
    a = given[0]
    batch = len(a.shape) - 2
    if not batch:
        return _of_one(made(*given), a)
    count = op.ReduceProd(sizes(a, 0, batch), keepdims=1)
    flat = [op.Reshape(p, op.Concat(count, sizes(a, batch), axis=0)) for p in given]
    one = Type(a.dtype, a.shape[batch:])

    def step(i: Array) -> tuple[list[Array], list[Array]]:
        return [], list(_of_one(made(*(op.Gather(p, i, axis=0, types=[one]) for p in flat)), flat[0]))

    found = loop(scalar(size(flat[0], 0)), step, [])
    line, shape = Type(a.dtype, a.shape[:-1]), sizes(a, 0, batch + 1)
    real, imag = (op.Reshape(p, shape, types=[line]) for p in found[:2])
    u, v = (op.Reshape(p, sizes(a), types=[a.type]) for p in found[2:])
    return real, imag, u, v


def _of_one(found: Triangular, a: Array) -> Eigen:
    """Of one matrix, of the sizes of the last axes of `a`."""
    square_ = Type(a.dtype, a.shape[-2:])
    scale = op.Squeeze(found.scale, [0, 1])
    u, v = (op.Add(p, found.defect, types=[square_]) for p in eigenvectors(found))
    line = Type(a.dtype, a.shape[-1:])
    real, imag = (op.Add(op.Mul(w, scale), found.defect, types=[line]) for w in found.values)
    return real, imag, u, v


@rrule(general_eigen)
def _general_eigen(a: Array) -> tuple[Eigen, Pullback]:
    """No tangent: `values_with` and `vectors_with` take the matrix itself for theirs."""
    return general_eigen(a), lambda _: (None,)


@rrule(complex_eigen)
def _complex_eigen(x: Array, y: Array) -> tuple[Eigen, Pullback]:
    """No tangent, as `general_eigen` has none."""
    return complex_eigen(x, y), lambda _: (None, None)


@primitive
def values_with(x: Array, y: Array, real: Array, imag: Array, u: Array, v: Array) -> tuple[Array, Array]:
    """The eigenvalues of X + i Y, with their derivative."""
    return op.Identity(real), op.Identity(imag)


@rrule(values_with)
def _values_with(
    x: Array, y: Array, real: Array, imag: Array, u: Array, v: Array
) -> tuple[tuple[Array, Array], Pullback]:
    """dA = V^-H diag(dw) V^H (Giles 2008, 3.1). NaN where there is no basis of eigenvectors.

    The values of such a matrix, [[1, 1], [0, 1]] say, have infinite slopes. In the derivative of their symmetric
    functions these cancel, and leave a part that neither the values nor the vectors know.
    """
    found = values_with(x, y, real, imag, u, v)
    vectors = Parts(*vectors_with(x, y, real, imag, u, v))

    def pullback(cotangents: tuple[Array, Array]) -> tuple[Array | None, ...]:
        undefined = expand_to(_are_dependent(vectors), cotangents[0].shape)
        a, b = (op.Unsqueeze(nan_where(undefined, c), [-1]) for c in cotangents)
        return (*solved(turned(vectors), times((a, b), turned(vectors))), None, None, None, None)

    return found, pullback


def _are_dependent(vectors: Parts) -> Array:
    """Return [..., 1]: whether columns of length 1 have no full rank, but for rounding."""
    total = op.ReduceSum(op.Add(*map(op.Abs, inverse(vectors))), [-2, -1], keepdims=0)
    return op.Unsqueeze(op.Not(op.Less(op.Mul(total, 64 * float(float_limits(total).eps)), 1.0)), [-1])


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
    """Return where two values are at most n units in the last place of the largest apart."""
    largest = op.ReduceMax(op.Max(op.Abs(values.real), op.Abs(values.imag)), [-1], keepdims=1)
    units = op.Cast(size(gap.real, -1), to=gap.real.dtype) * float(float_limits(gap.real).eps)
    bound = op.Unsqueeze(op.Mul(largest, units), [-1])
    return op.And(op.Abs(gap.real) <= bound, op.Abs(gap.imag) <= bound)


def _pairs(a: Any) -> tuple[Parts, Parts, bool]:
    """Eigenvalues and eigenvectors, with derivatives, and whether the matrices are real."""
    is_real = not holds_complex(a)
    if is_real:
        (x,) = square(a)
        given = (x, zeros_like(x), *general_eigen(x))
    else:
        (z,) = square_parts(a)
        given = (*z, *complex_eigen(*z))
    return Parts(*values_with(*given)), Parts(*vectors_with(*given)), is_real


@offers(np.linalg.eig)
@implements(np.linalg.eig)
def eig(a: Any) -> EigResult:
    """Eigenvalues, in LAPACK's order, and eigenvectors of length 1, in columns.

    Real where all eigenvalues of a real matrix are, as in NumPy: that is a branch. Each vector's element of largest
    absolute value is real and positive, where LAPACK's phases are arbitrary. The derivative of the vectors of equal
    eigenvalues is infinite or NaN: there is none.
    """
    values, found, is_real = _pairs(a)
    length = lengths(found)
    vectors = in_phase(Parts(*(op.Div(p, length, types=[p.type]) for p in found)))
    if is_real and is_zero(values.imag):
        return EigResult(values.real, vectors.real)
    return EigResult(whole(values), whole(vectors))


@offers(np.linalg.eigvals)
@implements(np.linalg.eigvals)
def eigvals(a: Any) -> Array:
    """Eigenvalues, in LAPACK's order; real where all of a real matrix are, as in NumPy: that is a branch."""
    values, _, is_real = _pairs(a)
    return values.real if is_real and is_zero(values.imag) else whole(values)


def is_zero(imag: Array) -> Array:
    """Return whether all imaginary parts are 0; the answer is a branch of the program."""
    found: Array = FUNCTIONS[np.all](op.Equal(imag, 0.0))
    return found


def eigenvalues(a: Any) -> Parts:
    """The parts of the eigenvalues."""
    return _pairs(a)[0]
