"""The QR iteration for complex matrices with single shifts, as in LAPACK's lahqr up to phases.

J. G. F. Francis, The QR transformation, Comput. J. 4 (1961) 265-271 and (1962) 332-345. LAPACK keeps the elements below
the diagonal real, by phases that change no eigenvalue; here they stay complex.
"""

from typing import NamedTuple

import numpy as np

from primsplit.numpy.approximations.limits import float_limits
from primsplit.numpy.complex.arithmetic import quotient
from primsplit.numpy.complex.hessenberg import reflection
from primsplit.numpy.complex.matrices import Parts, difference, halved, times
from primsplit.numpy.dense.general.francis import EXCEPTIONAL, MOST, PATIENCE, is_as_good_as_0, last_place
from primsplit.numpy.dense.loop import counting, identity_like, loop, scalar, size, until
from primsplit.numpy.ufuncs import ELEMENTWISE
from primsplit.ops import op
from primsplit.tracing.array import Array

PLACES = ((0, 0), (-1, -1), (1, 1), (0, -1), (-1, -2), (1, 0), (-1, 0))
"""The row and the column, from k on, of the numbers in `Near`."""


class Near(NamedTuple):
    """The elements of H's three diagonals that a step reads: for each k one row of [n], 0 beyond the ends."""

    d: Parts
    d_before: Parts
    d_after: Parts
    below: Parts
    """H[k, k-1]."""
    below_before: Parts
    below_after: Parts
    above: Parts
    """H[k-1, k]."""

    def at(self, k: Array) -> "Near":
        """The numbers at one k."""
        return Near(*(Parts(*(op.Gather(p, k, axis=0) for p in z)) for z in self))


class Schur(NamedTuple):
    """T and Z with H = Z T Z^H, T a triangle, and whether the iteration came to its end."""

    t: Parts
    z: Parts
    is_settled: Array


def schur(h: Parts, low: Array, high: Array) -> Schur:
    """The Schur form of a Hessenberg matrix [n, n] of finite numbers, a triangle outside of low .. high.

    About 2.5 n steps of 200 small operators, with up to n turns of 80 operators and a copy of four n by n matrices
    each.
    """
    n = size(h.real, 0)
    index, is_inside = _places(h.real)
    rows = high - low + 1
    floor = op.Cast(rows, to=h.real.dtype) * float(float_limits(h.real).tiny / float_limits(h.real).eps)
    most = op.Max(rows, 10) * PATIENCE

    def step(x: Array, y: Array, end: Array, idle: Array) -> list[Array]:
        near = _near(Parts(x, y), index, is_inside)
        start = _start_of_block(near, low, end, floor)
        whole = _with_zero_before(Parts(x, y), start)
        is_found = start >= end
        first, vector = _first_vector(near, _shift(near, start, end, idle + 1), start, end)
        whole = _chased(whole, first, vector, op.Where(is_found, first, end))
        return [*whole, op.Where(is_found, end - 1, end), op.Where(is_found, 0, idle + 1)]

    def is_settled(x: Array, y: Array, end: Array, idle: Array) -> Array:
        return op.Or(end < low, idle > most)

    begun = op.Concat(h.real, identity_like(h.real), axis=0), op.Concat(h.imag, op.Mul(h.imag, 0.0), axis=0)
    x, y, end, _ = until(is_settled, step, [*begun, high, high * 0], MOST)
    t = Parts(*(op.Slice(p, [0], n, [0], types=[h.real.type]) for p in (x, y)))
    z = Parts(*(op.Slice(p, n, n * 2, [0], types=[h.real.type]) for p in (x, y)))
    return Schur(t, z, end < low)


def _places(h: Array) -> tuple[Array, Array]:
    """Return where the numbers of `Near` lie in the flat matrix, int64 [7, n], and which of them lie inside it."""
    n, k = scalar(size(h, 0)), counting(h, 0)
    found = []
    for row, column in PLACES:
        i, j = k + row, k + column
        is_inside = op.And(op.Min(i, j) >= 0, op.Max(i, j) < n)
        found.append((op.Unsqueeze(op.Where(is_inside, i * n + j, 0), [0]), op.Unsqueeze(is_inside, [0])))
    return op.Concat(*(f[0] for f in found), axis=0), op.Concat(*(f[1] for f in found), axis=0)


def _near(whole: Parts, index: Array, is_inside: Array) -> Near:
    read = [op.Where(is_inside, op.Gather(op.Reshape(p, [-1]), index, axis=0), 0.0) for p in whole]
    split = (op.Split(p, axis=0, num_outputs=len(PLACES)) for p in read)
    return Near(*(Parts(*(op.Squeeze(p, [0]) for p in both)) for both in zip(*split, strict=True)))


def _size(z: Parts) -> Array:
    """The sum of the sizes of both parts."""
    return op.Abs(z.real) + op.Abs(z.imag)


def _modulus(z: Parts) -> Array:
    found: Array = ELEMENTWISE["hypot"](*z)
    return found


def _start_of_block(near: Near, low: Array, end: Array, floor: Array) -> Array:
    """The last row, up to `end`, before which the element below the diagonal is as good as 0; else `low`."""
    below, above, d = _modulus(near.below), _modulus(near.above), _size(near.d)
    around = _size(near.d_before) + d
    around = op.Where(op.Equal(around, 0.0), _modulus(near.below_before) + _modulus(near.below_after), around)
    gap = _size(difference(near.d_before, near.d))
    return last_place(is_as_good_as_0(below, above, d, gap, around, floor), low, end)


def _with_zero_before(whole: Parts, start: Array) -> Parts:
    """The matrix with H[start, start - 1] = 0, where start is not 0."""
    rows, columns = op.Unsqueeze(counting(whole.real, 0), [1]), op.Unsqueeze(counting(whole.real, 1), [0])
    here = op.And(op.Equal(rows, start), op.Equal(columns, start - 1))
    return Parts(*(op.Where(here, 0.0, p, types=[p.type]) for p in whole))


def _shift(near: Near, start: Array, end: Array, count: Array) -> Parts:
    """Wilkinson's: of the last two rows' eigenvalues that nearer to the last element; others where it led nowhere."""
    last, first = near.at(end), near.at(start)
    is_late = op.Equal(op.Mod(count, EXCEPTIONAL), 0)
    is_last = op.Equal(op.Mod(count, 2 * EXCEPTIONAL), 0)
    step = 0.75 * op.Where(is_last, _modulus(last.below), _modulus(first.below_after))
    other = Parts(*(op.Where(is_last, p, q) for p, q in zip(last.d, first.d, strict=True)))
    half = Parts(*(0.5 * p for p in difference(last.d_before, last.d)))
    size_of = op.Max(_size(half), op.Sqrt(_size(last.above)) * op.Sqrt(_size(last.below)))
    safe = op.Where(op.Equal(size_of, 0.0), 1.0, size_of)
    x, coupling = Parts(*(p / safe for p in half)), _scaled_product(last, safe)
    root = _root(Parts(*(op.Add(p, q) for p, q in zip(times(x, x), coupling, strict=True))))
    turn = op.Where(op.Less(x.real * root.real + x.imag * root.imag, 0.0), -1.0, np.ones((), safe.dtype))
    total = Parts(x.real + turn * root.real, x.imag + turn * root.imag)
    is_none = op.Equal(_size(total), 0.0)
    moved = quotient(*coupling, op.Where(is_none, 1.0, total.real), total.imag)
    wilkinson = Parts(*(p - safe * op.Where(is_none, 0.0, q) for p, q in zip(last.d, moved, strict=True)))
    return Parts(op.Where(is_late, other.real + step, wilkinson.real), op.Where(is_late, other.imag, wilkinson.imag))


def _scaled_product(last: Near, safe: Array) -> Parts:
    """Return the product of the two elements that couple the last two rows, divided by the square of a scale."""
    (a, b), (c, d) = last.above, last.below
    return times((a / safe, b / safe), (c / safe, d / safe))


def _root(z: Parts) -> Parts:
    """Return the square root whose real part is not negative."""
    large = op.Sqrt(0.5 * (_modulus(z) + op.Abs(z.real)))
    small = z.imag / (2.0 * op.Where(op.Equal(large, 0.0), 1.0, large))
    is_left = op.Less(z.real, 0.0)
    signed = op.Where(op.Less(z.imag, 0.0), op.Neg(large), large)
    return Parts(op.Where(is_left, op.Abs(small), large), op.Where(is_left, signed, small))


def _first_vector(near: Near, shift: Parts, start: Array, end: Array) -> tuple[Array, Array]:
    """Return the first row at which reflections may start, and the first column of H - s from there.

    The real parts of the column come before the imaginary parts.
    """
    gap = difference(near.d, shift)
    total = _size(gap) + _modulus(near.below_after)
    safe = op.Where(op.Equal(total, 0.0), 1.0, total)
    gap, below = Parts(*(p / safe for p in gap)), Parts(*(p / safe for p in near.below_after))
    bound = float(float_limits(total).eps) * _size(gap) * (_size(near.d) + _size(near.d_after))
    is_apart = _modulus(near.below) * _modulus(below) <= bound
    first = last_place(is_apart, start, end - 1)
    column = (gap.real, below.real, gap.imag, below.imag)
    return first, op.Concat(*(op.Unsqueeze(op.Gather(p, first, axis=0), [0]) for p in column), axis=0)


def _chased(whole: Parts, first: Array, vector: Array, end: Array) -> Parts:
    """The matrix after the reflections that begin with this vector at `first` and move the bulge down to `end`."""
    numbers, columns = np.arange(2), op.Unsqueeze(counting(whole.real, 1), [0])
    is_head = np.array([True, False])

    def step(j: Array, *given: Array) -> tuple[list[Array], list[Array]]:
        place = first + j
        window = place + numbers
        rows = op.Concat(*(op.Gather(p, window, axis=0) for p in given), axis=0)
        before = op.Gather(rows, op.Max(place - 1, 0), axis=1)
        is_first = op.Equal(j, 0)
        halves = op.Split(op.Where(is_first, vector, before), axis=0, num_outputs=2)
        found = reflection(is_head, Parts(*halves))
        turn = _turn(found.vector, found.tau)
        left = halved((op.Transpose(turn.real, perm=[1, 0]), op.Neg(op.Transpose(turn.imag, perm=[1, 0]))))
        turned = op.MatMul(left, rows)
        is_beta = np.array([True, False, False, False])
        started = op.Where(np.array([True, False, True, False]), op.Gather(turned, op.Max(place - 1, 0), axis=1), 0.0)
        done = op.Where(is_first, started, op.Where(is_beta, found.beta, 0.0))
        kept = op.Where(op.Equal(columns, place - 1), op.Unsqueeze(done, [1]), rows)
        rows = op.Where(op.GreaterOrEqual(columns, place), turned, kept)
        lines = op.Split(rows, axis=0, num_outputs=2)
        index = op.Unsqueeze(window, [1])
        parts = [op.ScatterND(p, index, q, types=[p.type]) for p, q in zip(given, lines, strict=True)]
        beside = op.Concat(*(op.Gather(p, window, axis=1) for p in parts), axis=1)
        right = halved((turn.real, op.Neg(turn.imag)))
        both = op.Split(op.MatMul(beside, right), axis=1, num_outputs=2)
        places = op.Expand(op.Unsqueeze(window, [0]), op.Shape(both[0]))
        return [op.ScatterElements(p, places, q, axis=1, types=[p.type]) for p, q in zip(parts, both, strict=True)], []

    return Parts(*loop(end - first, step, list(whole)))


def _turn(v: Parts, tau: Parts) -> Parts:
    """I - tau v v^H, of two rows."""
    down = Parts(*(op.Unsqueeze(p, [1]) for p in v))
    across = op.Unsqueeze(v.real, [0]), op.Neg(op.Unsqueeze(v.imag, [0]))
    found = times(times(down, across), tau)
    return Parts(op.Sub(np.eye(2, dtype=v.real.dtype), found.real), op.Neg(found.imag))
