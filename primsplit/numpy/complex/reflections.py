"""The QR factorization of complex matrices by Householder reflections."""

from collections.abc import Callable
from typing import Any

from primsplit.ir import Type
from primsplit.numpy.complex.arithmetic import quotient
from primsplit.numpy.complex.matrices import (
    Parts,
    difference,
    interleaved,
    interleaved_rows,
    of_rows,
    product,
    times,
    turned,
)
from primsplit.numpy.dense.loop import counting, cut, identity_like, loop, lower, on_diagonal, scalar, size, upper
from primsplit.numpy.dense.qr import scale_of
from primsplit.numpy.dense.triangular import solve_triangular
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import zeros_like
from primsplit.tracing.calls.primitive import primitive, rrule

QR = tuple[Array, Array, Array, Array]
"""The parts of Q and those of R."""


@primitive
def tall_qr(x: Array, y: Array) -> QR:
    """Q [..., m, n] and R [..., n, n] with Q R = X + i Y, for m >= n; R has a real diagonal, of LAPACK's signs.

    The reflections of LAPACK's zlarfg, I - conj(tau) v v^H, not blocked: 16 m n^2 operations.
    """
    numbers, scale = op.Unsqueeze(counting(x, -2), [1]), scale_of(x, y)
    x, y = (op.Div(p, scale, types=[p.type]) for p in (x, y))

    def forth(i: Array, x: Array, y: Array) -> tuple[list[Array], list[Array]]:
        place, here = op.Unsqueeze(i, [0]), op.Equal(numbers, i)
        column = Parts(op.Gather(x, place, axis=-1), op.Gather(y, place, axis=-1))
        head = Parts(*(op.Gather(p, place, axis=-2) for p in column))
        tail = Parts(*(op.Where(op.Greater(numbers, i), p, 0.0) for p in column))
        vector, tau = _reflector(head, tail, here)
        scaled = times(vector, Parts(tau.real, op.Neg(tau.imag)))
        return [*difference((x, y), product(scaled, product(turned(vector), (x, y))))], [*vector, *times(vector, tau)]

    x, y, *stacked = loop(scalar(size(x, -1)), forth, [x, y])
    last = op.Sub(scalar(size(stacked[0], 0)), 1)

    def back(i: Array, p: Array, q: Array) -> tuple[list[Array], list[Array]]:
        vx, vy, wx, wy = (op.Gather(s, op.Sub(last, i), axis=0) for s in stacked)
        return [*difference((p, q), product((wx, wy), product(turned((vx, vy)), (p, q))))], []

    start = identity_like(x)
    left, left_imag = loop(scalar(size(stacked[0], 0)), back, [start, zeros_like(start)])
    real, imaginary = (upper(cut(p, 0, size(p, -1), -2)) for p in (x, y))
    square = Type(x.dtype, (*x.shape[:-2], x.shape[-1], x.shape[-1]))
    return (
        left,
        left_imag,
        op.Mul(real, scale, types=[square]),
        op.Where(on_diagonal(imaginary), 0.0, op.Mul(imaginary, scale), types=[square]),
    )


def _reflector(head: Parts, tail: Parts, here: Array) -> tuple[Parts, Parts]:
    """v and tau of the reflection that takes (head, tail) to (beta, 0), beta real; tau = 0 where they are that.

    beta = -sign(Re head) |(head, tail)|, v = (1, tail / (head - beta)), tau = (beta - head) / beta.
    """
    (a, b), (c, d) = head, tail
    rest = op.ReduceSum(op.Add(op.Mul(c, c), op.Mul(d, d)), [-2], keepdims=1)
    none = op.And(op.Equal(rest, 0.0), op.Equal(b, 0.0))
    length = op.Sqrt(op.Add(op.Add(op.Mul(a, a), op.Mul(b, b)), rest))
    beta = op.Where(none, 1.0, op.Where(op.GreaterOrEqual(a, 0.0), op.Neg(length), length))
    gap = op.Where(none, 1.0, op.Sub(a, beta))
    real, imaginary = quotient(c, d, gap, b)
    tau = Parts(op.Where(none, 0.0, op.Div(op.Neg(gap), beta)), op.Div(op.Neg(b), beta))
    return Parts(op.Where(here, 1.0, real), op.Where(here, 0.0, imaginary)), tau


@rrule(tall_qr)
def _tall_qr(x: Array, y: Array) -> tuple[QR, Callable[..., Any]]:
    """dA = (dQ + Q M) R^-H; M is Hermitian, its lower triangle that of R dR^H - dQ^H Q, its diagonal real.

    From Q^H dQ + dR R^-1 = Q^H dA R^-1, a skew-Hermitian matrix and a triangle with a real diagonal, as for real
    matrices (Seeger, Hetzel, Dai, Meissner and Lawrence, Auto-differentiating linear algebra, 2017). A has full column
    rank; else inf or NaN.
    """
    q, q_imag, r, r_imag = tall_qr(x, y)
    left, right = Parts(q, q_imag), Parts(r, r_imag)

    def pullback(cotangents: QR) -> tuple[Array, Array]:
        dq, dr = Parts(*cotangents[:2]), Parts(*(upper(p) for p in cotangents[2:]))
        m = difference(product(right, turned(dr)), product(turned(dq), left))
        below = Parts(lower(m.real, -1), lower(m.imag, -1))
        above = turned(below)
        diagonal = op.Where(on_diagonal(m.real), m.real, 0.0)
        mirrored = Parts(op.Add(op.Add(below.real, above.real), diagonal), op.Add(below.imag, above.imag))
        more = product(left, mirrored)
        found = turned(_solved(right, turned(Parts(op.Add(dq.real, more.real), op.Add(dq.imag, more.imag)))))
        return op.Identity(found.real, types=[x.type]), op.Identity(found.imag, types=[y.type])

    return (q, q_imag, r, r_imag), pullback


def _solved(r: Parts, b: Parts) -> Parts:
    """The solution of R X = B for an upper triangle R with a real diagonal."""
    return of_rows(solve_triangular(interleaved(r), interleaved_rows(b), lower=False))
