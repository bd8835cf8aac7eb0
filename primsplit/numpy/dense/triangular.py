"""Solving with a triangular matrix."""

from collections.abc import Callable
from typing import Any

from primsplit.ir import Type
from primsplit.numpy.dense import unrolled
from primsplit.numpy.dense.loop import (
    BLOCK,
    at_most_a_block,
    block_count,
    changing,
    counting,
    cut,
    diagonal,
    loop,
    scan,
    size,
    swapped,
)
from primsplit.numpy.dense.loop import lower as lower_part
from primsplit.numpy.dense.loop import upper as upper_part
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import transpose
from primsplit.tracing.calls.primitive import primitive, rrule


@primitive
def solve_triangular(t: Array, b: Array, *, lower: bool, unit: bool = False) -> Array:
    """X with T X = B, for T [..., n, n] of which one triangle is read, and B [..., n, k] with the same batch.

    With `unit` the diagonal counts as ones. A zero on the diagonal gives inf or NaN. Blocked substitution: n^2 k
    operations, nearly all in matrix products; n steps of 3 small operators; reads T twice.
    """
    if unrolled.are_few(t.shape[:-1]):
        return _retyped(unrolled.substituted(t, b, lower=lower, unit=unit), b.type)
    if at_most_a_block(t.shape[-1]):
        return _retyped(substitute(t, b, lower=lower, unit=unit), b.type)
    return _blocked(t, b, lower=lower, unit=unit)


def substitute(t: Array, b: Array, *, lower: bool, unit: bool) -> Array:
    """Substitution one row at a time; for matrices of at most one block, and of one row at least.

    The rows are divided by the diagonal first, and the axis that is walked along is brought to the front: three small
    operators a step. Rows that are finished go on being updated with numbers that nobody reads.
    """
    rank = len(t.shape)
    if not unit:
        along = diagonal(t)
        t, b = op.Div(t, along), op.Div(b, along)
    batch = range(rank - 2)
    columns = op.Unsqueeze(transpose(t, [rank - 1, rank - 2, *batch]), [-1])
    rows = transpose(b, [rank - 2, *batch, rank - 1])

    def step(rest: Array, column: Array, place: Array) -> tuple[list[Array], list[Array]]:
        row = op.Gather(rest, place, axis=0)
        return [op.Sub(rest, op.Mul(column, row), types=[rows.type])], [row]

    _, collected = scan(step, [rows], [columns, counting(t, -1)], backward=not lower)
    return transpose(collected, [*(1 + i for i in batch), 0, rank - 1])


def _blocked(t: Array, b: Array, *, lower: bool, unit: bool) -> Array:
    n = size(t, -1)

    def step(i: Array, rest: Array, done: Array) -> tuple[list[Array], list[Array]]:
        near = op.Mul(op.Unsqueeze(i, [0]), BLOCK)
        far = op.Min(op.Add(near, BLOCK), n)
        first, last = (near, far) if lower else (op.Sub(n, far), op.Sub(n, near))
        columns = cut(t, first, last, -1)
        width = op.Sub(far, near)
        mine = cut(rest, 0, width, -2) if lower else cut(rest, first, None, -2)
        others = cut(rest, width, None, -2) if lower else cut(rest, 0, first, -2)
        solved = substitute(cut(columns, first, last, -2), mine, lower=lower, unit=unit)
        coupling = cut(columns, last, None, -2) if lower else cut(columns, 0, first, -2)
        others = op.Sub(others, op.MatMul(coupling, solved))
        return [others, op.Concat(*((done, solved) if lower else (solved, done)), axis=-2)], []

    nothing = cut(b, 0, 0, -2)
    types = [changing(b, [-2]), changing(b, [-2])]
    _, done = loop(block_count(n), step, [b, nothing], types)
    return _retyped(done, b.type)


def _retyped(x: Array, type: Type) -> Array:
    """`x`, which is known to have this type."""
    return op.Identity(x, types=[type])


@rrule(solve_triangular)
def _solve_triangular(t: Array, b: Array, *, lower: bool, unit: bool = False) -> tuple[Array, Callable[..., Any]]:
    """dB = T^-T dX and dT = -dB X^T in the triangle (Giles, Collected matrix derivative results, 2008, 2.3.1)."""
    x = solve_triangular(t, b, lower=lower, unit=unit)

    def pullback(dx: Array) -> tuple[Array, Array]:
        db = solve_triangular(swapped(t), dx, lower=not lower, unit=unit)
        dt = op.Neg(unrolled.product(db, swapped(x)))
        part = lower_part(dt, -int(unit)) if lower else upper_part(dt, int(unit))
        return part, db

    return x, pullback
