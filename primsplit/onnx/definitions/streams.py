"""Define hyper-connections and gates of `com.microsoft`: several residual streams, mixed by weights of their own.

The formulas are in onnxruntime's documentation of the operators; its kernels compute in float32 at least, as here.
"""

import numpy as np

from primsplit.ir import dims
from primsplit.ir.errors import UnsupportedFunction
from primsplit.numpy.axes import size_as
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to
from primsplit.tracing.operators import cast_to


def _wide(x: Array) -> Array:
    return x if x.dtype == np.float64 else cast_to(x, np.float32)


def _grouped(x: Array, branches: int) -> Array:
    """Return [..., branches, features], from the last axis of `x` if it holds both."""
    return reshape_to(x, (*x.shape[:-1], branches, x.shape[-1] // branches)) if branches else x


def _normalized(x: Array, epsilon: float) -> Array:
    """`x / sqrt(mean(x^2) + epsilon)`, the mean over the last axis."""
    return op.Div(x, op.Sqrt(op.ReduceMean(op.Mul(x, x), [-1], keepdims=1) + epsilon))


def _gates(mix: Array, rank: int) -> Array:
    """Return gates [..., branches] or [..., branches, features] with as many axes as the streams."""
    return _wide(op.Unsqueeze(mix, [-1]) if mix.ndim < rank else mix)


@defines("com.microsoft::BranchwiseRMSNorm")
def branchwise_rms_norm(
    x: Array, scale: Array | None = None, *, outputs: int = 1, epsilon: float = 1e-5, num_branches: int = 0
) -> Array:
    """Normalize and scale each stream of [..., branches, features], or of [..., branches * features]."""
    streams = _grouped(_wide(x), num_branches)
    made = _normalized(streams, epsilon)
    if scale is not None:
        shape = streams.shape[-2:] if scale.ndim == 1 and num_branches and _is_flat(scale, streams) else scale.shape
        made = op.Mul(made, _wide(reshape_to(scale, shape)))
    return cast_to(reshape_to(made, x.shape), x.dtype)


def _is_flat(scale: Array, streams: Array) -> bool:
    """Whether a scale has every branch's features in one axis. Raises UnsupportedFunction if sizes are not known."""
    count, (branches, features) = scale.shape[0], streams.shape[-2:]
    if not all(isinstance(d, int) for d in (count, branches, features)):
        raise UnsupportedFunction("BranchwiseRMSNorm with a scale of one axis needs sizes that are known")
    return bool(count == branches * features)


@defines("com.microsoft::HyperConnectionPreMix")
def pre_mix(
    streams: Array, mix: Array, *, outputs: int = 1, num_branches: int = 0, reduction_scale: float = 1.0
) -> Array:
    """Return `reduction_scale sum_c(streams_c mix_c)`: one stream of several, [..., features]."""
    grouped = _grouped(_wide(streams), num_branches)
    is_flat = bool(num_branches) and mix.ndim == streams.ndim and dims.same(mix.shape[-1], streams.shape[-1])
    gates = _wide(_grouped(mix, num_branches)) if is_flat else _gates(mix, grouped.ndim)
    made = op.ReduceSum(op.Mul(grouped, gates), [-2], keepdims=0)
    return cast_to(op.Mul(made, reduction_scale), streams.dtype)


@defines("com.microsoft::HyperConnectionPostMix")
def post_mix(
    streams: Array,
    block_output: Array,
    gates: Array,
    stream_mix: Array | None = None,
    *,
    outputs: int = 1,
    num_branches: int = 0,
) -> Array:
    """Return `sum_c(stream_mix_ck streams_c) + gates_k block_output` for each stream k."""
    grouped = _grouped(_wide(streams), num_branches)
    kept = grouped if stream_mix is None else op.MatMul(_swapped(_wide(stream_mix)), grouped)
    added = op.Mul(_gates(gates, grouped.ndim), op.Unsqueeze(_wide(block_output), [-2]))
    return cast_to(reshape_to(op.Add(kept, added), streams.shape), streams.dtype)


def _swapped(x: Array) -> Array:
    return op.Transpose(x, perm=[*range(x.ndim - 2), x.ndim - 1, x.ndim - 2])


@defines("com.microsoft::LinearAttentionGate")
def linear_attention_gate(
    a: Array, bias: Array, scale: Array, b: Array | None = None, *, outputs: int = 1
) -> tuple[Array, ...]:
    """Return the decay `scale softplus(a + bias)`, and the update rate `sigmoid(b)`."""
    decay = op.Mul(op.Softplus(op.Add(_wide(a), cast_to(bias, _wide(a).dtype))), cast_to(scale, _wide(a).dtype))
    rates = () if b is None else (cast_to(op.Sigmoid(_wide(b)), b.dtype),)
    return (cast_to(decay, a.dtype), *rates)


@defines("com.microsoft::EngramGate")
def engram_gate(
    key: Array,
    query: Array,
    value: Array,
    key_scale: Array,
    query_scale: Array,
    value_scale: Array | None = None,
    *,
    outputs: int = 1,
    epsilon: float = 1e-5,
) -> tuple[Array, ...]:
    """Multiply `value` by a gate for each stream, the sigmoid of the signed root of the likeness of key and query.

    Their likeness is the product of both, normalized and scaled, over the root of the number of features; its root is
    that of 1e-6 at least. The second output is the first one normalized.
    """
    k, q = (op.Mul(_normalized(_wide(x), epsilon), _wide(s)) for x, s in ((key, key_scale), (query, query_scale)))
    likeness = op.Div(op.ReduceSum(op.Mul(k, q), [-1], keepdims=1), op.Sqrt(size_as(key.shape[-1], k.dtype)))
    gate = op.Sigmoid(op.Mul(op.Sign(likeness), op.Sqrt(op.Max(op.Abs(likeness), 1e-6))))
    made = op.Mul(gate, op.Unsqueeze(_wide(value), [-2]))
    if value_scale is None:
        return (cast_to(made, key.dtype),)
    normed = op.Mul(_normalized(made, epsilon), _wide(value_scale))
    return cast_to(made, key.dtype), cast_to(normed, key.dtype)
