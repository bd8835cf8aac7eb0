"""Reductions that onnxruntime computes slowly or with overflow, rewritten for floats of any dtype.

Each function takes what the operator takes: `x`, the axes (None for all), and the two attributes.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.ir.runtimes import fault
from primsplit.ops import op
from primsplit.tracing.array import Array

LIMITS: dict[str, int] = {"float64": 1000, "float32": 120, "bfloat16": 120, "float16": 13}
"""Powers of two that have a reciprocal in the dtype."""


def sum_of_squares(x: Array, axes: Array | None = None, **attributes: Any) -> Array:
    """ReduceSumSquare."""
    return op.ReduceSum(op.Mul(x, x), axes, **attributes)


@fault(
    "underflow_of_float64_exp",
    kind="wrong",
    operators=("Exp", "Softmax"),
    says="Exp of float64 gives 5.6e-309 for -inf and for all that underflows.",
    before="1.21",
)
def log_sum_exp(x: Array, axes: Array | None = None, *, keepdims: int, noop_with_empty_axes: int) -> Array:
    """ReduceLogSumExp, the largest element taken out of the exponentials; -inf over -inf alone or over nothing.

    What is added is the largest element itself: onnxruntime before 1.21 makes 6e-309 of exp(-inf) in float64.
    """
    noop = noop_with_empty_axes
    largest = op.ReduceMax(x, axes, keepdims=1, noop_with_empty_axes=noop)
    finite = op.Where(op.IsInf(largest), 0.0, largest)
    powers = op.Exp(op.Sub(x, finite, types=[x.type]))
    logarithm = op.Log(op.ReduceSum(powers, axes, keepdims=keepdims, noop_with_empty_axes=noop))
    if not keepdims:
        largest = op.Reshape(largest, op.Shape(logarithm), allowzero=1, types=[logarithm.type])
    return op.Add(logarithm, largest, types=[logarithm.type])


def euclidean(x: Array, axes: Array | None = None, *, keepdims: int, noop_with_empty_axes: int) -> Array:
    """ReduceL2 without overflow or underflow of the squares: they are taken of `x` over a power of two near max |x|.

    The scaling is exact, so where nothing overflows the result is the one without it.
    """
    noop = noop_with_empty_axes
    scale, inverse = power_of_two_near(op.ReduceMax(op.Abs(x), axes, keepdims=1, noop_with_empty_axes=noop))
    small = op.Mul(x, inverse, types=[x.type])
    root = op.Sqrt(op.ReduceSum(op.Mul(small, small), axes, keepdims=keepdims, noop_with_empty_axes=noop))
    if not keepdims:
        scale = op.Reshape(scale, op.Shape(root), allowzero=1, types=[root.type])
    return op.Mul(root, scale, types=[root.type])


def power_of_two_near(largest: Array) -> tuple[Array, Array]:
    """Return a power of two near each non-negative number, and its reciprocal. No gradient flows through either."""
    limit = LIMITS[largest.dtype.name]
    bounded = op.Clip(largest, 2.0**-limit, 2.0**limit)
    exponent = op.Floor(op.Mul(op.Log(bounded), 1.0 / math.log(2.0)))
    two = np.asarray(2.0, largest.dtype)
    return op.Pow(two, exponent), op.Pow(two, op.Neg(exponent))


FASTER: dict[str, Callable[..., Array]] = {
    "ReduceSumSquare": sum_of_squares,
    "ReduceLogSumExp": log_sum_exp,
    "ReduceL2": euclidean,
}
"""The replacements for operators that have a kernel."""
