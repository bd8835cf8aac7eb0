"""The roots of a polynomial, which are the eigenvalues of its companion matrix, and the polynomial of a matrix."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.ir import Type
from primsplit.numpy.axes import END, reaching, slab
from primsplit.numpy.complex.arithmetic import quotient
from primsplit.numpy.complex.dispatch import offers
from primsplit.numpy.complex.general import complex_eigen, eigenvalues, general_eigen, is_zero
from primsplit.numpy.complex.matrices import Parts, difference, product, times, whole
from primsplit.numpy.complex.operands import as_complex, holds_complex
from primsplit.numpy.creation import asarray
from primsplit.numpy.dense.loop import counting, scan, size
from primsplit.numpy.linear.operands import square
from primsplit.numpy.polynomials import coefficients
from primsplit.numpy.refusing import ENDLESS, refusing
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.tracing.array import FUNCTIONS, Array, implements
from primsplit.tracing.broadcasting import swapped, zeros_like
from primsplit.tracing.calls.primitive import primitive, rrule

Two = tuple[Array, Array]
"""Real and imaginary parts of numbers."""


@offers(np.roots)
@implements(np.roots)
def roots(p: Any) -> Array:
    """The roots of the polynomial with coefficients p, highest power first; real where all are, as in NumPy.

    NaN where the first coefficient is 0 when the program runs: NumPy then returns fewer roots. A run fails where a
    quotient by the first coefficient is NaN or infinite. Raises ShapeError for more than one axis.
    """
    if not holds_complex(p):
        real = coefficients(p)
        real = real if real.type.is_float else cast_to(real, np.float64)
        first, rest = _first_and_rest(real)
        row = _quotients(op.Neg(op.Div(rest, first)), rest, op.Equal(first, 0.0))
        matrix = _companion(op.Equal(real, 0.0), row)
        found = Parts(*roots_with(real, zeros_like(real), *general_eigen(matrix)[:2]))
        return found.real if is_zero(found.imag) else whole(found)
    z = as_complex(p)
    given = Parts(*(coefficients(q) for q in (z.real, z.imag)))
    (a, c), (b, d) = map(_first_and_rest, given)
    is_fewer = op.And(op.Equal(a, 0.0), op.Equal(b, 0.0))
    parts = zip(quotient(c, d, a, b), (c, d), strict=True)
    row, beside = (_quotients(op.Neg(q), rest, is_fewer) for q, rest in parts)
    matrix = _companion(op.And(*(op.Equal(q, 0.0) for q in given)), row)
    imag = op.Where(op.Equal(op.Unsqueeze(counting(matrix, 0), [1]), 0), beside, op.Mul(matrix, 0.0))
    return whole(roots_with(*given, *complex_eigen(matrix, imag)[:2]))


def _first_and_rest(p: Array) -> tuple[Array, Array]:
    return op.Slice(p, [0], [1], [0]), op.Slice(p, [1], [END], [0])


def _quotients(row: Array, rest: Array, is_fewer: Array) -> Array:
    """The first row of a companion matrix; a run fails, as NumPy's, where it is not finite.

    Where the first coefficient is 0 it `is_fewer`: of numbers, NumPy has roots of another row.
    """
    return _of_finite(row, op.Or(op.IsNaN(rest), op.And(op.Not(is_fewer), _is_endless(row))))


def _of_finite(x: Array, is_wrong: Array) -> Array:
    found: Array = refusing(x, is_wrong, np.linalg.LinAlgError(ENDLESS))
    return found


def _is_endless(x: Array) -> Array:
    answer: Array = op.Or(op.IsNaN(x), op.IsInf(x))
    return answer


def _companion(are_zero: Array, row: Array) -> Array:
    """The matrix with this first row and ones below the diagonal, from which coefficients are 0.

    There is no one in the rows of roots that are 0 for last coefficients of 0: NumPy puts these roots last.
    """
    rows, columns = op.Unsqueeze(counting(row, 0), [1]), op.Unsqueeze(counting(row, 0), [0])
    last = op.ArgMax(op.Cast(op.Not(are_zero), to=np.int32), axis=0, keepdims=0, select_last_index=1)
    below = op.And(op.Equal(rows, columns + 1), op.Less(rows, last))
    return op.Where(op.Equal(rows, 0), row, op.Where(below, np.ones((), row.dtype), 0))


@primitive
def roots_with(x: Array, y: Array, real: Array, imag: Array) -> Two:
    """The roots of the polynomial with coefficients X + i Y, with their derivative."""
    return op.Identity(real), op.Identity(imag)


@rrule(roots_with)
def _roots_with(x: Array, y: Array, real: Array, imag: Array) -> tuple[Two, Callable[..., Any]]:
    """dr = -sum dp_k r^(n - k) / p'(r), since p(r) = 0. Infinite or NaN at a root of more than one."""
    found = Parts(*roots_with(x, y, real, imag))
    powers = _powers(found, x)
    degree = op.Sub(op.Cast(size(x, 0), to=x.dtype), 1)
    weights = (op.Mul(q, op.Sub(degree, op.Cast(counting(q, 0), to=x.dtype))) for q in (x, y))
    lines = Parts(*(op.Unsqueeze(op.Slice(w, [0], [-1], [0]), [0]) for w in weights))
    slope = product(lines, Parts(*(op.Slice(q, [1], [END], [0]) for q in powers)))

    def pullback(cotangents: Two) -> tuple[Array | None, ...]:
        a, b = quotient(*(op.Unsqueeze(c, [0]) for c in cotangents), slope.real, op.Neg(slope.imag))
        shares = product((powers.real, op.Neg(powers.imag)), (swapped(a), swapped(b)))
        return (*(op.Neg(op.Squeeze(p, [1], types=[x.type])) for p in shares), None, None)

    return (found.real, found.imag), pullback


def _powers(r: Parts, p: Array) -> Parts:
    """r^(n - k) in row k, for each of the coefficients."""

    def step(x: Array, y: Array, _: Array) -> tuple[list[Array], list[Array]]:
        return list(times((x, y), r)), [x, y]

    one = op.Add(op.Mul(r.real, 0.0), 1.0)
    return Parts(*scan(step, [one, op.Mul(one, 0.0)], [p], backward=True)[2:])


_of_zeros = FUNCTIONS[np.poly]


@implements(np.poly, replace=True)
def poly(seq_of_zeros: Any) -> Array:
    """The monic polynomial with these zeros, one step for each; of a square matrix its characteristic polynomial."""
    zeros = asarray(seq_of_zeros)
    if zeros.ndim != 2:
        found: Array = _of_zeros(zeros)
        return found
    (a,) = square(zeros)
    a = _of_finite(reaching(a, 0, 1), _is_endless(a))
    values = eigenvalues(a)
    pads = op.Concat(np.zeros(1, np.int64), size(a, 0), axis=0)
    one = np.ones(1, a.dtype)
    first = op.Pad(one, pads, types=[Type(a.dtype, (a.shape[0] + 1,))])

    def step(p: Array, q: Array, u: Array, v: Array) -> tuple[list[Array], list[Array]]:
        r, s = (slab(op.Concat(np.zeros(1, a.dtype), x, axis=0), 0, 0, -1) for x in (p, q))
        return list(difference((p, q), times((r, s), (u, v)))), []

    return scan(step, [first, op.Mul(first, 0.0)], list(values))[0]
