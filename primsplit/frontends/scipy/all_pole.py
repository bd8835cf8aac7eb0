"""Solve linear difference equations, `y[t] = x[t] - a1 y[t-1] - ... - ak y[t-k]`, by blocks of samples.

A block of 64 samples is two products: of the block with the matrix of the impulse response, and of the state before it
with the responses to each state. Only the states go through a Scan, one step for each block. Powers of an unstable
filter, or of one with many poles close together, lose digits in that way. So the result is put into the equation, what
is left over is solved for again, and a sample that still fails the equation by more than rounding lets the run go by
samples, as SciPy does. NaN and infinity fail it too.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.ir import Type, dims
from primsplit.ir.dims import Dim
from primsplit.numpy.axes import slab
from primsplit.numpy.dense.loop import scan, until
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to, swapped, zeros
from primsplit.tracing.calls.primitive import primitive, rrule
from primsplit.tracing.regions import emit_if, record

Pullback = Callable[..., Any]

BLOCK = 64
"""Samples of a block, a power of two: the products cost 128 multiplications a sample, less than a step of a Scan."""
PASSES = 4
"""The most passes of refinement. Each pass squares the relative error of the first one."""
TINY = float(np.finfo(np.float64).tiny)


@primitive
def all_pole(back: Array, x: Array) -> Array:
    """The y [c, n] with y[:, t] + back[0] y[:, t - 1] + ... + back[k - 1] y[:, t - k] = x[:, t]; k at least 1.

    Computed in float64. Each sample fulfils its equation to k + 2 roundings of its largest term in the dtype of `x`.
    """
    wide, given = cast_to(back, np.float64), cast_to(x, np.float64)
    y, is_settled = _by_blocks(wide, given, float(np.finfo(x.dtype).eps))
    kept = record("blocks", [], lambda: [op.Identity(y, types=[given.type]).value])
    exact = record("samples", [], lambda: [by_samples(wide, given).value])
    return cast_to(Array(emit_if(is_settled.value, kept, exact, [given.type])[0]), x.dtype)


@rrule(all_pole)
def _all_pole(back: Array, x: Array) -> tuple[Array, Pullback]:
    """The equation's adjoint is the same equation from the last sample to the first."""
    y = all_pole(back, x)

    def pullback(dy: Array) -> tuple[Array, Array]:
        dx = _turned(all_pole(back, _turned(dy)))
        sums = [op.ReduceSum(op.Mul(dx, late), keepdims=1) for late in delayed(y, back.shape[0])]
        d_back = op.Neg(op.Concat(*(op.Reshape(s, [1]) for s in sums), axis=0))
        return op.Identity(d_back, types=[back.type]), dx

    return y, pullback


def _turned(x: Array) -> Array:
    return op.Slice(x, [-1], [np.iinfo(np.int64).min], [1], [-1], types=[x.type])


def delayed(x: Array, most: Dim) -> list[Array]:
    """`x` [c, n] 1, 2, ... and `most` samples later, zeros before it."""
    count = int(most)
    wide = op.Concat(zeros((x.shape[0], count), x.dtype), x, axis=1)
    return [slab(wide, 1, count - j, count - j + x.shape[1]) for j in range(1, count + 1)]


def by_samples(back: Array, x: Array) -> Array:
    """The solution one sample after the other, in the transposed direct form II."""
    states, count = x.shape[0], int(back.shape[0])
    nothing = zeros((states, 1), x.dtype)

    def step(state: Array, sample: Array) -> tuple[list[Array], list[Array]]:
        y = op.Add(slab(state, 1, 0, 1), op.Unsqueeze(sample, [1]))
        later = op.Concat(slab(state, 1, 1, count), nothing, axis=1)
        return [op.Sub(later, op.Mul(y, back), types=[state.type])], [op.Squeeze(y, [1])]

    found = scan(step, [zeros((states, count), x.dtype)], [swapped(x)])
    return op.Identity(swapped(found[1]), types=[x.type])


def _by_blocks(back: Array, x: Array, rounding: float) -> tuple[Array, Array]:
    """The solution by blocks, and whether each sample fulfils its equation but for rounding.

    Rounding of the matrices moves the poles, the same way in each block: in float64 one pass more corrects that.
    """
    solve = _solver(back, x.shape[1])
    most = rounding * (int(back.shape[0]) + 2)

    def step(y: Array, rest: Array, is_corrected: Array, _: Array) -> list[Array]:
        y = op.Add(y, solve(rest))
        rest, size = _left_over(back, y, x)
        fails = op.Not(op.LessOrEqual(op.Abs(rest), op.Add(op.Mul(size, most), TINY)))
        failing = op.ReduceSum(op.Cast(fails, to=np.int64), keepdims=0)
        return [y, rest, op.Identity(np.array(True)), op.And(is_corrected, op.Equal(failing, np.int64(0)))]

    is_wider = op.Identity(np.array(rounding > np.finfo(x.dtype).eps))
    start = [zeros(x.shape, x.dtype), x, is_wider, op.Identity(np.array(False))]
    y, _, _, is_settled = until(lambda *carries: carries[-1], step, start, PASSES)
    return y, is_settled


def _left_over(back: Array, y: Array, x: Array) -> tuple[Array, Array]:
    """The difference of both sides of each sample's equation, and the sum of the magnitudes of its terms."""
    rest, size = op.Sub(x, y), op.Add(op.Abs(x), op.Abs(y))
    for j, late in enumerate(delayed(y, back.shape[0])):
        term = op.Mul(slab(back, 0, j, j + 1), late)
        rest, size = op.Sub(rest, term), op.Add(size, op.Abs(term))
    return op.Identity(rest, types=[x.type]), size


def _solver(back: Array, length: Dim) -> Callable[[Array], Array]:
    """Solve by blocks, with the matrices of these coefficients."""
    forth, seen, into, power = (op.Transpose(m, perm=[1, 0]) for m in _matrices(back))
    blocks = dims.maximum(dims.floor_divide(length + BLOCK - 1, BLOCK), 1)
    count = back.shape[0]

    def solve(x: Array) -> Array:
        rows = x.shape[0]
        whole = op.Pad(x, [0, 0, 0, blocks * BLOCK - length], types=[Type(x.dtype, (rows, blocks * BLOCK))])
        parts = reshape_to(whole, (rows * blocks, BLOCK))
        moved = op.Transpose(reshape_to(op.MatMul(parts, into), (rows, blocks, count)), perm=[1, 0, 2])

        def step(state: Array, more: Array) -> tuple[list[Array], list[Array]]:
            return [op.Add(op.MatMul(state, power), more, types=[state.type])], [state]

        states = scan(step, [zeros((rows, count), x.dtype)], [moved])[1]
        before = reshape_to(op.Transpose(states, perm=[1, 0, 2]), (rows * blocks, count))
        found = op.Add(op.MatMul(parts, forth), op.MatMul(before, seen), types=[parts.type])
        return slab(reshape_to(found, (rows, blocks * BLOCK)), 1, 0, length)

    return solve


def _matrices(back: Array) -> tuple[Array, Array, Array, Array]:
    """The output of a block from its samples [64, 64] and from a state [64, k]; the last state from both of them.

    The last two are [k, 64] and [k, k]. By doubling: the responses of 2 m samples are those of m, and those of the
    states m samples later.
    """
    count = int(back.shape[0])
    column = op.Unsqueeze(op.Neg(back), [1])
    shift = np.eye(count)[:, : count - 1]
    power = op.Concat(column, shift, axis=1) if count > 1 else column
    seen, into = Array(op.Identity(np.eye(1, count)).value), column
    samples = 1
    while samples < BLOCK:
        seen = op.Concat(seen, op.MatMul(seen, power), axis=0)
        into = op.Concat(op.MatMul(power, into), into, axis=1)
        power = op.MatMul(power, power)
        samples *= 2
    later = op.MatMul(slab(seen, 0, 0, BLOCK - 1), column)
    response = op.Concat(np.ones(1), op.Squeeze(later, [1]), axis=0)
    return _toeplitz(response), seen, into, power


def _toeplitz(response: Array) -> Array:
    """The lower triangular matrix whose columns are this vector [64], each shifted by one more sample.

    A row of 128 numbers, repeated, and cut into rows of 127, moves by one from row to row.
    """
    wide = op.Unsqueeze(op.Concat(response, np.zeros(BLOCK), axis=0), [0])
    run = op.Reshape(op.Expand(wide, [BLOCK, 2 * BLOCK]), [-1])
    rows = op.Reshape(slab(run, 0, 0, BLOCK * (2 * BLOCK - 1)), [BLOCK, 2 * BLOCK - 1])
    return op.Transpose(slab(rows, 1, 0, BLOCK), perm=[1, 0])
