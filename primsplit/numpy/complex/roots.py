"""The roots of a polynomial, which are the eigenvalues of its companion matrix, and the polynomial of a matrix."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.array import FUNCTIONS, Array, implements
from primsplit.calls.primitive import primitive, rrule
from primsplit.ir import Type
from primsplit.numpy.axes import END, slab
from primsplit.numpy.complex.arithmetic import quotient
from primsplit.numpy.complex.general import general_eigen, general_pairs, is_zero
from primsplit.numpy.complex.handle import refused
from primsplit.numpy.complex.matrices import Parts, whole
from primsplit.numpy.complex.operands import holds_complex
from primsplit.numpy.creation import asarray
from primsplit.numpy.dense.loop import counting, scan, size
from primsplit.numpy.linalg.operands import square
from primsplit.numpy.polynomials import coefficients
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op

Two = tuple[Array, Array]
"""Real and imaginary parts of numbers."""


@implements(np.roots)
def roots(p: Any) -> Array:
    """The roots of the polynomial with coefficients p, highest power first; real where all are, as in NumPy.

    NaN where the first coefficient is 0 when the program runs: NumPy then returns fewer roots. Raises ShapeError
    for more than one axis.
    """
    if holds_complex(p):
        raise refused("np.roots")
    given = coefficients(p)
    given = given if given.type.is_float else cast_to(given, np.float64)
    real: Array
    real, imag = roots_with(given, *general_eigen(_companion(given))[:2])
    return real if is_zero(imag) else whole((real, imag))


def _companion(p: Array) -> Array:
    """The matrix with ones below the diagonal, and the negative coefficients over the first in the first row.

    There is no one in the rows of roots that are 0 for last coefficients of 0: NumPy puts these roots last.
    """
    first, rest = op.Slice(p, [0], [1], [0]), op.Slice(p, [1], [END], [0])
    rows, columns = op.Unsqueeze(counting(rest, 0), [1]), op.Unsqueeze(counting(rest, 0), [0])
    is_there = op.Cast(op.Not(op.Equal(p, 0.0)), to=np.int32)
    last = op.ArgMax(is_there, axis=0, keepdims=0, select_last_index=1)
    below = op.And(op.Equal(rows, columns + 1), op.Less(rows, last))
    row = op.Unsqueeze(op.Neg(op.Div(rest, first)), [0])
    return op.Where(op.Equal(rows, 0), row, op.Where(below, np.ones((), p.dtype), 0))


@primitive
def roots_with(p: Array, real: Array, imag: Array) -> Two:
    """The roots of a polynomial, with their derivative."""
    return op.Identity(real), op.Identity(imag)


@rrule(roots_with)
def _roots_with(p: Array, real: Array, imag: Array) -> tuple[Two, Callable[..., Any]]:
    """dr = -sum dp_k r^(n - k) / p'(r), since p(r) = 0. Infinite or NaN at a root of more than one."""
    found = Parts(*roots_with(p, real, imag))
    powers = _powers(found, p)
    degree = op.Cast(op.Sub(size(p, 0), 1), to=p.dtype)
    weights = op.Slice(op.Mul(p, op.Sub(degree, op.Cast(counting(p, 0), to=p.dtype))), [0], [-1], [0])
    slope = [op.MatMul(weights, op.Slice(q, [1], [END], [0])) for q in powers]

    def pullback(cotangents: Two) -> tuple[Array | None, ...]:
        shares = quotient(*cotangents, slope[0], op.Neg(slope[1]))
        parts = (op.MatMul(q, op.Unsqueeze(s, [1])) for q, s in zip(powers, shares, strict=True))
        return op.Neg(op.Squeeze(op.Add(*parts), [1], types=[p.type])), None, None

    return (found.real, found.imag), pullback


def _powers(r: Parts, p: Array) -> Parts:
    """r^(n - k) in row k, for each of the coefficients."""

    def step(x: Array, y: Array, _: Array) -> tuple[list[Array], list[Array]]:
        u, v = r
        return [op.Sub(op.Mul(x, u), op.Mul(y, v)), op.Add(op.Mul(x, v), op.Mul(y, u))], [x, y]

    one = op.Add(op.Mul(r.real, 0.0), 1.0)
    return Parts(*scan(step, [one, op.Mul(one, 0.0)], [p], backward=True)[2:])


_of_zeros = FUNCTIONS[np.poly]


@implements(np.poly)
def poly(seq_of_zeros: Any) -> Array:
    """The monic polynomial with these zeros, one step for each; of a square matrix its characteristic polynomial."""
    zeros = asarray(seq_of_zeros)
    if zeros.ndim != 2:
        found: Array = _of_zeros(zeros)
        return found
    (a,) = square(zeros)
    real, imag, *_ = general_pairs(a)
    pads = op.Concat(np.zeros(1, np.int64), size(a, 0), axis=0)
    one = np.ones(1, a.dtype)
    first = op.Pad(one, pads, types=[Type(a.dtype, (a.shape[0] + 1,))])

    def step(p: Array, q: Array, u: Array, v: Array) -> tuple[list[Array], list[Array]]:
        r, s = (slab(op.Concat(np.zeros(1, a.dtype), x, axis=0), 0, 0, -1) for x in (p, q))
        found = op.Sub(p, op.Sub(op.Mul(r, u), op.Mul(s, v))), op.Sub(q, op.Add(op.Mul(r, v), op.Mul(s, u)))
        return [op.Identity(x, types=[first.type]) for x in found], []

    return scan(step, [first, op.Mul(first, 0.0)], [real, imag])[0]
