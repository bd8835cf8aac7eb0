"""Define LinearAttention, a recurrence over matrices, by matrix products without the recurrence.

The state is `S_t = D_t S_{t-1} + k_t u_t^T` with the decay `D_t = diag(exp(g_t))`, and `o_t = scale S_t^T q_t`. With
the decay from s to t, `E_ts = exp(g_{s+1} + ... + g_t)`, all outputs are `scale (Q E_t0 S_0 + P U)`, where P_ts = q_t
E_ts k_s for s <= t (Yang et al. 2024, "Gated linear attention transformers with hardware-efficient training"). Without
a delta rule U = V. With it u_t = beta_t (v_t - k_t D_t S_{t-1}), a unit triangular system `(1 + beta A) U = beta (V - K
E_t0 S_0)` with A_ts = k_t E_ts k_s for s < t (Yang et al. 2024, "Parallelizing linear transformers with the delta rule
over sequence length").

The work grows with the square of the length, nearly all in matrix products; so a long sequence is cut into chunks,
between which the state is passed on. A decay per feature of the keys makes E an array [batch, heads, length, length,
features] of a chunk.
"""

from collections.abc import Sequence

import numpy as np

from primsplit.ir import Type, dims
from primsplit.ir.dims import Dim
from primsplit.ir.errors import UnsupportedFunction
from primsplit.numpy.axes import slab_of
from primsplit.numpy.dense.triangular import solve_triangular
from primsplit.onnx.definitions.attention import heads
from primsplit.onnx.definitions.attention.decays import decays_between, for_each
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.tracing import size_vector
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to, swapped, zeros
from primsplit.tracing.control import scan
from primsplit.tracing.operators import cast_to

RULES = {"linear": (False, False), "gated": (True, False), "delta": (False, True), "gated_delta": (True, True)}
"""Whether an update rule has a decay, and whether it corrects the values."""


@defines("LinearAttention")
def linear_attention(
    query: Array,
    key: Array,
    value: Array,
    past_state: Array | None = None,
    decay: Array | None = None,
    beta: Array | None = None,
    *,
    q_num_heads: int,
    kv_num_heads: int,
    outputs: int = 2,
    chunk_size: int = 64,
    scale: float = 0.0,
    update_rule: str = "gated_delta",
) -> tuple[Array, Array]:
    """Return the output [batch, length, heads * size], and the state after the last step [batch, key heads, d_k, d_v].

    `query`, `key`, `value` are [batch, length, heads * size]; `decay` [batch, length, key heads (* d_k)]; `beta`
    [batch, length, key heads or 1]. Computed in float32 at least.
    """
    _check(update_rule, decay, beta, q_num_heads, kv_num_heads)
    key, value = _beside(query, key), _beside(query, value)
    decay, beta = (None if x is None else _beside(query, x) for x in (decay, beta))
    inner = np.float64 if query.dtype == np.float64 else np.float32
    count = (q_num_heads, kv_num_heads, kv_num_heads)
    q, k, v = (heads.split_heads(cast_to(x, inner), n) for x, n in zip((query, key, value), count, strict=True))
    g = None if decay is None else heads.split_heads(cast_to(decay, inner), kv_num_heads)
    rate = None if beta is None else op.Transpose(op.Unsqueeze(cast_to(beta, inner), [3]), perm=[0, 2, 1, 3])
    start = None if past_state is None else cast_to(past_state, inner)
    length, sequences = query.shape[1], [op.Mul(q, scale or heads.default_scale(q)), k, v, g, rate]
    if isinstance(length, int) and length <= 2 * chunk_size:
        made, state = _piece(sequences, start)
    else:
        made, state = _in_chunks(sequences, start, dims.maximum(dims.minimum(length, max(chunk_size, 1)), 1))
    dtype = query.dtype if past_state is None else past_state.dtype
    return cast_to(heads.joined_heads(made), query.dtype), cast_to(state, dtype)


def _beside(query: Array, x: Array) -> Array:
    """Return a sequence with the batch and length of the queries, in their names."""
    shape = (*query.shape[:2], *x.shape[2:])
    return x if dims.same_shape(x.shape, shape) else reshape_to(x, shape)


def _piece(sequences: Sequence[Array | None], start: Array | None) -> tuple[Array, Array]:
    """Return the outputs [batch, heads, length, d_v], and the state after them, from a state before them.

    `sequences` are scaled queries, keys, values, decays and rates, [batch, heads, length, ...] each.
    """
    q, k, v, g, rate = sequences
    if q is None or k is None or v is None:
        raise UnsupportedFunction("LinearAttention needs queries, keys and values")
    decays = decays_between(g, k)
    if rate is not None:
        v = v if start is None else op.Sub(v, op.MatMul(decays.since_start(k), start))
        v = solve_triangular(op.Mul(rate, decays.products(k)), op.Mul(rate, v), lower=True, unit=True)
    by_key = _shared(q, int(k.shape[1]))
    made = op.MatMul(decays.products(by_key), for_each(v, by_key))
    if start is not None:
        made = op.Add(made, op.MatMul(decays.since_start(by_key), for_each(start, by_key)))
    state = op.MatMul(swapped(decays.until_end(k)), v)
    state = state if start is None else op.Add(state, decays.all_along(start))
    return reshape_to(made, (*q.shape[:3], v.shape[3])), state


def _in_chunks(sequences: Sequence[Array | None], start: Array | None, chunk: Dim) -> tuple[Array, Array]:
    """Return the results and the last state, by chunks of so many steps.

    The last is filled up with steps that leave the state as it is: zeros.
    """
    given = [x for x in sequences if x is not None]
    batch, count, length, size = given[1].shape
    state = Type(given[1].dtype, (batch, count, size, given[2].shape[3]))
    first = zeros(state.shape or (), state.dtype) if start is None else op.Identity(start, types=[state])

    def step(before: Array, parts: list[Array]) -> tuple[Array, Array]:
        each = iter(parts)
        made, after = _piece([None if x is None else next(each) for x in sequences], before)
        return op.Identity(after, types=[state]), made

    last, made = scan(step, first, [_cut(x, chunk) for x in given])
    steps, _, heads_, _, features = made.shape
    joined = reshape_to(op.Transpose(made, perm=[1, 2, 0, 3, 4]), (batch, heads_, steps * chunk, features))
    return slab_of(joined, 2, length), last


def _cut(x: Array, chunk: Dim) -> Array:
    """Return [batch, heads, length, ...] as [chunks, batch, heads, chunk, ...], zeros at the end of the last chunk."""
    batch, count, length, size = x.shape
    steps = (length + (chunk - 1)) // chunk
    whole = steps * chunk
    filled = op.Pad(
        x,
        size_vector([0, whole - length]),
        np.zeros((), x.dtype),
        [2],
        types=[Type(x.dtype, (batch, count, whole, size))],
    )
    return op.Transpose(reshape_to(filled, (batch, count, steps, chunk, size)), perm=[2, 0, 1, 3, 4])


def _check(rule: str, decay: Array | None, beta: Array | None, query_heads: int, key_heads: int) -> None:
    """Raise UnsupportedFunction for an update rule with other inputs than in the standard."""
    if rule not in RULES:
        raise UnsupportedFunction(f"LinearAttention has no update_rule {rule}")
    if (decay is not None, beta is not None) != RULES[rule]:
        raise UnsupportedFunction(f"LinearAttention with update_rule {rule} has other inputs than the standard says")
    if key_heads < 1 or query_heads < 1 or query_heads % key_heads:
        raise UnsupportedFunction(f"{query_heads} heads of queries cannot share {key_heads} heads of keys")


def _shared(q: Array, key_heads: int) -> Array:
    """Return queries [batch, key heads, queries a key, length, d_k] if several share a key, else as they are."""
    batch, count, length, size = q.shape
    if count == key_heads:
        return q
    return reshape_to(q, (batch, key_heads, count // key_heads, length, size))
