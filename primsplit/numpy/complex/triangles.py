"""Matrices as S T S^-1 with a complex triangle T, and the eigenvectors, which are substituted back from it."""

from typing import NamedTuple

import numpy as np

from primsplit.ir import Type
from primsplit.numpy.approximations.limits import float_limits
from primsplit.numpy.complex.arithmetic import quotient
from primsplit.numpy.complex.hessenberg import hessenberg
from primsplit.numpy.complex.matrices import Parts, product, turned
from primsplit.numpy.complex.schur import schur
from primsplit.numpy.dense.general.balancing import as_balanced, balanced, of_rows
from primsplit.numpy.dense.general.eigen import Decomposed, decomposed
from primsplit.numpy.dense.loop import counting, diagonal, identity_like, loop, on_diagonal, scalar, size, upper
from primsplit.numpy.dense.rotations import to_unit
from primsplit.numpy.ufuncs import ELEMENTWISE
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import zeros_like


class Triangular(NamedTuple):
    """A = S T S^-1 c, T a triangle with the eigenvalues over c on its diagonal, c a power of two."""

    triangle: Parts
    basis: Parts
    """S."""
    values: Parts
    scale: Array
    defect: Array
    """0, or NaN for a matrix that is not finite or whose iteration did not end."""


def of_real(a: Array) -> Triangular:
    """Of a real matrix [n, n]: G^H T G of a real Schur form T, a block of which, [[a, b], [c, d]], has (w - d, c)."""
    found = decomposed(a)
    t = found.t
    turn, nothing = _turn(found), zeros_like(t)
    triangle = product(turned(turn), product((t, nothing), turn))
    return Triangular(
        Parts(*(upper(p) for p in triangle)),
        product((found.s, nothing), turn),
        Parts(found.real, found.imag),
        found.scale,
        found.defect,
    )


def of_complex(x: Array, y: Array) -> Triangular:
    """Of a complex matrix [n, n], balanced as that of its moduli is."""
    both, scale = to_unit(op.Concat(x, y, axis=1))
    is_finite = op.Not(op.IsNaN(both))
    defect = op.ReduceSum(op.Where(is_finite, 0.0, both), keepdims=0)
    n = size(x, 0)
    given = (op.Slice(op.Where(is_finite, both, 0.0), s, e, [1], types=[x.type]) for s, e in ((n * 0, n), (n, n * 2)))
    z = Parts(*given)
    found = balanced(ELEMENTWISE["hypot"](*z))
    h, q = hessenberg(Parts(*(as_balanced(found, p) for p in z)), found.low, found.high)
    t, basis, is_settled = schur(h, found.low, found.high)
    missing = op.Where(is_settled, 0.0, np.asarray(np.nan, x.dtype))
    values = Parts(*(op.Squeeze(diagonal(p), [1], types=[Type(x.dtype, x.shape[:1])]) for p in t))
    whole = Parts(*(of_rows(found, p) for p in product(q, basis)))
    return Triangular(Parts(*(upper(p) for p in t)), whole, values, scale, op.Add(defect, missing))


def eigenvectors(found: Triangular) -> Parts:
    """The eigenvectors, of length 1: n steps of 40 small operators and four products."""
    vectors = product(found.basis, _substituted(found.triangle, found.values))
    length = lengths(vectors)
    return Parts(*(op.Div(p, length, types=[p.type]) for p in vectors))


def lengths(vectors: tuple[Array, Array]) -> Array:
    """The lengths of columns, [..., 1, n]."""
    u, v = vectors
    return op.Sqrt(op.ReduceSum(op.Add(op.Mul(u, u), op.Mul(v, v)), [-2], keepdims=1))


def _turn(found: Decomposed) -> Parts:
    """G: the unitary matrix that makes each block of a real Schur form a triangle."""
    t = found.t
    numbers = counting(t, 0)
    rows, columns = op.Unsqueeze(numbers, [1]), op.Unsqueeze(numbers, [0])
    is_below = op.Equal(columns, rows - 1)
    below = op.ReduceSum(op.Where(is_below, t, 0.0), [0], keepdims=0)
    starts = op.Not(op.Equal(below, 0.0))
    after = op.Slice(op.Pad(op.Squeeze(diagonal(t), [1]), [0, 1]), [1], [2**62], [0], types=[found.real.type])
    x, y = op.Where(starts, found.real - after, 1.0), op.Where(starts, found.imag, 0.0)
    length = ELEMENTWISE["hypot"](ELEMENTWISE["hypot"](x, y), below)
    x, y, c = (op.Div(p, length) for p in (x, y, below))
    first = [op.Where(starts, p, 0.0) for p in (x, y)]
    second = [op.Slice(op.Pad(p, [1, 0]), [0], [-1], [0], types=[p.type]) for p in first]
    ends = op.Slice(op.Pad(starts, [1, 0]), [0], [-1], [0], types=[starts.type])
    on_it = op.Where(ends, second[0], x), op.Where(ends, op.Neg(second[1]), y)
    aside = op.Where(is_below, op.Unsqueeze(c, [0]), op.Where(op.Equal(rows, columns - 1), op.Unsqueeze(-c, [1]), 0.0))
    here = on_diagonal(t)
    real, imag = (op.Unsqueeze(p, [0]) for p in on_it)
    return Parts(op.Where(here, real, aside), op.Where(here, imag, 0.0))


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
