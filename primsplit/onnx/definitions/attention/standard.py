"""Define scaled dot-product attention: the Attention operator of opsets 23 to 25.

`softmax(softcap(Q K^T scale) + bias) V`. The bias is 0 where a query may attend a key and -inf elsewhere, plus a float
mask. A query that may attend no key has an output of zeros; its row of scores has no bias, so that neither its value
nor its gradient is NaN.
"""

import functools
from typing import Any

import numpy as np
import onnx.helper

from primsplit.ir import Type, dims
from primsplit.ir.dims import Dim
from primsplit.ir.errors import ShapeError, UnsupportedFunction
from primsplit.onnx.definitions.attention import heads
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.tracing import size_vector
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import swapped
from primsplit.tracing.operators import cast_to


@defines("Attention")
def attention(
    q: Array,
    k: Array,
    v: Array,
    attn_mask: Array | None = None,
    past_key: Array | None = None,
    past_value: Array | None = None,
    nonpad_kv_seqlen: Array | None = None,
    *,
    outputs: int = 1,
    is_causal: int = 0,
    kv_num_heads: int | None = None,
    left_window_size: int = -1,
    q_num_heads: int | None = None,
    qk_matmul_output_mode: int = 0,
    right_window_size: int = -1,
    scale: float | None = None,
    softcap: float = 0.0,
    softmax_precision: int | None = None,
) -> tuple[Array, ...]:
    """Return Y, present key, present value, and the scores at the stage that `qk_matmul_output_mode` names."""
    _check(past_key, past_value, nonpad_kv_seqlen)
    is_packed = len(q.shape) == 3
    q, k, v = _by_heads(q, k, v, q_num_heads, kv_num_heads) if is_packed else (q, k, v)
    keys = k if past_key is None else op.Concat(past_key, k, axis=2)
    values = v if past_value is None else op.Concat(past_value, v, axis=2)
    _check_fit(keys, values)
    raw = scores(q, keys, heads.default_scale(q) if scale is None else scale)
    capped = op.Tanh(raw / softcap) * softcap if softcap > 0 else raw
    past = 0 if past_key is None else past_key.shape[2]
    windows = (left_window_size, 0 if is_causal else right_window_size)
    allowed = _allowed(q.shape[2], keys.shape[2], past, nonpad_kv_seqlen, windows)
    bias = _bias(attn_mask, allowed, keys.shape[2], q.dtype)
    empty = _empty_rows(bias, attn_mask, past, nonpad_kv_seqlen, windows)
    seen = bias if bias is None or empty is None else op.Where(empty, 0, bias)
    inner = q.dtype if softmax_precision is None else onnx.helper.tensor_dtype_to_np_dtype(softmax_precision)
    shares = cast_to(op.Softmax(cast_to(_sum(capped, seen), inner), axis=-1), q.dtype)
    y = _emptied(weighted(shares, values), empty)
    made = (heads.joined_heads(y) if is_packed else y, keys, values)
    if outputs < len(made) + 1:
        return made
    if qk_matmul_output_mode not in range(4):
        raise UnsupportedFunction(f"Attention has no qk_matmul_output_mode {qk_matmul_output_mode}")
    return *made, (raw, capped, _sum(capped, bias), _emptied(shares, empty))[qk_matmul_output_mode]


def _by_heads(q: Array, k: Array, v: Array, count: int | None, shared: int | None) -> tuple[Array, Array, Array]:
    """Return packed queries, keys and values as [batch, heads, length, size]."""
    if count is None or shared is None:
        raise UnsupportedFunction("Attention of three axes needs q_num_heads and kv_num_heads")
    return heads.split_heads(q, count), heads.split_heads(k, shared), heads.split_heads(v, shared)


def _check(past_key: Array | None, past_value: Array | None, nonpad: Array | None) -> None:
    """Raise UnsupportedFunction for inputs that the standard forbids together."""
    if (past_key is None) != (past_value is None):
        raise UnsupportedFunction("Attention takes past_key and past_value together")
    if nonpad is not None and past_key is not None:
        raise UnsupportedFunction("Attention takes either nonpad_kv_seqlen or past_key and past_value")


def _check_fit(keys: Array, values: Array) -> None:
    """Raise ShapeError for keys and values of different batches, heads or lengths."""
    if not all(map(dims.could_be, keys.shape[:3], values.shape[:3])):
        raise ShapeError(f"Attention needs one value for each key, and has {keys.type} and {values.type}")


def scores(q: Array, k: Array, scale: Array | float) -> Array:
    """Return `q k^T scale` [batch, heads, queries, keys]; keys may have fewer heads."""
    left, right = heads.scaled(q, k, scale)
    product = op.MatMul(heads.grouped(left, k.shape[1]), swapped(right))
    return heads.ungrouped(product, q.shape[1], q.shape[2])


def weighted(shares: Array, values: Array) -> Array:
    """Return the mean of the values by their shares [batch, heads, queries, keys]; values may have fewer heads.

    In the dtype of the shares; computed in that of the values if it is wider.
    """
    wide = values.dtype if values.dtype.itemsize > shares.dtype.itemsize else shares.dtype
    product = op.MatMul(heads.grouped(cast_to(shares, wide), values.shape[1]), cast_to(values, wide))
    return cast_to(heads.ungrouped(product, shares.shape[1], shares.shape[2]), shares.dtype)


def _sum(x: Array, bias: Array | None) -> Array:
    return x if bias is None else op.Add(x, bias, types=[x.type])


def _emptied(x: Array, empty: Array | None) -> Array:
    """Return `x` with zeros for the queries that may attend no key."""
    return x if empty is None else op.Where(empty, 0, x, types=[x.type])


def _allowed(length: Dim, total: Dim, past: Dim, nonpad: Array | None, windows: tuple[int, int]) -> Array | None:
    """Return which keys each query may attend by their positions: [queries, keys], or [batch, 1, queries, keys].

    Query i stands at the position i + offset, where `offset` counts the valid keys before the queries. None if all keys
    may be attended.
    """
    left, right = windows
    if left < -1 or right < -1:
        raise UnsupportedFunction(f"a window of Attention is -1 or a number of positions, not {min(windows)}")
    keys = heads.counted(0, total)
    found = []
    if left >= 0 or right >= 0:
        places = op.Unsqueeze(heads.counted(past, length), [1])
        if nonpad is not None:
            places = op.Add(places, op.Unsqueeze(op.Sub(nonpad, length), [1, 2, 3]))
        if right >= 0:
            found.append(op.LessOrEqual(keys, op.Add(places, right) if right else places))
        if left >= 0:
            found.append(op.GreaterOrEqual(keys, op.Sub(places, left) if left else places))
    if nonpad is not None:
        found.append(op.Less(keys, op.Unsqueeze(nonpad, [1, 2, 3])))
    return functools.reduce(op.And, found) if found else None


def _bias(mask: Array | None, allowed: Array | None, total: Dim, dtype: np.dtype[Any]) -> Array | None:
    """Return the bias of the scores: 0 or -inf, and the numbers of a float mask."""
    zero, never = np.zeros((), dtype), np.array(-np.inf, dtype)
    if mask is None:
        return None if allowed is None else op.Where(allowed, zero, never)
    mask = _padded(mask, total)
    if mask.dtype == np.bool_:
        return op.Where(mask if allowed is None else op.And(mask, allowed), zero, never)
    mask = cast_to(mask, dtype)
    return mask if allowed is None else op.Where(allowed, mask, never)


def _padded(mask: Array, total: Dim) -> Array:
    """Return the mask, whose last axis may be shorter than the keys: the rest may not be attended."""
    last = mask.shape[-1]
    missing = dims.maximum(total - last, 0)
    if dims.same(missing, 0):
        if isinstance(last, int) and isinstance(total, int) and last > total:
            raise ShapeError(f"the mask of Attention has {last} keys, and there are {total}")
        return mask
    nothing = np.array(False if mask.dtype == np.bool_ else -np.inf, mask.dtype)
    shape = (*mask.shape[:-1], total)
    return op.Pad(mask, size_vector([0, missing]), nothing, [-1], types=[Type(mask.dtype, shape)])


def _empty_rows(
    bias: Array | None, mask: Array | None, past: Dim, nonpad: Array | None, windows: tuple[int, int]
) -> Array | None:
    """Return which queries may attend no key: [..., queries, 1]; None if each may attend one, by its form."""
    causal_alone = mask is None and nonpad is None and windows[0] < 0 and windows[1] >= 0 and dims.at_least(past, 0)
    if bias is None or causal_alone:
        return None
    return op.Equal(op.ReduceMax(bias, [-1], keepdims=1), np.array(-np.inf, bias.dtype))
