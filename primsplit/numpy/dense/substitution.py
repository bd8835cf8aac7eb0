"""Triangular systems for batches of matrices by substitution: `tiles`, whose inverses cost more, save less there."""

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
)
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import transpose


def substituted(t: Array, b: Array, *, lower: bool, unit: bool) -> Array:
    """X with T X = B, for T [..., n, n] and B [..., n, k]. n steps of 3 small operators; reads T twice."""
    by = _by_rows if at_most_a_block(t.shape[-1]) else _blocked
    return by(t, b, lower=lower, unit=unit)


def _by_rows(t: Array, b: Array, *, lower: bool, unit: bool) -> Array:
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
    """Solve a triangular system of any size, a block of rows a step."""
    n = size(t, -1)

    def step(i: Array, rest: Array, done: Array) -> tuple[list[Array], list[Array]]:
        near = op.Mul(op.Unsqueeze(i, [0]), BLOCK)
        far = op.Min(op.Add(near, BLOCK), n)
        first, last = (near, far) if lower else (op.Sub(n, far), op.Sub(n, near))
        columns = cut(t, first, last, -1)
        width = op.Sub(far, near)
        mine = cut(rest, 0, width, -2) if lower else cut(rest, first, None, -2)
        others = cut(rest, width, None, -2) if lower else cut(rest, 0, first, -2)
        solved = _by_rows(cut(columns, first, last, -2), mine, lower=lower, unit=unit)
        coupling = cut(columns, last, None, -2) if lower else cut(columns, 0, first, -2)
        others = op.Sub(others, op.MatMul(coupling, solved))
        return [others, op.Concat(*((done, solved) if lower else (solved, done)), axis=-2)], []

    nothing = cut(b, 0, 0, -2)
    types = [changing(b, [-2]), changing(b, [-2])]
    _, done = loop(block_count(n), step, [b, nothing], types)
    return done
