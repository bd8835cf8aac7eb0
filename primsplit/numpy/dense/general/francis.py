"""The QR iteration with double shifts, as in LAPACK's lahqr, so that eigenvalues are found in the same order.

J. G. F. Francis, The QR transformation, part 2, Comput. J. 4 (1962) 332-345; when an element below the diagonal is
small enough: M. Ahues and F. Tisseur, A new deflation criterion for the QR algorithm, LAPACK Working Note 122 (1997).
"""

from typing import NamedTuple

import numpy as np

from primsplit.numpy.approximations.limits import float_limits
from primsplit.numpy.dense.general.reflection import reflection
from primsplit.numpy.dense.loop import counting, identity_like, loop, scalar, size, until
from primsplit.ops import op
from primsplit.tracing.array import Array

MOST = 2**31
"""No bound of its own: a step counts those since the last eigenvalue."""
EXCEPTIONAL = 10
"""After so many steps without a new eigenvalue the shifts are others, so that a cycle ends."""
PATIENCE = 30
"""So many steps times max(10, n) without a new eigenvalue are too many."""


class Near(NamedTuple):
    """The elements of H's three diagonals that a step reads: for each k one row of [n], 0 beyond the ends."""

    d: Array
    d_before: Array
    d_after: Array
    below: Array
    """H[k, k-1]."""
    below_before: Array
    below_after: Array
    below_second: Array
    """H[k+2, k+1]."""
    above: Array
    """H[k-1, k]."""
    above_after: Array

    def at(self, k: Array) -> "Near":
        """The numbers at one k."""
        return Near(*(op.Gather(x, k, axis=0) for x in self))


PLACES = ((0, 0), (-1, -1), (1, 1), (0, -1), (-1, -2), (1, 0), (2, 1), (-1, 0), (0, 1))
"""The row and the column of each, from k on."""


class Schur(NamedTuple):
    """T and Z with H = Z T Z^T, T triangular but for blocks of two, and whether the iteration came to its end."""

    t: Array
    z: Array
    is_settled: Array


def schur(h: Array, low: Array, high: Array) -> Schur:
    """The real Schur form of a Hessenberg matrix [n, n] of finite numbers, a triangle outside of low .. high.

    About 2.5 n steps of 150 small operators, with up to n turns of 50 operators and a copy of three n by n matrices
    each.
    """
    n = size(h, 0)
    index = _places(h)
    rows = high - low + 1
    floor = op.Cast(rows, to=h.dtype) * float(float_limits(h).tiny / float_limits(h).eps)
    most = op.Max(rows, 10) * PATIENCE

    def step(whole: Array, end: Array, idle: Array) -> list[Array]:
        near = Near(*(op.Squeeze(x, [0]) for x in op.Split(_read(whole, index), axis=0, num_outputs=len(PLACES))))
        start = _start_of_block(near, low, end, floor)
        whole = _with_zero_before(whole, start)
        is_found = start >= end - 1
        first, vector = _first_vector(near, _shift(near, start, end, idle + 1), start, end)
        whole = _chased(whole, first, vector, op.Where(is_found, first, end))
        return [whole, op.Where(is_found, start - 1, end), op.Where(is_found, 0, idle + 1)]

    def is_settled(whole: Array, end: Array, idle: Array) -> Array:
        return op.Or(end < low, idle > most)

    whole, end, _ = until(is_settled, step, [_padded(h), high, high * 0], MOST)
    t = op.Slice(whole, [0, 0], op.Concat(n, n, axis=0), [0, 1], types=[h.type])
    z = op.Slice(whole, op.Concat(n + 1, n * 0, axis=0), op.Concat(n * 2 + 1, n, axis=0), [0, 1], types=[h.type])
    return Schur(t, z, end < low)


def _padded(h: Array) -> Array:
    """H with a row and a column of zeros, and below it the unit matrix, which becomes Z: [2 n + 1, n + 1].

    A reflection then always takes three rows or columns.
    """
    pads = np.array([0, 0, 1, 1])
    beside = np.array([0, 0, 0, 1])
    return op.Concat(op.Pad(h, pads), op.Pad(identity_like(h), beside), axis=0)


def _places(h: Array) -> Array:
    """Return where the numbers of `Near` lie in the flat matrix, int64 [9, n].

    Places beyond its ends are the last corner.
    """
    n, k = scalar(size(h, 0)), counting(h, 0)

    def place(row: int, column: int) -> Array:
        i, j = k + row, k + column
        is_inside = op.And(op.Min(i, j) >= 0, op.Max(i, j) < n)
        return op.Unsqueeze(op.Where(is_inside, i * (n + 1) + j, n * (n + 2)), [0])

    return op.Concat(*(place(*p) for p in PLACES), axis=0)


def _read(whole: Array, index: Array) -> Array:
    return op.Gather(op.Reshape(whole, [-1]), index, axis=0)


def _start_of_block(near: Near, low: Array, end: Array, floor: Array) -> Array:
    """The last row, up to `end`, before which the element below the diagonal is as good as 0; else `low`."""
    d = op.Abs(near.d)
    around = op.Abs(near.d_before) + d
    further = op.Abs(near.below_before) + op.Abs(near.below_after)
    around = op.Where(op.Equal(around, 0.0), further, around)
    gap = op.Abs(near.d_before - near.d)
    return last_place(is_as_good_as_0(op.Abs(near.below), op.Abs(near.above), d, gap, around, floor), low, end)


def is_as_good_as_0(below: Array, above: Array, d: Array, gap: Array, around: Array, floor: Array) -> Array:
    """Whether elements below the diagonal are, by the sizes of what is there and around it.

    `above` are those across the diagonal, `gap` the differences of the two on it, `around` what rounding is counted by.
    """
    eps = float(float_limits(d).eps)
    most, least = op.Max(d, gap), op.Min(d, gap)
    larger, smaller = op.Max(below, above), op.Min(below, above)
    total = most + larger
    total = op.Where(op.Equal(total, 0.0), 1.0, total)
    is_small = smaller * (larger / total) <= op.Max(floor, eps * (least * (most / total)))
    return op.Or(below <= floor, op.And(below <= eps * around, is_small))


def last_place(asked: Array, low: Array, end: Array) -> Array:
    """The last place in low .. end where the answer is True, `low` where there is none."""
    numbers = counting(asked, 0)
    asked = op.And(op.And(op.Or(asked, op.Equal(numbers, low)), numbers >= low), numbers <= end)
    return op.ArgMax(op.Cast(asked, to=np.int32), axis=0, keepdims=0, select_last_index=1)


def _with_zero_before(whole: Array, start: Array) -> Array:
    """The matrix with H[start, start - 1] = 0; of the first row the column of zeros is written."""
    last = scalar(size(whole, 1)) - 1
    before = op.Where(start > 0, start - 1, last)
    place = op.Unsqueeze(op.Concat(op.Unsqueeze(start, [0]), op.Unsqueeze(before, [0]), axis=0), [0])
    return op.ScatterND(whole, place, np.zeros(1, whole.dtype), types=[whole.type])


def _shift(near: Near, start: Array, end: Array, count: Array) -> tuple[Array, Array]:
    """The parts of an eigenvalue of the last block of two, which is taken with its conjugate; a real one twice.

    Another number where that has led nowhere.
    """
    last, first = near.at(end), near.at(start)
    is_late = op.Equal(op.Mod(count, EXCEPTIONAL), 0)
    is_last = op.Equal(op.Mod(count, 2 * EXCEPTIONAL), 0)
    at_end, at_start = op.Abs(last.below) + op.Abs(last.below_before), op.Abs(first.below_after)
    size_of = op.Where(is_last, at_end, at_start + op.Abs(first.below_second))
    other = op.Where(is_last, last.d, first.d) + 0.75 * size_of
    a, d = (op.Where(is_late, other, x) for x in (last.d_before, last.d))
    b, c = op.Where(is_late, -0.4375 * size_of, last.above), op.Where(is_late, size_of, last.below)
    total = op.Abs(a) + op.Abs(b) + op.Abs(c) + op.Abs(d)
    safe = op.Where(op.Equal(total, 0.0), 1.0, total)
    a, b, c, d = (x / safe for x in (a, b, c, d))
    mean = (a + d) * 0.5
    determinant = (a - mean) * (d - mean) - b * c
    root = op.Sqrt(op.Abs(determinant))
    above, under = mean + root, mean - root
    nearer = op.Where(op.Abs(above - d) <= op.Abs(under - d), above, under)
    is_pair = determinant >= 0.0
    return op.Where(is_pair, mean, nearer) * total, op.Where(is_pair, root, 0.0) * total


def _first_vector(near: Near, shift: tuple[Array, Array], start: Array, end: Array) -> tuple[Array, Array]:
    """Return where the reflections may start, and the first column [3] of (H - s) (H - conj(s)) from there on."""
    real, imaginary = shift
    gap = near.d - real
    total = op.Abs(gap) + op.Abs(imaginary) + op.Abs(near.below_after)
    safe = op.Where(op.Equal(total, 0.0), 1.0, total)
    below = near.below_after / safe
    column = (
        below * near.above_after + gap * (gap / safe) + imaginary * (imaginary / safe),
        below * (near.d + near.d_after - 2.0 * real),
        below * near.below_second,
    )
    x, y, z = (op.Abs(c) for c in column)
    around = op.Abs(near.d_before) + op.Abs(near.d) + op.Abs(near.d_after)
    is_apart = op.Abs(near.below) * (y + z) <= float(float_limits(x).eps) * x * around
    first = last_place(is_apart, start, end - 2)
    return first, op.Concat(*(op.Unsqueeze(op.Gather(c, first, axis=0), [0]) for c in column), axis=0)


def _chased(whole: Array, first: Array, vector: Array, end: Array) -> Array:
    """The matrix after the reflections that begin with this vector at `first` and move the bulge down to `end`."""
    numbers, columns = np.arange(3), op.Unsqueeze(counting(whole, 1), [0])
    is_head = np.array([True, False, False])

    def step(j: Array, whole: Array) -> tuple[list[Array], list[Array]]:
        place = first + j
        window = place + numbers
        rows = op.Gather(whole, window, axis=0)
        before = op.Gather(rows, op.Max(place - 1, 0), axis=1)
        is_first = op.Equal(j, 0)
        x = op.Where(is_first, vector, before)
        x = op.Where(op.And(op.Equal(place, end - 1), np.array([False, False, True])), 0.0, x)
        found = reflection(is_head, op.Gather(x, np.array(0), axis=0), op.Where(is_head, 0.0, x))
        v = found.vector
        scaled = op.Mul(v, found.tau)
        turned = op.Sub(rows, op.Mul(op.Unsqueeze(scaled, [1]), op.MatMul(op.Unsqueeze(v, [0]), rows)))
        done = op.Where(is_first, before * (1.0 - found.tau), op.Where(is_head, found.beta, 0.0))
        left = op.Where(op.Equal(columns, place - 1), op.Unsqueeze(done, [1]), rows)
        rows = op.Where(op.GreaterOrEqual(columns, place), turned, left)
        whole = op.ScatterND(whole, op.Unsqueeze(window, [1]), rows, types=[whole.type])
        three = op.Gather(whole, window, axis=1)
        turned = op.Sub(three, op.Mul(op.MatMul(three, op.Unsqueeze(v, [1])), op.Unsqueeze(scaled, [0])))
        places = op.Expand(op.Unsqueeze(window, [0]), op.Shape(three))
        return [op.ScatterElements(whole, places, turned, axis=1, types=[whole.type])], []

    (found,) = loop(end - first, step, [whole])
    return found
