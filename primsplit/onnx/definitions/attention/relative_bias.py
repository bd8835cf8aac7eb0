"""Define biases of attention by the distance of two words, of `com.microsoft`: T5's, and WavLM's gated one.

onnxruntime has kernels only for other devices; the formulas are those of its documentation.
"""

import math

import numpy as np

from primsplit.ir.errors import ShapeError, UnsupportedFunction
from primsplit.onnx.definitions.attention.heads import split_heads
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to
from primsplit.tracing.operators import cast_to


@defines("com.microsoft::RelativePositionBias")
def relative_position_bias(
    table: Array,
    query_length: Array,
    key_length: Array,
    *,
    max_distance: int,
    outputs: int = 1,
    is_bidirectional: int = 0,
) -> Array:
    """Return [1, heads, query length, key length] from a table of one column per head (Raffel et al. 2020, "T5").

    The table is declared as [buckets, heads], and its numbers are in column order.
    """
    buckets, heads = table.shape
    if not isinstance(buckets, int):
        raise ShapeError(f"RelativePositionBias needs a table of a known number of buckets, not {buckets}")
    rows, columns = (op.Range(0, reshape_to(cast_to(n, np.int64), ()), 1) for n in (query_length, key_length))
    apart = op.Sub(op.Unsqueeze(columns, [0]), op.Unsqueeze(rows, [1]))
    found = _buckets(apart, buckets, max_distance, bool(is_bidirectional))
    return op.Unsqueeze(op.Gather(reshape_to(table, (heads, buckets)), found, axis=1), [0])


def _buckets(apart: Array, count: int, most: int, is_bidirectional: bool) -> Array:
    """Return the bucket of each distance: one for each short distance, then ever wider ones."""
    distance = op.Abs(apart) if is_bidirectional else op.Max(op.Neg(apart), 0)
    count = count // 2 if is_bidirectional else count
    exact = count // 2
    scale = (count - exact) / math.log(most / exact)
    wide = op.Mul(op.Log(op.Div(cast_to(op.Max(distance, 1), np.float32), float(exact))), scale)
    far = op.Min(op.Add(cast_to(wide, np.int64), exact), count - 1)
    found = op.Where(op.Less(distance, exact), distance, far)
    return op.Add(found, op.Mul(cast_to(op.Greater(apart, 0), np.int64), count)) if is_bidirectional else found


@defines("com.microsoft::GatedRelativePositionBias")
def gated_relative_position_bias(
    query: Array,
    query_bias: Array,
    relative: Array,
    weight: Array,
    bias: Array,
    eco: Array,
    token_offset: Array | None = None,
    *,
    num_heads: int,
    outputs: int = 1,
) -> Array:
    """`(u (r eco - 1) + 2) relative`, u and r the sums of the halves of a layer of each head's query, in a sigmoid.

    [batch, heads, length, length], of a query [batch, length, heads * size] (Chen et al. 2022, "WavLM").
    """
    if token_offset is not None:
        raise UnsupportedFunction("GatedRelativePositionBias of words without padding is not supported")
    layer = op.Add(op.MatMul(split_heads(op.Add(query, query_bias), num_heads), weight), bias)
    halves = reshape_to(layer, (*layer.shape[:-1], 2, layer.shape[-1] // 2))
    u, r = op.Split(op.Sigmoid(op.ReduceSum(halves, [-1], keepdims=0)), [1, 1], axis=-1, outputs=2)
    return op.Mul(op.Add(op.Mul(u, op.Sub(op.Mul(r, eco), 1)), 2), relative)
