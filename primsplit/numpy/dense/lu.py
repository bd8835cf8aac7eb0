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
    block_count,
    changing,
    counting,
    cut,
    filled,
    identity_like,
    loop,
    not_a_number,
    rows_at,
    scan,
    size,
    sizes,
    stacked_columns,
    swapped,
)
from primsplit.numpy.dense.triangular import solve_triangular, substitute
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.calls.primitive import primitive, rrule

Factors = tuple[Array, Array, Array]
"""L, U and the rows p [..., n] of A in their new order: A[p] = L U. Only the triangles of L (unit) and U count."""

Pullback = Callable[..., Any]


@primitive
def factor(a: Array) -> Factors:
    """Gaussian elimination with partial pivoting of A [..., n, n]: the largest element, the first of equals.

    Rows stay where they are until the end, only marked as used. A column of zeros is left as it is, so that a singular
    matrix gets a U with a zero on its diagonal. A matrix that holds NaN gets a U of NaN: comparisons with NaN find no
    pivot. Blocked: n^3 operations, nearly all in matrix products; n steps of 15
    small operators. The factors are a means to solve and to take determinants, which have the rules: no gradient
    flows through them.
    """
    if unrolled.are_few(a.shape[:-1]):
        return unrolled.eliminated(a)
    panel = _one_panel if at_most_a_block(a.shape[-1]) else _blocked
    multipliers, worked, order = panel(a)
    shape = op.Identity(order, types=[Type(np.int64, a.shape[:-1])])
    unit = op.Identity(rows_at(multipliers, shape), types=[a.type])
    told = op.Add(rows_at(worked, shape), not_a_number(a))
    return unit, op.Identity(told, types=[a.type]), shape


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


def _unused(a: Array) -> Array:
    """A column of True [..., n, 1]."""
    return filled(a, [size(a, -2), 1], np.bool_(True))


def _one_panel(a: Array) -> Factors:
    multipliers, worked, order, _ = _panel(a, _unused(a))
    return multipliers, worked, order


def _panel(columns: Array, unused: Array) -> tuple[Array, Array, Array, Array]:
    """Eliminate w columns [..., n, w], w > 0, with pivots from the unused rows.

    Returns the multipliers [..., n, w], zero for rows used before, the columns after elimination, the w pivots
    [..., w], and the rows unused after it.
    """
    batch = len(columns.shape) - 2
    numbers = op.Unsqueeze(counting(columns, -2), [1])
    row_shape = op.Concat(sizes(columns, 0, batch), np.array([1]), size(columns, -1), axis=0)

    def row_of(rest: Array, pivot: Array) -> Array:
        if not batch:
            return op.Gather(rest, op.Squeeze(pivot, [1]), axis=0)
        return op.GatherElements(rest, op.Expand(pivot, row_shape), axis=batch)

    def step(rest: Array, free: Array, place: Array) -> tuple[list[Array], list[Array]]:
        column = op.Gather(rest, place, axis=-1)
        pivot = op.ArgMax(op.Where(free, op.Abs(column), -1.0), axis=-2, keepdims=1)
        row = row_of(rest, pivot)
        free = op.And(free, op.Not(op.Equal(numbers, pivot)))
        head = op.Gather(row, place, axis=-1)
        safe = op.Where(op.Equal(head, 0.0), 1.0, head)
        multiplier = op.Where(free, op.Div(column, safe), 0.0)
        return [op.Sub(rest, op.MatMul(multiplier, row)), free], [multiplier, pivot]

    places = op.Unsqueeze(counting(columns, -1), [1])
    worked, unused, multipliers, pivots = scan(step, [columns, unused], [places])
    order = op.Squeeze(stacked_columns(pivots), [-2])
    return stacked_columns(multipliers), worked, order, unused


def _blocked(a: Array) -> Factors:
    n = size(a, -1)

    def step(i: Array, rest: Array, unused: Array, *known: Array) -> tuple[list[Array], list[Array]]:
        multipliers, worked, pivots, unused = _panel(cut(rest, 0, BLOCK, -1), unused)
        right = cut(rest, BLOCK, None, -1)
        top = substitute(rows_at(multipliers, pivots), rows_at(right, pivots), lower=True, unit=True)
        right = op.Sub(right, op.MatMul(multipliers, top))
        found = (multipliers, worked, pivots)
        joined = [op.Concat(x, y, axis=-1) for x, y in zip(known, found, strict=True)]
        return [right, unused, *joined], []

    no_columns = cut(a, 0, 0, -1)
    no_pivots = op.Squeeze(filled(a, [1, 0], np.int64(0)), [-2])
    unused = _unused(a)
    types = [changing(a, [-1]), unused.type, changing(a, [-1]), changing(a, [-1]), changing(no_pivots, [-1])]
    _, _, m, u, p = loop(block_count(n), step, [a, unused, no_columns, no_columns, no_pivots], types)
    return m, u, p


@primitive
def solve_with(a: Array, unit: Array, worked: Array, order: Array, b: Array, *, transposed: bool = False) -> Array:
    """X with A X = B, or A^T X = B, by the factors of A; A itself is there for the derivative alone.

    A [..., n, n] and B [..., n, k] have the same batch. A singular A gives inf or NaN. 2 n^2 k operations.
    """
    if not transposed:
        forward = solve_triangular(unit, rows_in_order(b, order), lower=True, unit=True)
        return op.Identity(solve_triangular(worked, forward, lower=False), types=[b.type])
    forward = solve_triangular(swapped(worked), b, lower=True)
    permuted = solve_triangular(swapped(unit), forward, lower=False, unit=True)
    return op.Identity(rows_in_order(permuted, inverse_order(order)), types=[b.type])


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
    a: Array, unit: Array, worked: Array, order: Array, b: Array, *, transposed: bool = False
) -> tuple[Array, Pullback]:
    """dB = A^-T dX by the same factors, and dA = -dB X^T (Giles 2008, 2.3.1); A^T has the transposed cotangent."""
    x = solve_with(a, unit, worked, order, b, transposed=transposed)

    def pullback(dx: Array) -> tuple[Array | None, ...]:
        db = solve_with(a, unit, worked, order, dx, transposed=not transposed)
        da = unrolled.product(x, swapped(db)) if transposed else unrolled.product(db, swapped(x))
        return op.Neg(da), None, None, None, db

    return x, pullback


def solve(a: Array, b: Array) -> Array:
    """X with A X = B, for A [..., n, n] and B [..., n, k] with the same batch."""
    x: Array = solve_with(a, *factors_of(a), b)
    return x


@primitive
def inverse_with(a: Array, unit: Array, worked: Array, order: Array) -> Array:
    """The inverse of A [..., n, n] by its factors; A itself is there for the derivative. Inf or NaN if singular."""
    found: Array = solve_with(a, unit, worked, order, identity_like(a))
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
