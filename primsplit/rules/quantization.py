"""Derivative rules of quantization.

QuantizeLinear rounds to integers: no gradient flows through it, as through Round. DequantizeLinear is linear in its
scale; its other inputs are integers, or floats of 8 bits that stand for the integers, and have no tangent. If a program
has both, one after the other, `onnx.definitions.quantized.chains` has defined the straight-through derivative before
these rules are used.
"""

import numpy as np

from primsplit.ir import Type, dims
from primsplit.ops import op
from primsplit.rules.table import Pullback, no_gradient, rrule
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import full, reshape_to, sum_to

no_gradient("ConvInteger", "DynamicQuantizeLinear", "QLinearConv", "QuantizeLinear")


@rrule("DequantizeLinear")
def dequantize_linear(
    x: Array, scale: Array, zero_point: Array | None = None, *, axis: int, block_size: int
) -> tuple[Array, Pullback]:
    """`(x - zero) scale`: each scale sums over the elements that it is for, which a scale of 1 leaves as they are."""
    z = op.DequantizeLinear(x, scale, zero_point, axis=axis, block_size=block_size)
    inputs = 2 if zero_point is None else 3

    def pullback(dz: Array) -> list[Array | None]:
        ones = full(scale.shape, np.ones((), scale.dtype))
        steps = op.DequantizeLinear(x, ones, zero_point, axis=axis, block_size=block_size)
        return [None, sum_for(dz * steps, scale, axis, block_size), None][:inputs]

    return z, pullback


def sum_for(x: Array, scale: Array, axis: int, block_size: int) -> Array:
    """Return the sum over the elements of each scale: all, a slice along the axis, or a block of the axis."""
    rank = len(x.shape)
    if block_size:
        return _sum_of_blocks(x, scale, axis % rank, block_size)
    if len(scale.shape) == 1 and not dims.is_one(scale.shape[0]):
        axes = [i for i in range(rank) if i != axis % rank]
        return sum_to(op.ReduceSum(x, axes, keepdims=0) if axes else x, scale.shape)
    return reshape_to(op.ReduceSum(x, keepdims=0), scale.shape)


def _sum_of_blocks(x: Array, scale: Array, axis: int, block_size: int) -> Array:
    count = scale.shape[axis]
    missing = count * block_size - x.shape[axis]
    # Every axis is named: onnxruntime moves a Transpose wrongly past a Pad of some axes.
    lead, trail = [0] * axis, [0] * (len(x.shape) - axis - 1)
    padded = op.Pad(x, [*(0 for _ in x.shape), *lead, missing, *trail], np.zeros((), x.dtype))
    blocks = reshape_to(padded, (*x.shape[:axis], count, block_size, *x.shape[axis + 1 :]))
    return op.ReduceSum(blocks, [axis + 1], keepdims=0, types=[Type(x.dtype, scale.shape)])
