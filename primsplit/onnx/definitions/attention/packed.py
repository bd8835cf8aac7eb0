"""Define attention of sequences without their padding: RemovePadding, RestorePadding and the attention between them.

A batch [batch, length, ...] is packed as its real tokens [tokens, ...]. `token_offset` [batch, length] holds the
positions in the batch of the real tokens, and then those of the padding, which is at the end of each sequence.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Type
from primsplit.onnx.definitions.attention.heads import counted, joined_heads, split_heads
from primsplit.onnx.definitions.attention.microsoft import FILTER, heads_of, hidden_scores, scores, three_of
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to, zeros


@defines("com.microsoft::RemovePadding")
def remove_padding(x: Array, lengths: Array, *, outputs: int = 2) -> tuple[Array, ...]:
    """The real tokens, their offsets and those of the padding, the cumulative lengths, and the longest length."""
    batch, length = x.shape[:2]
    is_real = op.Less(counted(0, length), op.Cast(op.Unsqueeze(lengths, [1]), to=np.int64))
    flat = reshape_to(
        op.And(is_real, op.Expand(np.array(True), tracing.size_vector((batch, length)))), [batch * length]
    )
    real, other = (op.Squeeze(op.NonZero(mask), [0]) for mask in (flat, op.Not(flat)))
    tokens = op.Gather(reshape_to(x, [batch * length, *x.shape[2:]]), real, axis=0)
    offsets = op.Cast(op.Concat(real, other, axis=0), to=np.int32, types=[Type(np.int32, (batch * length,))])
    sums = op.Concat(np.zeros(1, lengths.dtype), op.CumSum(lengths, 0), axis=0)
    return tokens, reshape_to(offsets, (batch, length)), sums, op.ReduceMax(lengths, [0], keepdims=1)


@defines("com.microsoft::RestorePadding")
def restore_padding(tokens: Array, token_offset: Array, *, outputs: int = 1) -> Array:
    """Return the batch of the tokens, zero where its padding is."""
    batch, length = token_offset.shape
    start = zeros((batch * length, *tokens.shape[1:]), tokens.dtype)
    return reshape_to(op.ScatterND(start, _places(tokens, token_offset), tokens), (batch, length, *tokens.shape[1:]))


@defines("com.microsoft::PackedAttention")
def packed_attention(
    tokens: Array,
    weights: Array,
    bias: Array,
    token_offset: Array,
    sums: Array,
    attention_bias: Array | None = None,
    *,
    outputs: int = 1,
    num_heads: int,
    qkv_hidden_sizes: Sequence[int] = (),
    scale: float = 0.0,
) -> Array:
    """Return the attention of the tokens to those of their own sequence; queries, keys and values from one product."""
    projected = restore_padding(op.Add(op.MatMul(tokens, weights), bias), token_offset)
    q, k, v = (split_heads(part, num_heads) for part in three_of(projected, qkv_hidden_sizes))
    return _attended(tokens, (q, k, v), token_offset, attention_bias, scale)


@defines("com.microsoft::PackedMultiHeadAttention")
def packed_multi_head_attention(
    query: Array,
    key: Array | None,
    value: Array | None,
    bias: Array | None,
    token_offset: Array,
    sums: Array,
    attention_bias: Array | None = None,
    *,
    outputs: int = 1,
    num_heads: int,
    mask_filter_value: float = FILTER,
    scale: float = 0.0,
) -> Array:
    """Return the attention of the tokens to those of their own sequence; inputs come apart, or in one."""
    q, k, v = (None if x is None else restore_padding(x, token_offset) for x in (query, key, value))
    found = heads_of(q, k, v, bias, num_heads)  # type: ignore[arg-type]  # there is always a query
    return _attended(query, found, token_offset, attention_bias, scale)


def _attended(
    tokens: Array, three: Sequence[Array], token_offset: Array, attention_bias: Array | None, scale: float
) -> Array:
    """Return the attention of queries to the keys of real tokens, packed like the tokens."""
    q, k, v = three
    ones = op.Expand(np.ones((), np.int32), op.Shape(tokens, end=1))
    hidden = hidden_scores(restore_padding(ones, token_offset), q, k, 0, False, float(np.finfo(q.dtype).min))
    y = joined_heads(op.MatMul(op.Softmax(scores(q, k, scale, hidden, attention_bias), axis=-1), v))
    batch, length = token_offset.shape
    return op.GatherND(reshape_to(y, (batch * length, y.shape[2])), _places(tokens, token_offset))


def _places(tokens: Array, token_offset: Array) -> Any:
    """Return the indices of the tokens in the flattened batch, as a column."""
    batch, length = token_offset.shape
    row = op.Cast(reshape_to(token_offset, [batch * length]), to=np.int64)
    first = op.Slice(row, [0], op.Shape(tokens, end=1), types=[Type(np.int64, tokens.shape[:1])])
    return op.Unsqueeze(first, [1])
