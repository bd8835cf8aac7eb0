"""The Cholesky factor of symmetric positive definite matrices."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.numpy.dense import unrolled
from primsplit.numpy.dense.loop import (
    BLOCK,
    at_most_a_block,
    changing,
    counting,
    cut,
    diagonal,
    filled,
    identity_like,
    known_to_be,
    less_product,
    lower,
    panels,
    scan,
    size,
    stacked_columns,
    stacked_rows,
)
from primsplit.numpy.dense.tiles import inverted, refined_right
from primsplit.numpy.dense.triangular import solve_by, tiles_of
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import swapped
from primsplit.tracing.calls.primitive import listed, rrule


@listed
def cholesky(a: Array) -> Array:
    """The lower triangular L with L L^T = A, for A [..., n, n], of which the lower triangle is read.

    NaN from the column on where A is not positive definite. Right-looking and blocked: n^3 / 3 operations, nearly
    all in matrix products; n steps of 4 small operators; each panel of BLOCK columns reads and writes what is left
    of A once.
    """
    if unrolled.are_few(a.shape[:-1]):
        return op.Identity(unrolled.cholesky(a), types=[a.type])
    factor = _corner(a) if at_most_a_block(a.shape[-1]) else _blocked(a)
    return op.Identity(factor, types=[a.type])


def _corner(a: Array) -> Array:
    """The factor of A [..., w, w], w > 0, a row of its transpose a step.

    The rows are divided by the roots of the pivots at the end. From the first pivot on that has none all are NaN.
    """
    below = lower(a, -1)
    whole = op.Add(lower(a), swapped(below))

    def step(rest: Array, place: Array) -> tuple[list[Array], list[Array]]:
        row = op.Gather(rest, place, axis=-2)
        scaled = op.Div(row, op.Gather(row, place, axis=-1))
        if len(rest.shape) == 2:
            return [op.Gemm(row, scaled, rest, alpha=-1.0, transA=1, types=[rest.type])], [row]
        return [op.Sub(rest, op.MatMul(swapped(row), scaled))], [row]

    _, collected = scan(step, [whole], [op.Unsqueeze(counting(a, -1), [1])])
    rows = stacked_rows(collected)
    roots = op.Sqrt(diagonal(rows))
    nothing = np.zeros((), a.dtype)
    failed = op.CumSum(op.Where(op.IsNaN(roots), np.full((), np.nan, a.dtype), nothing), np.int64(-2))
    roots = op.Add(roots, failed)
    # An infinite pivot is its own root, and the quotient of infinities is none.
    on_diagonal = op.Cast(identity_like(whole), to=np.bool_)
    return lower(swapped(op.Where(on_diagonal, roots, op.Div(rows, roots))))


def _panel(panel: Array, most: int, width: int | None) -> tuple[Array, Array]:
    """The first columns of the factor, on the diagonal and below, from those [m, w] of what is left of the matrix."""
    corner = _corner(known_to_be(cut(panel, 0, most, -2), -2, width))
    block, inverse = inverted(corner, lower=True, unit=False)
    return corner, refined_right(swapped(block), swapped(inverse), cut(panel, most, None, -2))


def _panel_of_batch(columns: Array, most: int, width: int | None) -> tuple[Array, Array]:
    """The panel of each of many matrices, a column a step."""

    def step(rest: Array, place: Array) -> tuple[list[Array], list[Array]]:
        column = op.Gather(rest, place, axis=-1)
        done = op.Div(column, op.Sqrt(op.Gather(column, place, axis=-2)))
        return [op.Sub(rest, op.MatMul(done, swapped(cut(done, 0, size(columns, -1), -2))))], [done]

    _, collected = scan(step, [columns], [op.Unsqueeze(counting(columns, -1), [1])])
    panel = stacked_columns(collected)
    return lower(cut(panel, 0, most, -2)), cut(panel, most, None, -2)


def _blocked(a: Array) -> Array:
    def step(width: int | None, rest: Array, factor: Array) -> list[Array]:
        most = width or BLOCK
        panel = known_to_be(cut(rest, 0, most, -1), -1, width)
        corner, below = (_panel_of_batch if len(a.shape) > 2 else _panel)(panel, most, width)
        left = op.Slice(rest, [most, most], [2**62, 2**62], [-2, -1])
        column = op.Concat(filled(a, [size(factor, -1), size(panel, -1)], a.dtype.type(0)), corner, below, axis=-2)
        return [less_product(left, below, swapped(below)), op.Concat(factor, column, axis=-1)]

    types = [changing(a, [-2, -1]), changing(a, [-1])]
    return panels(a.shape[-1], size(a, -1), step, [a, cut(a, 0, 0, -1)], types)[1]


@rrule(cholesky)
def _cholesky(a: Array) -> tuple[Array, Callable[..., Any]]:
    """dA from S = L^-T P L^-1, P the lower triangle of L^T dL with its diagonal halved (Murray 2016, eq. 10).

    NumPy's function reads the lower triangle alone, so the cotangent is lower triangular: S + S^T below the diagonal,
    S on it. For an A that is symmetric by construction this equals the symmetric (S + S^T) / 2 of other libraries.
    """
    factor = cholesky(a)
    tiles = tiles_of(factor, lower=True)

    def turned(x: Array) -> Array:
        found: Array = solve_by(factor, x, *tiles, lower=True, unit=False, transposed=True)
        return found

    def pullback(dl: Array) -> tuple[Array]:
        p = unrolled.product(swapped(factor), lower(dl))
        halved = op.Mul(identity_like(p), 0.5)
        p = op.Sub(lower(p), op.Mul(halved, p))
        s = swapped(turned(swapped(turned(p))))
        both = lower(op.Add(s, swapped(s)))
        return (op.Sub(both, op.Mul(identity_like(s), s)),)

    return factor, pullback
