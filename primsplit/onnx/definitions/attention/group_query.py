"""Define GroupQueryAttention of `com.microsoft`: query heads share keys, after a past of its own length per row."""

from typing import Any, NamedTuple

import numpy as np

from primsplit.ir import Type, dims
from primsplit.ir.dims import Dim
from primsplit.ir.errors import ShapeError, UnsupportedFunction
from primsplit.numpy.axes import size_as
from primsplit.onnx.definitions.attention import heads
from primsplit.onnx.definitions.attention.microsoft_rotary import rotated
from primsplit.onnx.definitions.attention.quantized_cache import CacheFormat, cache_formats
from primsplit.onnx.definitions.attention.standard import scores
from primsplit.onnx.definitions.attention.window_cache import window_cache
from primsplit.onnx.definitions.skip_normalization import inverse_deviation
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import zeros


@defines("com.microsoft::GroupQueryAttention")
def group_query_attention(
    query: Array,
    key: Array | None,
    value: Array | None,
    past_key: Array | None,
    past_value: Array | None,
    last_words: Array,
    total: Array,
    cosines: Array | None = None,
    sines: Array | None = None,
    positions: Array | None = None,
    attention_bias: Array | None = None,
    sinks: Array | None = None,
    key_scale: Array | None = None,
    value_scale: Array | None = None,
    query_norm: Array | None = None,
    key_norm: Array | None = None,
    *,
    outputs: int = 1,
    num_heads: int,
    kv_num_heads: int,
    causal: int = 1,
    do_rotary: int = 0,
    k_quant_type: str = "NONE",
    kv_cache_bit_width: int = 0,
    local_window_size: int = -1,
    qk_norm_epsilon: float = 1e-6,
    qk_output: int = 0,
    rotary_interleaved: int = 0,
    scale: float = 0.0,
    sliding_window_cache: int = 0,
    smooth_softmax: int = -1,
    softcap: float = 0.0,
    v_quant_type: str = "NONE",
) -> tuple[Any, ...]:
    """Return the attention of the queries, the keys and values of all words so far, and the scores by `qk_output`.

    `last_words` is the position of each row's last word, `total` the number of words of the longest row. In a row that
    is padded on its right, padding has values that nobody should read.
    """
    has_past = past_key is not None and past_value is not None
    kinds, scales = (k_quant_type, v_quant_type), (key_scale, value_scale)
    formats = cache_formats(kinds, kv_cache_bit_width, scales, has_past=has_past)
    if sliding_window_cache and (formats or not has_past or attention_bias is not None or outputs > 3):
        raise UnsupportedFunction(
            "GroupQueryAttention with a sliding cache is read with a past of floats, and without attention_bias or "
            "output_qk"
        )
    size = past_key.shape[-1] if past_key is not None and not formats else None
    q, k, v = _heads_of(query, key, value, num_heads, kv_num_heads, size)
    if query_norm is not None and key_norm is not None:
        q, k = (
            op.Mul(op.Mul(x, inverse_deviation(x, [-1], qk_norm_epsilon)), weight)
            for x, weight in ((q, query_norm), (k, key_norm))
        )
    length = q.shape[2]
    words = op.Add(op.Cast(last_words, to="int64"), np.int64(1))
    # The words before the queries; a row that is padded on its right has fewer words than queries, and none before.
    past = op.Max(op.Sub(words, length), np.zeros((), np.int64))
    places = op.Add(op.Unsqueeze(past, [1]), heads.counted(0, length))
    if do_rotary and cosines is not None and sines is not None:
        turned = places if positions is None else _positions(positions, length)
        q, k = (rotated(x, turned, cosines, sines, interleaved=rotary_interleaved) for x in (q, k))
    kept: tuple[Array, ...] = (k, v)
    keys = None
    if past_key is not None and past_value is not None:
        counts = _Words(past, words, length, past_key.shape[2], total)
        window = local_window_size if sliding_window_cache else None
        kept, (k, v), keys = _after_past((past_key, past_value), (k, v), formats, counts, window)
    keys = heads.counted(0, k.shape[2]) if keys is None else keys
    seen = _seen(places, words, keys, causal=bool(causal), window=local_window_size)
    logits = _capped(scores(q, k, scale or heads.default_scale(q)), softcap)
    logits = logits if attention_bias is None else op.Add(logits, attention_bias, types=[logits.type])
    hidden = op.Where(seen, logits, np.asarray(-np.inf, q.dtype), types=[logits.type])
    shares = _shares(hidden, sinks, smooth=smooth_softmax == 1)
    product = op.MatMul(heads.grouped(shares, kv_num_heads), v)
    y = heads.joined_heads(heads.ungrouped(product, num_heads, length))
    if formats:
        kept = tuple(f.cache(x, words) for f, x in zip(formats, kept, strict=True))
    return y, *kept, shares if qk_output == 2 else op.Where(seen, logits, np.zeros((), q.dtype), types=[logits.type])


class _Words(NamedTuple):
    """For each row, the number of words before the queries and up to their last; how many of each a row may have."""

    past: Array
    words: Array
    length: Dim
    held: Dim
    total: Array


def _after_past(
    pasts: tuple[Array, ...],
    new: tuple[Array, ...],
    formats: tuple[CacheFormat, ...],
    counts: _Words,
    window: int | None,
) -> tuple[tuple[Array, ...], tuple[Array, ...], Array | None]:
    """Return the keys and values to keep, those that the queries read, and their positions if some were dropped.

    `window` is the number of words that a sliding cache keeps; None for a cache of all.
    """
    if formats:
        pasts = tuple(f.numbers(past) for f, past in zip(formats, pasts, strict=True))
        new = tuple(f.rounded(x) for f, x in zip(formats, new, strict=True))
    pairs = tuple(zip(pasts, new, strict=True))
    if window is None:
        rows = _sources(counts.past, counts.length, counts.held, counts.total)
        whole = tuple(_together(*pair, rows) for pair in pairs)
        return whole, whole, None
    cache = window_cache(counts.past, counts.words, counts.length, counts.held, window)
    kept, read = (tuple(_together(*pair, rows) for pair in pairs) for rows in (cache.kept, cache.read))
    return kept, read, op.Unsqueeze(cache.positions, [1, 2])


def _positions(given: Array, length: Dim) -> Any:
    """Return the positions by which the kernel rotates: those given for single words, else counted from the first."""
    starts = op.Slice(given, [0], [1], [1])
    first = op.Slice(starts, [0], [1], [0])
    if dims.is_one(length):
        return starts
    if not isinstance(length, int):
        first = op.Where(op.Equal(size_as(length, np.int64), np.int64(1)), starts, first)
    return op.Add(first, heads.counted(0, length))


def _heads_of(
    query: Array, key: Array | None, value: Array | None, count: int, key_count: int, size: Dim | None
) -> tuple[Array, Array, Array]:
    """Return queries, keys and values as [batch, heads, length, size], of three inputs or one; `size` is the past's."""
    if key is not None and value is not None:
        return heads.split_heads(query, count), heads.split_heads(key, key_count), heads.split_heads(value, key_count)
    hidden, parts = query.shape[-1], count + 2 * key_count
    size = size if not isinstance(hidden, int) else None if hidden % parts else hidden // parts
    if not isinstance(size, int):
        raise ShapeError(f"{hidden} features cannot be split into {count} heads and two times {key_count}")
    sizes = [count * size, key_count * size, key_count * size]
    q, k, v = op.Split(query, sizes, axis=-1)
    return heads.split_heads(q, count), heads.split_heads(k, key_count), heads.split_heads(v, key_count)


def _sources(past: Array, length: Dim, room: Dim, total: Array) -> Any:
    """Return the row of each word among the past, the new words and a row of zeros, side by side: [batch, words, 1].

    There are as many words as the longest row has, or as there is room for in the past.
    """
    longest = op.Cast(op.Reshape(total, np.zeros(0, np.int64)), to="int64")
    count = op.Max(longest, size_as(room, np.int64))
    words = op.Range(np.int64(0), count, np.int64(1))
    before = op.Unsqueeze(past, [1])
    new = op.Add(op.Sub(words, before), size_as(room, np.int64))
    nothing = size_as(room + length, np.int64)
    found = op.Where(op.Less(words, before), words, op.Min(new, nothing))
    return op.Unsqueeze(found, [2])


def _together(past: Array, new: Array, rows: Array) -> Any:
    """Return the words of the past and the new ones, [batch, heads, words, size], in the order of `_sources`."""
    nothing = zeros((new.shape[0], new.shape[1], 1, new.shape[3]), new.dtype)
    every = op.Transpose(op.Concat(past, new, nothing, axis=2), perm=[0, 2, 1, 3])
    chosen = op.GatherND(every, rows, batch_dims=1)
    shape = (new.shape[0], new.shape[1], rows.shape[1], new.shape[3])
    return op.Transpose(chosen, perm=[0, 2, 1, 3], types=[Type(new.dtype, shape)])


def _seen(places: Array, words: Array, keys: Array, *, causal: bool, window: int) -> Any:
    """Return which words, at these positions, each query may attend: [batch, 1, queries, words]."""
    here = op.Unsqueeze(places, [1, 3])
    if not causal:
        return op.Less(keys, op.Unsqueeze(words, [1, 2, 3]))
    found = op.LessOrEqual(keys, here)
    return found if window <= 0 else op.And(found, op.Greater(keys, op.Sub(here, np.int64(window))))


def _capped(logits: Array, softcap: float) -> Any:
    return op.Mul(op.Tanh(op.Div(logits, softcap)), softcap) if softcap > 0 else logits


def _shares(logits: Array, sinks: Array | None, *, smooth: bool) -> Any:
    """Return the softmax with one more score, 0 or one per head, that takes its share and belongs to no word."""
    if sinks is None and not smooth:
        return op.Softmax(logits, axis=-1)
    batch, count, length, total = logits.shape
    first = zeros((batch, count, length, 1), logits.dtype)
    further = first if sinks is None else op.Add(first, op.Reshape(sinks, [1, -1, 1, 1]), types=[first.type])
    whole = op.Softmax(op.Concat(logits, further, axis=3), axis=-1)
    kept = [Type(logits.dtype, (batch, count, length, total))]
    return op.Slice(whole, [0], [-1], [3], types=kept)
