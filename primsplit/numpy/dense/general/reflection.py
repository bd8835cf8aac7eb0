"""Householder reflections, safe for vectors of very large or very small norm."""

from typing import Any, NamedTuple

import numpy as np

from primsplit.ops import op
from primsplit.tracing.array import Array


def length(x: Array, *, axis: int) -> Array:
    """The Euclidean length along an axis, without overflow or underflow."""
    most = op.ReduceMax(op.Abs(x), [axis], keepdims=1)
    safe = op.Where(op.Equal(most, 0.0), 1.0, most)
    part = op.Div(x, safe)
    return op.Squeeze(op.Mul(safe, op.Sqrt(op.ReduceSum(op.Mul(part, part), [axis], keepdims=1))), [axis])


class Reflection(NamedTuple):
    """I - tau v v^T, which takes a vector to (beta, 0, ...)."""

    tau: Array
    vector: Array
    beta: Array


def reflection(is_head: Array | np.ndarray[Any, Any], head: Array, tail: Array) -> Reflection:
    """The reflection of a vector [n] with this first element, a scalar, and the others in their places in `tail`.

    None, with tau 0, where the tail is zero: as LAPACK's larfg. `is_head` is True at the first element, whose place
    in `tail` holds 0.
    """
    none = op.Equal(op.ReduceMax(op.Abs(tail), [0], keepdims=0), 0.0)
    whole = length(op.Where(is_head, head, tail), axis=0)
    beta = op.Where(none, head, op.Where(op.Less(head, 0.0), whole, op.Neg(whole)))
    tau = op.Where(none, 0.0, op.Div(op.Sub(beta, head), op.Where(none, 1.0, beta)))
    vector = op.Where(is_head, 1.0, op.Div(tail, op.Where(none, 1.0, op.Sub(head, beta))))
    return Reflection(tau, vector, beta)
