"""The Cholesky factor of symmetric positive definite matrices."""

from collections.abc import Callable
from typing import Any

from primsplit.numpy.dense import unrolled
from primsplit.numpy.dense.loop import (
    BLOCK,
    at_most_a_block,
    block_count,
    changing,
    counting,
    cut,
    filled,
    identity_like,
    loop,
    lower,
    scan,
    size,
    stacked_columns,
    swapped,
)
from primsplit.numpy.dense.triangular import solve_triangular
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.calls.primitive import primitive, rrule


@primitive
def cholesky(a: Array) -> Array:
    """The lower triangular L with L L^T = A, for A [..., n, n], of which the lower triangle is read.

    NaN from the column on where A is not positive definite. Right-looking and blocked: n^3 / 3 operations, nearly
    all in matrix products; n steps of 6 small operators; each panel of BLOCK columns reads and writes what is left
    of A once.
    """
    if unrolled.are_few(a.shape[:-1]):
        return op.Identity(unrolled.cholesky(a), types=[a.type])
    factor = _panel(a) if at_most_a_block(a.shape[-1]) else _blocked(a)
    return op.Identity(lower(factor), types=[a.type])


def _panel(columns: Array) -> Array:
    """The first w columns of the factor, from the first w columns [..., m, w], w > 0, of what is left of the matrix.

    Entries above the diagonal are numbers that nobody reads.
    """
    width = size(columns, -1)

    def step(rest: Array, place: Array) -> tuple[list[Array], list[Array]]:
        column = op.Gather(rest, place, axis=-1)
        done = op.Div(column, op.Sqrt(op.Gather(column, place, axis=-2)))
        return [op.Sub(rest, op.MatMul(done, swapped(cut(done, 0, width, -2))))], [done]

    _, collected = scan(step, [columns], [op.Unsqueeze(counting(columns, -1), [1])])
    return stacked_columns(collected)


def _blocked(a: Array) -> Array:
    n = size(a, -1)

    def step(i: Array, rest: Array, factor: Array) -> tuple[list[Array], list[Array]]:
        panel = _panel(cut(rest, 0, BLOCK, -1))
        below = cut(panel, BLOCK, None, -2)
        corner = op.Slice(rest, [BLOCK, BLOCK], [2**62, 2**62], [-2, -1])
        above = filled(a, [op.Mul(op.Unsqueeze(i, [0]), BLOCK), size(panel, -1)], a.dtype.type(0))
        column = op.Concat(above, panel, axis=-2)
        return [op.Sub(corner, op.MatMul(below, swapped(below))), op.Concat(factor, column, axis=-1)], []

    types = [changing(a, [-2, -1]), changing(a, [-1])]
    _, factor = loop(block_count(n), step, [a, cut(a, 0, 0, -1)], types)
    return factor


@rrule(cholesky)
def _cholesky(a: Array) -> tuple[Array, Callable[..., Any]]:
    """dA from S = L^-T P L^-1, P the lower triangle of L^T dL with its diagonal halved (Murray 2016, eq. 10).

    NumPy's function reads the lower triangle alone, so the cotangent is lower triangular: S + S^T below the diagonal,
    S on it. For an A that is symmetric by construction this equals the symmetric (S + S^T) / 2 of other libraries.
    """
    factor = cholesky(a)

    def pullback(dl: Array) -> tuple[Array]:
        p = unrolled.product(swapped(factor), lower(dl))
        halved = op.Mul(identity_like(p), 0.5)
        p = op.Sub(lower(p), op.Mul(halved, p))
        up = swapped(factor)
        left = solve_triangular(up, p, lower=False)
        s = swapped(solve_triangular(up, swapped(left), lower=False))
        both = lower(op.Add(s, swapped(s)))
        return (op.Sub(both, op.Mul(identity_like(s), s)),)

    return factor, pullback
