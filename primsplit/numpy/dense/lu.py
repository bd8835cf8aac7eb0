"""Gaussian elimination with partial pivoting, and solving with it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Type
from primsplit.numpy.dense import unrolled
from primsplit.numpy.dense.loop import (
    BLOCK,
    at_most_a_block,
    changing,
    columns_at,
    counting,
    cut,
    filled,
    identity_like,
    known_to_be,
    less_product,
    not_a_number,
    panels,
    rows_at,
    scan,
    size,
    sizes,
    stacked_columns,
    stacked_rows,
)
from primsplit.numpy.dense.tiles import inverted, refined_right
from primsplit.numpy.dense.triangular import solve_by
from primsplit.numpy.dense.triangular import tiles_of as triangular_tiles
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import swapped
from primsplit.tracing.calls.primitive import listed, rrule

Factors = tuple[Array, Array, Array]
"""L, U and the rows p [..., n] of A in their new order: A[p] = L U. Only the triangles of L (unit) and U count."""

Pullback = Callable[..., Any]


@listed
def factor(a: Array) -> Factors:
    """Gaussian elimination with partial pivoting of A [..., n, n]: the largest element, the first of equals.

    Rows stay where they are, only marked as used. A column of zeros is left as it is, so that a singular
    matrix gets a U with a zero on its diagonal. A matrix that holds NaN gets a U of NaN: comparisons with NaN find no
    pivot. Blocked: n^3 operations, nearly all in matrix products; n steps of 13
    small operators. The factors are a means to solve and to take determinants, which have the rules: no gradient
    flows through them.
    """
    if unrolled.are_few(a.shape[:-1]):
        return unrolled.eliminated(a)
    panel = _one_panel if at_most_a_block(a.shape[-1]) else _blocked
    multipliers, rows, found = panel(a)
    order = op.Identity(found, types=[Type(np.int64, a.shape[:-1])])
    unit = swapped(columns_at(multipliers, order))
    return op.Identity(unit, types=[a.type]), op.Add(rows, not_a_number(a), types=[a.type]), order


def factors_of(a: Array) -> Factors:
    """The factors of A; where this very value was factored before, those that are recorded already."""
    value = a.value
    for made in reversed(tracing.current().ops):
        if getattr(made.attributes.get("rule"), "primitive", None) is factor and made.inputs[0] is value:
            unit, worked, order = map(Array, made.outputs)
            return unit, worked, order
        if any(v is value for v in made.outputs):
            break
    found: Factors = factor(a)
    return found


@rrule(factor)
def _factor(a: Array) -> tuple[Factors, Pullback]:
    """No tangent: `solve_with`, `determinant_with` and the others take A itself for their derivatives."""
    return factor(a), lambda _: (None,)


def _one_panel(a: Array) -> Factors:
    multipliers, rows, order, _ = _panel(swapped(a), _free(a))
    return multipliers, rows, order


def _free(a: Array) -> Array:
    """A row of zeros [..., 1, n]: a row of A that is used has minus infinity."""
    return filled(a, [1, size(a, -2)], a.dtype.type(0))


def _panel(columns: Array, free: Array) -> tuple[Array, Array, Array, Array]:
    """Eliminate w columns of a matrix, given as rows [..., w, n], w > 0, with pivots from its free rows.

    Returns the multipliers as rows [..., w, n], the rows of the pivots [..., w, w], their places [..., w], and the rows
    free after it. The multipliers of rows that were used before are numbers that nobody reads. A row is eliminated by
    itself too, its multiplier being 1.
    """
    batch = len(columns.shape) - 2
    used = filled(columns, [1, 1], columns.dtype.type(-np.inf))
    shape = op.Concat(sizes(columns, 0, batch + 1), np.array([1]), axis=0)

    def row_of(rest: Array, pivot: Array) -> Array:
        if not batch:
            return op.Gather(rest, op.Squeeze(pivot, [0]), axis=-1)
        return op.GatherElements(rest, op.Expand(pivot, shape), axis=-1)

    def step(rest: Array, free: Array, place: Array) -> tuple[list[Array], list[Array]]:
        column = op.Gather(rest, place, axis=-2)
        pivot = op.ArgMax(op.Add(op.Abs(column), free), axis=-1, keepdims=1)
        row = row_of(rest, pivot)
        head = op.Gather(row, place, axis=-2)
        multiplier = op.Div(column, op.Add(head, op.Cast(op.Equal(head, 0.0), to=head.dtype)))
        free = op.ScatterElements(free, pivot, used, axis=-1)
        return [less_product(rest, row, multiplier), free], [multiplier, row, pivot]

    places = op.Unsqueeze(counting(columns, -2), [1])
    _, free, multipliers, rows, pivots = scan(step, [columns, free], [places])
    order = op.Squeeze(stacked_columns(pivots), [-2])
    return stacked_rows(multipliers), swapped(stacked_columns(rows)), order, free


def _blocked(a: Array) -> Factors:
    def step(width: int | None, rest: Array, free: Array, *known: Array) -> list[Array]:
        most = width or BLOCK
        multipliers, rows, pivots, free = _panel(known_to_be(cut(rest, 0, most, -2), -2, width), free)
        right = cut(rest, most, None, -2)
        unit = inverted(columns_at(multipliers, pivots), lower=False, unit=True)
        top = refined_right(*unit, columns_at(right, pivots))
        before = filled(a, [size(pivots, -1), size(known[0], -2)], a.dtype.type(0))
        found = (multipliers, op.Concat(before, rows, swapped(top), axis=-1), pivots)
        joined = [op.Concat(x, y, axis=k) for x, y, k in zip(known, found, (-2, -2, -1), strict=True)]
        return [less_product(right, top, multipliers), free, *joined]

    no_pivots = op.Squeeze(filled(a, [1, 0], np.int64(0)), [-2])
    free, none = _free(a), cut(a, 0, 0, -2)
    types = [changing(a, [-2]), free.type, changing(a, [-2]), changing(a, [-2]), changing(no_pivots, [-1])]
    carries = [swapped(a), free, none, none, no_pivots]
    _, _, m, u, p = panels(a.shape[-1], size(a, -1), step, carries, types)
    return m, u, p


@listed
def solve_with(
    a: Array, unit: Array, worked: Array, order: Array, b: Array, *tiles: Array, transposed: bool = False
) -> Array:
    """X with A X = B, or A^T X = B, by the factors of A and `tiles_of` them; A itself is there for the derivative.

    A [..., n, n] and B [..., n, k] have the same batch. A singular A gives inf or NaN. 2 n^2 k operations.
    """
    half = len(tiles) // 2
    low = {"lower": True, "unit": True, "transposed": transposed}
    high = {"lower": False, "unit": False, "transposed": transposed}
    if not transposed:
        forward = solve_by(unit, rows_in_order(b, order), *tiles[:half], **low)
        return op.Identity(solve_by(worked, forward, *tiles[half:], **high), types=[b.type])
    forward = solve_by(worked, b, *tiles[half:], **high)
    permuted = solve_by(unit, forward, *tiles[:half], **low)
    return op.Identity(rows_in_order(permuted, inverse_order(order)), types=[b.type])


def tiles_of(unit: Array, worked: Array) -> tuple[Array, ...]:
    """Return the tiles of both factors, as `solve_with` takes them."""
    return (*triangular_tiles(unit, lower=True, unit=True), *triangular_tiles(worked, lower=False))


def rows_in_order(x: Array, order: Array) -> Array:
    """The rows of X [..., n, m] at the places `order` [..., n]."""
    return unrolled.permuted(x, order) if unrolled.are_few(x.shape[:-1]) else rows_at(x, order)


def inverse_order(order: Array) -> Array:
    """The permutation that undoes this one, along the last axis: the order that sorts it, by counting."""
    if unrolled.are_few(order.shape):
        return op.Identity(unrolled.inverse_order(order), types=[order.type])
    numbers = counting(order, -1)
    hits = op.Equal(op.Unsqueeze(order, [-2]), op.Unsqueeze(numbers, [1]))
    return op.Identity(op.ArgMax(op.Cast(hits, to=np.int32), axis=-1, keepdims=0), types=[order.type])


@rrule(solve_with)
def _solve_with(
    a: Array, unit: Array, worked: Array, order: Array, b: Array, *tiles: Array, transposed: bool = False
) -> tuple[Array, Pullback]:
    """dB = A^-T dX by the same factors, and dA = -dB X^T (Giles 2008, 2.3.1); A^T has the transposed cotangent."""
    x = solve_with(a, unit, worked, order, b, *tiles, transposed=transposed)

    def pullback(dx: Array) -> tuple[Array | None, ...]:
        db = solve_with(a, unit, worked, order, dx, *tiles, transposed=not transposed)
        da = unrolled.product(x, swapped(db)) if transposed else unrolled.product(db, swapped(x))
        return op.Neg(da), None, None, None, db, *(None for _ in tiles)

    return x, pullback


def solve(a: Array, b: Array) -> Array:
    """X with A X = B, for A [..., n, n] and B [..., n, k] with the same batch."""
    unit, worked, order = factors_of(a)
    x: Array = solve_with(a, unit, worked, order, b, *tiles_of(unit, worked))
    return x


@listed
def inverse_with(a: Array, unit: Array, worked: Array, order: Array) -> Array:
    """The inverse of A [..., n, n] by its factors; A itself is there for the derivative. Inf or NaN if singular."""
    found: Array = solve_with(a, unit, worked, order, identity_like(a), *tiles_of(unit, worked))
    return found


@rrule(inverse_with)
def _inverse_with(a: Array, unit: Array, worked: Array, order: Array) -> tuple[Array, Pullback]:
    """dA = -X^T dX X^T (Giles 2008, 2.2.3)."""
    x = inverse_with(a, unit, worked, order)

    def pullback(dx: Array) -> tuple[Array | None, ...]:
        turned = swapped(x)
        return op.Neg(unrolled.product(unrolled.product(turned, dx), turned)), None, None, None

    return x, pullback


def inverse(a: Array) -> Array:
    """The inverse of A [..., n, n]."""
    x: Array = inverse_with(a, *factors_of(a))
    return x
