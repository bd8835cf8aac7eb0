"""Associative scans over all steps at once: linear recurrences s[t] = A[t] s[t-1] + b[t], and running maxima.

After d steps of doubling each s[t] holds what the last 2^d elements give it. Matrices and vectors have time behind
their own axes, so that a product of small matrices is written out over vectors of all steps: a batched MatMul of 2 x 2
matrices takes 5 times as long. (Blelloch 1990, Prefix sums and their applications, section 1.4.)
"""

from collections.abc import Sequence

import numpy as np

from primsplit import tracing
from primsplit.ir import Type
from primsplit.ir.dims import Dim
from primsplit.numpy.axes import size_as, slab
from primsplit.numpy.dense.loop import cut, until
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import count_up, reshape_to, zeros

ROUNDING = 64
"""The largest error of a step, in units of rounding of its terms."""
SHORT = 128
"""The length up to which doubling is faster than pairs: it takes fewer operators, and passes over little data."""


def linear_recurrence(a: Array, b: Array, *, loops: bool = False) -> Array:
    """The s [m, n] of matrices A [m, m, n] and vectors b [m, n], where s before the first element is 0.

    With further axes behind, one recurrence for each of their elements. With `loops` it is a Loop for known lengths
    too, which is a smaller file.
    """
    length = b.shape[1]
    if loops or not isinstance(length, int):
        return _of_any_length(a, b, length)
    if length > SHORT:
        return _in_pairs(a, b, length)
    shift = 1
    while shift < length:
        late = slab(a, 2, shift, length)
        moved = op.Add(slab(b, 1, shift, length), applied(late, slab(b, 1, 0, length - shift)))
        b = op.Concat(slab(b, 1, 0, shift), moved, axis=1, types=[b.type])
        if 2 * shift < length:
            both = _multiplied(late, slab(a, 2, 0, length - shift))
            a = op.Concat(slab(a, 2, 0, shift), both, axis=2, types=[a.type])
        shift *= 2
    return b


def _in_pairs(a: Array, b: Array, length: int) -> Array:
    """Solve the recurrence by one of half the length, whose steps are two steps each: it gives every second element.

    About two passes over all elements, where doubling has as many as the length has bits.
    """
    half = length // 2
    (even_a, odd_a), (even_b, odd_b) = (_parted(x, axis) for x, axis in ((a, 2), (b, 1)))
    first_a, first_b = slab(even_a, 2, 0, half), slab(even_b, 1, 0, half)
    both = op.Add(applied(odd_a, first_b), odd_b, types=[odd_b.type])
    odd = linear_recurrence(_multiplied(odd_a, first_a), both)
    rest = length - half
    later = op.Add(applied(slab(even_a, 2, 1, rest), slab(odd, 1, 0, rest - 1)), slab(even_b, 1, 1, rest))
    even = op.Concat(slab(even_b, 1, 0, 1), later, axis=1)
    pairs = op.Concat(op.Unsqueeze(slab(even, 1, 0, half), [2]), op.Unsqueeze(odd, [2]), axis=2)
    flat = reshape_to(pairs, (b.shape[0], 2 * half, *b.shape[2:]))
    return flat if rest == half else op.Concat(flat, slab(even, 1, half, rest), axis=1, types=[b.type])


def _parted(x: Array, axis: int) -> tuple[Array, Array]:
    """Every second element along an axis from the first one on, and the others."""
    end = np.iinfo(np.int64).max
    return op.Slice(x, [0], [end], [axis], [2]), op.Slice(x, [1], [end], [axis], [2])


def _of_any_length(a: Array, b: Array, length: Dim) -> Array:
    """Solve a recurrence of a length that only the run knows, by a loop of doubling steps.

    What lies before the first element is 0, so that it adds nothing to what is complete.
    """
    count = Array(tracing.size_vector((length,)))
    nothing = zeros(a.shape, a.dtype), zeros(b.shape, b.dtype)

    def step(shift: Array, a: Array, b: Array) -> list[Array]:
        kept = op.Sub(count, shift)
        more = applied(a, _shifted(b, nothing[1], kept, shift, 1))
        both = _multiplied(a, _shifted(a, nothing[0], kept, shift, 2))
        return [op.Mul(shift, np.int64(2)), both, op.Add(b, more, types=[b.type])]

    def is_done(shift: Array, _a: Array, _b: Array) -> Array:
        return op.Squeeze(op.GreaterOrEqual(shift, count), [0])

    start = [Array(tracing.constant(np.ones(1, np.int64))), a, b]
    return until(is_done, step, start, 64)[2]


def _shifted(x: Array, nothing: Array, kept: Array, shift: Array, axis: int) -> Array:
    """The array so many places later along an axis, zeros before it."""
    parts = cut(nothing, 0, shift, axis), cut(x, 0, kept, axis)
    return op.Concat(*parts, axis=axis, types=[x.type])


def applied(a: Array, b: Array) -> Array:
    """The product of each matrix [m, m, n] with its vector [m, n]."""
    terms = [op.Mul(_column(a, k), slab(b, 0, k, k + 1)) for k in range(int(b.shape[0]))]
    return _summed(terms, b.type)


def _multiplied(a: Array, b: Array) -> Array:
    """The product of each two matrices [m, m, n]."""
    columns = range(int(a.shape[1]))
    terms = [op.Mul(slab(a, 1, k, k + 1), op.Unsqueeze(_row(b, k), [0])) for k in columns]
    return _summed(terms, b.type)


def _column(a: Array, k: int) -> Array:
    return op.Squeeze(slab(a, 1, k, k + 1), [1])


def _row(a: Array, k: int) -> Array:
    return op.Squeeze(slab(a, 0, k, k + 1), [0])


def _summed(terms: Sequence[Array], type: Type) -> Array:
    total = terms[0]
    for term in terms[1:]:
        total = op.Add(total, term)
    return op.Identity(total, types=[type])


def adjoint_recurrence(a: Array, g: Array) -> Array:
    """The l [m, n] with l[t] = g[t] + A[t+1]^T l[t+1], where l after the last element is 0."""
    size, _, length = a.shape
    nothing = zeros((size, size, 1), a.dtype)
    turned = op.Concat(nothing, _turned(op.Transpose(a, perm=[1, 0, 2])), axis=2)
    return _turned(linear_recurrence(slab(turned, 2, 0, length), _turned(g)))


def _turned(x: Array) -> Array:
    return op.Slice(x, [-1], [np.iinfo(np.int64).min], [-1], [-1], types=[x.type])


def running_maximum(x: Array) -> Array:
    """The largest element of each row [m, n] up to each place."""
    length, shift = x.shape[1], 1
    if isinstance(length, int):
        while shift < length:
            most = op.Max(slab(x, 1, shift, length), slab(x, 1, 0, length - shift))
            x = op.Concat(slab(x, 1, 0, shift), most, axis=1, types=[x.type])
            shift *= 2
        return x
    places, count = count_up(length), size_as(length, np.int64)

    def step(shift: Array, x: Array) -> list[Array]:
        earlier = op.Gather(x, op.Max(op.Sub(places, shift), np.int64(0)), axis=1)
        return [op.Mul(shift, np.int64(2)), op.Max(x, earlier, types=[x.type])]

    start = [Array(tracing.constant(np.asarray(1, np.int64))), x]
    return until(lambda shift, _: op.GreaterOrEqual(shift, count), step, start, 64)[1]


def left_over(a: Array, b: Array, before: Array, after: Array) -> tuple[Array, Array]:
    """The difference of both sides of each step, and whether it is rounding in all of them; not so where one is NaN."""
    eps, tiny = np.finfo(b.dtype).eps, np.finfo(b.dtype).tiny
    rest = op.Sub(op.Add(applied(a, before), b), after, types=[b.type])
    size = op.Add(applied(op.Abs(a), op.Abs(before)), op.Abs(b))
    bound = op.Add(op.Mul(size, np.asarray(ROUNDING * eps, b.dtype)), np.asarray(tiny, b.dtype))
    fails = op.Not(op.LessOrEqual(op.Abs(rest), bound))
    failing = op.ReduceSum(op.Cast(fails, to=np.int64), keepdims=0)
    return rest, op.Equal(failing, np.int64(0))
