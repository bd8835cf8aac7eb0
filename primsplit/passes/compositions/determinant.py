"""Det in float64: Gaussian elimination with partial pivoting, written out for a matrix of known size."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.array import Array
from primsplit.errors import PrimsplitError
from primsplit.ops import op

LAST, SECOND_LAST = np.array([-1]), np.array([-2])


def det(x: Array) -> Array:
    """The determinants of [..., n, n]; n is a number, and about 20 n operators are made."""
    n = x.shape[-1]
    if not isinstance(n, int):
        raise PrimsplitError("the size of the matrix whose float64 determinant is taken is not known before the run")
    if n == 0:
        return op.Expand(np.ones((), x.dtype), list(x.shape[:-2]))
    product, rest = eliminate(x, n)
    for size in range(n - 1, 0, -1):
        pivot, rest = eliminate(rest, size)
        product = op.Mul(product, pivot)
    return op.Squeeze(product, np.array([-2, -1]))


def eliminate(x: Array, n: int) -> tuple[Array, Array]:
    """The pivot of the first column, [..., 1, 1], negated where a row was swapped, and what is left, one smaller.

    A pivot of 0 means a column of zeros, from which nothing need be taken away.
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


COMPOSITIONS: dict[str, Callable[..., Any]] = {"Det": det}
