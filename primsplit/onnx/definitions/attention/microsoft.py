"""Define Attention, QAttention and MultiHeadAttention of `com.microsoft`: `softmax(Q K^T scale + mask + bias) V`.

Scores that a padding mask hides get `mask_filter_value`, -10000 by default, added; scores of the future become the
lowest number of the dtype.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import dims
from primsplit.ir.dims import Dim
from primsplit.ir.errors import ShapeError, UnsupportedFunction
from primsplit.numpy.axes import size_as
from primsplit.onnx.definitions.attention.heads import counted, default_scale, joined_heads, split_heads
from primsplit.onnx.definitions.attention.shared_cache import shared_caches
from primsplit.onnx.definitions.quantized.operators import matmul_integer_to_float
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import int_scalar, swapped

FILTER = -10000.0


@defines("com.microsoft::Attention")
def attention(
    x: Array,
    weights: Array,
    bias: Array | None = None,
    mask: Array | None = None,
    past: Array | None = None,
    attention_bias: Array | None = None,
    past_length: Array | None = None,
    *,
    outputs: int = 1,
    num_heads: int,
    do_rotary: int = 0,
    mask_filter_value: float = FILTER,
    past_present_share_buffer: int = 0,
    qkv_hidden_sizes: Sequence[int] = (),
    rotary_embedding_dim: int = 0,
    scale: float = 0.0,
    unidirectional: int = 0,
) -> tuple[Any, Any]:
    """Return the self-attention of `x`, queries, keys and values from one product.

    And keys and values, for the next word.
    """
    if do_rotary or past_present_share_buffer or past_length is not None:
        raise UnsupportedFunction("Attention with rotary embedding or a shared buffer is not supported")
    projected = op.MatMul(x, weights)
    projected = projected if bias is None else op.Add(projected, bias)
    three = [split_heads(part, num_heads) for part in three_of(projected, qkv_hidden_sizes)]
    return _attended(three, mask, past, attention_bias, mask_filter_value, scale, unidirectional)


@defines("com.microsoft::QAttention")
def quantized_attention(
    x: Array,
    weights: Array,
    bias: Array,
    x_scale: Array,
    scales: Array,
    mask: Array | None = None,
    x_zero: Array | None = None,
    zeros: Array | None = None,
    past: Array | None = None,
    *,
    outputs: int = 1,
    num_heads: int,
    do_rotary: int = 0,
    mask_filter_value: float = FILTER,
    past_present_share_buffer: int = 0,
    scale: float = 0.0,
    unidirectional: int = 0,
) -> tuple[Any, Any]:
    """Return `attention` of integers, whose product with integer weights is scaled before the bias is added."""
    if do_rotary or past_present_share_buffer:
        raise UnsupportedFunction("QAttention with rotary embedding or a shared buffer is not supported")
    projected = matmul_integer_to_float(x, weights, x_scale, scales, x_zero, zeros, bias)
    three = [split_heads(part, num_heads) for part in three_of(projected, ())]
    return _attended(three, mask, past, None, mask_filter_value, scale, unidirectional)


def _attended(
    three: list[Array],
    mask: Array | None,
    past: Array | None,
    attention_bias: Array | None,
    filter_value: float,
    scale: float,
    is_causal: int,
) -> tuple[Any, Any]:
    """Return the attention of queries, keys and values in heads after those of the past, and the latter two joined."""
    q, k, v = three
    before: Dim = 0
    if past is not None:
        before = past.shape[3]
        old_key, old_value = (op.Squeeze(part, [0]) for part in op.Split(past, axis=0, num_outputs=2, outputs=2))
        k, v = op.Concat(old_key, k, axis=2), op.Concat(old_value, v, axis=2)
    hidden = hidden_scores(mask, q, k, before, is_causal, filter_value)
    y = joined_heads(op.MatMul(op.Softmax(scores(q, k, scale, hidden, attention_bias), axis=-1), v))
    # Values of another size than the keys have no place beside them, and no present.
    present = op.Concat(op.Unsqueeze(k, [0]), op.Unsqueeze(v, [0]), axis=0) if dims.same(k.shape[3], v.shape[3]) else y
    return y, present


def three_of(x: Array, sizes: Sequence[int]) -> list[Array]:
    """Return queries, keys and values, side by side in the last axis; of equal sizes if those are not given."""
    last = x.shape[-1]
    if not sizes and isinstance(last, int) and last % 3:
        raise ShapeError(f"{last} features cannot be split into queries, keys and values")
    parts = op.Split(x, list(sizes), axis=-1) if sizes else op.Split(x, axis=-1, num_outputs=3)
    return list(parts)


def scores(q: Array, k: Array, scale: float, hidden: Array | None, bias: Array | None) -> Any:
    """Return `q k^T scale`, plus the scores that hide keys and the bias; `scale` is 1 / sqrt(size) if it is 0."""
    found = op.MatMul(op.Mul(q, scale or default_scale(q)), swapped(k))
    if hidden is not None and bias is not None:
        return op.Add(found, op.Add(bias, hidden))
    added = bias if hidden is None else hidden
    return found if added is None else op.Add(found, added, types=[found.type])


def hidden_scores(
    mask: Array | None, q: Array, k: Array, past: Dim | Array, is_causal: int, filter_value: float
) -> Array | None:
    """Return what the padding mask and causal order add to the scores: [batch or 1, 1, queries or 1, keys], or None.

    The last query attends all keys, as in onnxruntime's kernel if there are more keys than words so far.
    """
    total = k.shape[2]
    found = None
    if mask is not None:
        seen = _seen(mask, q.shape[0], total)
        found = op.Where(seen, np.zeros((), q.dtype), np.asarray(filter_value, q.dtype))
    if is_causal and not dims.is_one(q.shape[2]):
        turns = counted(0, q.shape[2])
        rows = op.Add(past, turns) if isinstance(past, Array) else counted(past, q.shape[2])
        reached = op.LessOrEqual(counted(0, total), op.Unsqueeze(rows, [1]))
        if not isinstance(past, Array) and not dims.same(total, past + q.shape[2]):
            reached = op.Or(reached, op.Unsqueeze(op.Equal(turns, size_as(q.shape[2] - 1, np.int64)), [1]))
        lowest = np.asarray(np.finfo(q.dtype).min, q.dtype)
        found = op.Where(reached, np.zeros((), q.dtype) if found is None else found, lowest)
    return found


def _seen(mask: Array, batch: Dim, total: Dim) -> Any:
    """Return which keys may be attended: by 0 and 1 for each key, or each query and key, or by the ends of the rows."""
    rank = len(mask.shape)
    if rank == 2:
        return op.Unsqueeze(op.Greater(mask, 0), [1, 2])
    if rank == 3:
        return op.Unsqueeze(op.Greater(mask, 0), [1])
    if rank != 1:
        raise UnsupportedFunction(f"a mask of {rank} axes is not supported")
    keys, count = op.Cast(counted(0, total), to=mask.dtype), mask.shape[0]
    if dims.same(count, batch):
        return op.Less(keys, op.Unsqueeze(mask, [1, 2, 3]))
    if not any(dims.could_be(count, n) for n in (batch, 2 * batch, 3 * batch + 2)):
        raise UnsupportedFunction(f"a mask of {count} numbers for {batch} rows is not supported")
    both = mask if dims.same(count, 2 * batch) else _ends_with_starts(mask, batch)
    ends, starts = (op.Unsqueeze(part, [1, 2, 3]) for part in op.Split(both, axis=0, num_outputs=2, outputs=2))
    return op.And(op.Less(keys, ends), op.GreaterOrEqual(keys, starts))


def _ends_with_starts(mask: Array, batch: Dim) -> Array:
    """Return the ends of the rows and then their starts, 0 if the mask has none; only the run knows its length.

    It has one number a row, or two, or three and two more, of which the first of each row is read. A run in which it
    has another length fails.
    """
    rows = tracing.size_vector([batch])
    if dims.could_be(mask.shape[0], 3 * batch + 2):
        is_long = op.Equal(op.Shape(mask), tracing.size_vector([3 * batch + 2]))
        mask = op.Slice(mask, [0], op.Where(is_long, rows, np.iinfo(np.int64).max))
    starts = op.Where(op.Equal(op.Shape(mask), rows), rows, 0)
    padded = op.Pad(mask, op.Concat([0], starts, axis=0))
    found: Array = op.Reshape(padded, tracing.size_vector([2 * batch]), allowzero=1)
    return found


@defines("com.microsoft::MultiHeadAttention")
def multi_head_attention(
    query: Array,
    key: Array | None = None,
    value: Array | None = None,
    bias: Array | None = None,
    mask: Array | None = None,
    attention_bias: Array | None = None,
    past_key: Array | None = None,
    past_value: Array | None = None,
    past_length: Array | None = None,
    cache_indirection: Array | None = None,
    *,
    outputs: int = 1,
    num_heads: int,
    mask_filter_value: float = FILTER,
    scale: float = 0.0,
    unidirectional: int = 0,
) -> tuple[Any, ...]:
    """Return the attention of queries to keys; the keys and values after those of the past; and the scores.

    Queries, keys and values come apart, or packed in one input or two, with an axis of 3 or 2 before the last. With
    `past_length` the past has room for more words, into which the new ones are put.
    """
    if cache_indirection is not None:
        raise UnsupportedFunction("MultiHeadAttention with beams is not supported")
    q, k, v = heads_of(query, key, value, bias, num_heads)
    kept: Sequence[Array] = (k, v)
    before: Dim | Array = 0
    if past_key is not None and past_value is not None and past_length is not None:
        before = int_scalar(past_length)
        kept, (k, v) = shared_caches(past_key, past_value, k, v, before)
    elif past_key is not None and past_value is not None:
        before = past_key.shape[2]
        k, v = kept = op.Concat(past_key, k, axis=2), op.Concat(past_value, v, axis=2)
    hidden = hidden_scores(mask, q, k, before, unidirectional, mask_filter_value)
    logits = scores(q, k, scale, hidden, attention_bias)
    return joined_heads(op.MatMul(op.Softmax(logits, axis=-1), v)), *kept, logits


def heads_of(
    query: Array, key: Array | None, value: Array | None, bias: Array | None, heads: int
) -> tuple[Array, Array, Array]:
    """Return queries, keys and values as [batch, heads, length, size].

    Those that come in heads already take no bias.
    """
    if key is None:
        q, k, v = _unpacked(query, 3)
        size = q.shape[-1]
        biases = [None] * 3 if bias is None else [op.Reshape(b, [heads, 1, size]) for b in three_of(bias, ())]
        q, k, v = (_shifted(op.Transpose(x, perm=[0, 2, 1, 3]), b) for x, b in zip((q, k, v), biases, strict=True))
        return q, k, v
    if value is None:
        k, v = (op.Transpose(x, perm=[0, 2, 1, 3]) for x in _unpacked(key, 2))
        return split_heads(query, heads), k, v
    if len(key.shape) == 4:
        shift = None if bias is None else op.Slice(bias, [0], tracing.size_vector(query.shape[2:]))
        return split_heads(_shifted(query, shift), heads), key, value
    parts = [None] * 3 if bias is None else _biases(bias, query, key, value)
    q, k, v = (split_heads(_shifted(x, b), heads) for x, b in zip((query, key, value), parts, strict=True))
    return q, k, v


def _unpacked(x: Array, count: int) -> list[Array]:
    """Return [batch, length, heads, count, size] as `count` arrays without that axis."""
    if len(x.shape) != 5:
        raise UnsupportedFunction(f"packed heads of {len(x.shape)} axes are not supported")
    return [op.Squeeze(part, [3]) for part in op.Split(x, axis=3, num_outputs=count)]


def _biases(bias: Array, *inputs: Array) -> list[Array]:
    return list(op.Split(bias, tracing.size_vector([x.shape[-1] for x in inputs]), axis=0, outputs=3))


def _shifted(x: Array, bias: Array | None) -> Any:
    return x if bias is None else op.Add(x, bias)
