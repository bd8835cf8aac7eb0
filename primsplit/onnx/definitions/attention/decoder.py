"""Define DecoderMaskedMultiHeadAttention of `com.microsoft`: attention of one further word, with a buffer as cache."""

from typing import Any

from primsplit.ir.errors import UnsupportedFunction
from primsplit.onnx.definitions.attention.heads import joined_heads, split_heads
from primsplit.onnx.definitions.attention.microsoft import FILTER, heads_of, hidden_scores, scores
from primsplit.onnx.definitions.attention.shared_cache import shared_caches
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import int_scalar


@defines("com.microsoft::DecoderMaskedMultiHeadAttention")
def decoder_attention(
    query: Array,
    key: Array | None = None,
    value: Array | None = None,
    mask: Array | None = None,
    attention_bias: Array | None = None,
    past_key: Array | None = None,
    past_value: Array | None = None,
    past_length: Array | None = None,
    beam_width: Array | None = None,
    cache_indirection: Array | None = None,
    bias: Array | None = None,
    *,
    outputs: int = 1,
    num_heads: int,
    mask_filter_value: float = FILTER,
    output_qk: int = 0,
    past_present_share_buffer: int = 0,
    scale: float = 0.0,
) -> tuple[Any, ...]:
    """The attention of one word per row to the `past_length` words before it and itself, or to given heads of keys.

    The past has room for more words; the returned caches contain the new word. Raises UnsupportedFunction for beams.
    """
    if cache_indirection is not None:
        raise UnsupportedFunction("DecoderMaskedMultiHeadAttention with beams is not supported")
    if key is not None and value is not None and len(key.shape) == 4:
        size = query.shape[-1]
        shifted = query if bias is None else op.Add(query, op.Slice(bias, [0], [size], [0]), types=[query.type])
        q, every = split_heads(shifted, num_heads), [key, value]
        caches = every
    else:
        q, k, v = heads_of(*_apart(query, key, value), bias, num_heads)
        if past_key is None or past_value is None or past_length is None:
            raise UnsupportedFunction("DecoderMaskedMultiHeadAttention without a past is not supported")
        place = int_scalar(past_length)
        caches, every = shared_caches(past_key, past_value, k, v, place)
    hidden = hidden_scores(mask, q, every[0], 0, 0, mask_filter_value)
    shares = op.Softmax(scores(q, every[0], scale, hidden, attention_bias), axis=-1)
    return joined_heads(op.MatMul(shares, every[1])), *caches, shares


def _apart(query: Array, key: Array | None, value: Array | None) -> tuple[Array, Array, Array]:
    """Return queries, keys and values, which may be side by side in one input."""
    if key is not None and value is not None:
        return query, key, value
    q, k, v = op.Split(query, axis=-1, num_outputs=3, outputs=3)
    return q, k, v
