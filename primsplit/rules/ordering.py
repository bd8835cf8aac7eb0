"""Derivative rules of sorting and searching: cotangents return to where the elements came from."""

import numpy as np

from primsplit.ir import Type
from primsplit.ops import op
from primsplit.rules.table import Pullback, no_gradient, rrule
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to, zeros


@rrule("TopK")
def top_k(x: Array, k: Array, *, axis: int, largest: int, sorted: int) -> tuple[tuple[Array, ...], Pullback]:
    """Each chosen element gets the cotangent of its place; the places differ, so nothing is added up."""
    values, places = op.TopK(x, k, axis=axis, largest=largest, sorted=sorted)

    def pullback(dvalues: Array, _: None = None) -> tuple[Array, None]:
        return op.ScatterElements(zeros(x.shape, x.dtype), places, dvalues, axis=axis), None

    return (values, places), pullback


@rrule("Unique")
def unique(x: Array, *, sorted: int, axis: int | None = None) -> tuple[tuple[Array, ...], Pullback]:
    """A value's cotangent goes to its first occurrence, as in ChainRules; the other occurrences get 0."""
    values, first, inverse, counts = op.Unique(x, axis=axis, sorted=sorted, outputs=4)

    def pullback(dvalues: Array, *_: None) -> tuple[Array]:
        if axis is None:
            flat = op.ScatterElements(zeros((x.size,), x.dtype), first, dvalues)
            return (reshape_to(flat, x.shape),)
        column = tuple(first.shape[0] if i == axis % x.ndim else 1 for i in range(x.ndim))
        places = op.Expand(reshape_to(first, column), op.Shape(dvalues), types=[Type(np.int64, dvalues.shape)])
        return (op.ScatterElements(zeros(x.shape, x.dtype), places, dvalues, axis=axis),)

    return (values, first, inverse, counts), pullback


no_gradient("ArgMax", "ArgMin")
