"""Decompose Det in float64: Gaussian elimination with partial pivoting, unrolled for a known size, else a Loop."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.ir import Type, Value
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.broadcasting import count_up, expand_to, int_scalar
from primsplit.tracing.regions import emit_loop, record

LAST, SECOND_LAST = np.array([-1]), np.array([-2])


def det(x: Array) -> Array:
    """Return the determinants of [..., n, n]; if n is a number, in about 20 n operators."""
    n = x.shape[-1]
    if not isinstance(n, int):
        return _det_of_any_size(x)
    if n == 0:
        return op.Expand(np.ones((), x.dtype), list(x.shape[:-2]))
    product, rest = eliminate(x, n)
    for size in range(n - 1, 0, -1):
        pivot, rest = eliminate(rest, size)
        product = op.Mul(product, pivot)
    return op.Squeeze(product, np.array([-2, -1]))


def eliminate(x: Array, n: int) -> tuple[Array, Array]:
    """The pivot of the first column, [..., 1, 1], negated if rows were swapped, and the remaining matrix, one smaller.

    A pivot of 0 means a column of zeros, which needs no elimination.
    """
    column = op.Slice(x, np.array([0]), np.array([1]), LAST)
    place = op.ArgMax(op.Abs(column), axis=-2, keepdims=1)
    pivot = op.GatherElements(column, place, axis=-2)
    first = op.Slice(x, np.array([0]), np.array([1]), SECOND_LAST)
    chosen = op.Equal(op.Reshape(np.arange(n), [n, 1]), place)
    row = op.ReduceSum(op.Where(chosen, x, 0.0), SECOND_LAST, keepdims=1)
    below = op.Slice(op.Where(chosen, first, x), np.array([1]), np.array([n]), SECOND_LAST)
    head, tail = op.Split(below, np.array([1, n - 1]), axis=-1)
    divisor = op.Where(op.Equal(pivot, 0.0), 1.0, pivot)
    after = op.Slice(row, np.array([1]), np.array([n]), LAST)
    signed = op.Where(op.Equal(place, 0), pivot, op.Neg(pivot))
    return signed, op.Sub(tail, op.Mul(op.Div(head, divisor), after))


def _det_of_any_size(x: Array) -> Array:
    """Return the determinant of a matrix of any size, one column per step; finished rows stay where they are."""
    size = x.shape[-1]
    single = (*x.shape[:-2], 1, 1)

    def step(k: Array, go: Array, left: Array, product: Array) -> list[Value]:
        number = op.Unsqueeze(count_up(size), [1])
        column = op.Gather(left, op.Unsqueeze(k, [0]), axis=-1)
        place = op.ArgMax(op.Where(op.Less(number, k), -1.0, op.Abs(column)), axis=-2, keepdims=1)
        pivot = op.GatherElements(column, place, axis=-2)
        chosen, is_first = op.Equal(number, place), op.Equal(number, k)
        first = op.Gather(left, op.Unsqueeze(k, [0]), axis=-2)
        row = op.ReduceSum(op.Where(chosen, left, 0.0), SECOND_LAST, keepdims=1)
        swapped = op.Where(is_first, row, op.Where(chosen, first, left))
        head = op.Gather(swapped, op.Unsqueeze(k, [0]), axis=-1)
        share = op.Where(op.Greater(number, k), op.Div(head, op.Where(op.Equal(pivot, 0.0), 1.0, pivot)), 0.0)
        rest = op.Identity(op.Sub(swapped, op.Mul(share, row)), types=[x.type])
        signed = op.Where(op.Equal(place, k), pivot, op.Neg(pivot))
        return [go.value, rest.value, op.Identity(op.Mul(product, signed), types=[product.type]).value]

    start = expand_to(as_array(np.ones((1, 1), x.dtype)), single)
    body = record("column", [Type(np.int64, ()), Type(np.bool_, ()), x.type, start.type], step)
    found = emit_loop(int_scalar(op.Shape(x, start=-1)).value, None, body, [x.value, start.value])
    return op.Squeeze(Array(found[1]), np.array([-2, -1]))


COMPOSITIONS: dict[str, Callable[..., Any]] = {"Det": det}
