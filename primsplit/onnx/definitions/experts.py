"""Define mixtures of experts of `com.microsoft` (Fedus et al.

2021, "Switch transformers"; Jiang et al. 2024, "Mixtral").
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from primsplit.ir.errors import UnsupportedFunction
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.ops.namespace import later
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to, zeros_like

PLAIN: dict[str, Callable[[Array], Array]] = {
    "gelu": lambda x: op.Gelu(x, approximate="tanh"),
    "identity": lambda x: x,
    "relu": later.Relu,
    "silu": lambda x: op.Mul(x, op.Sigmoid(x)),
}
"""The activations; gelu is onnxruntime's, the approximation by tanh."""


@defines("com.microsoft::MoE")
def mixture_of_experts(
    x: Array,
    router: Array,
    first: Array,
    first_bias: Array | None,
    second: Array,
    second_bias: Array | None = None,
    third: Array | None = None,
    third_bias: Array | None = None,
    *,
    outputs: int = 1,
    activation_alpha: float = 1.0,
    activation_beta: float = 0.0,
    activation_type: str = "relu",
    k: int = 1,
    normalize_routing_weights: int = 0,
    swiglu_fusion: int = 0,
    swiglu_limit: float | None = None,
    use_sparse_mixer: int = 0,
) -> Array:
    """Send each token, the last axis of `x`, through its `k` likeliest experts, and add up the weighted results.

    `router` is [tokens, experts]; `first` and `third` [experts, inner, features], `second` [experts, features, inner].
    Every expert is computed for every token, and those not chosen have weight 0.
    """
    if use_sparse_mixer:
        raise UnsupportedFunction("MoE with use_sparse_mixer draws from the experts, and is not supported")
    gate = Gate(activation_type, activation_alpha, activation_beta, swiglu_fusion, swiglu_limit)
    weights = routed(router, k, bool(normalize_routing_weights))
    return through_experts(x, weights, (first, first_bias), (second, second_bias), (third, third_bias), gate)


Layer = tuple[Array, Array | None]
"""Weights [experts, results, features] and a bias [experts, results] or None."""


@dataclass(frozen=True, slots=True)
class Gate:
    """The activation between the two layers of an expert."""

    activation: str
    alpha: float
    beta: float
    fusion: int
    limit: float | None


def through_experts(
    x: Array, weights: Array, first: Layer, second: Layer, third: tuple[Array | None, Array | None], gate: Gate
) -> Array:
    """Send each token through every expert, and add up the results by `weights` [tokens, experts]."""
    tokens = reshape_to(x, (1, weights.shape[0], x.shape[-1]))
    inner = _linear(tokens, *first)
    if gate.activation == "swiglu":
        hidden = _swiglu(*_gates(inner, gate.fusion, *third, tokens), gate.alpha, gate.beta, gate.limit)
    elif gate.activation in PLAIN:
        hidden = PLAIN[gate.activation](inner)
        if third[0] is not None:
            hidden = op.Mul(hidden, _linear(tokens, third[0], third[1]))
    else:
        raise UnsupportedFunction(f"the activation {gate.activation} of MoE is not known")
    shares = op.Unsqueeze(op.Transpose(weights, perm=[1, 0]), [-1])
    return reshape_to(op.ReduceSum(op.Mul(_linear(hidden, *second), shares), [0], keepdims=0), x.shape)


def _linear(x: Array, weights: Array, bias: Array | None) -> Array:
    """Return [experts, tokens, results] of [1 or experts, tokens, features]."""
    product = op.MatMul(x, op.Transpose(weights, perm=[0, 2, 1]))
    return product if bias is None else op.Add(product, op.Unsqueeze(bias, [1]))


def routed(router: Array, k: int, is_normalized: bool) -> Array:
    """Return [tokens, experts]: the weight of each expert, 0 for all but the `k` likeliest ones."""
    if is_normalized:
        logits, places = op.TopK(router, [k], axis=-1)
        values = op.Softmax(logits, axis=-1)
    else:
        values, places = op.TopK(op.Softmax(router, axis=-1), [k], axis=-1)
    return op.ScatterElements(zeros_like(router), places, values, axis=-1)


def _gates(
    inner: Array, fusion: int, third: Array | None, third_bias: Array | None, tokens: Array
) -> tuple[Array, Array]:
    """Return the gate and the linear part: two products, or the neighbours or the halves of one."""
    if fusion == 0:
        if third is None:
            raise UnsupportedFunction("MoE with swiglu that is not fused needs the third weights")
        return inner, _linear(tokens, third, third_bias)
    half = inner.shape[-1] // 2
    if fusion == 2:
        first, second = op.Split(inner, [half, half], axis=-1, outputs=2)
        return first, second
    pairs = reshape_to(inner, (*inner.shape[:-1], half, 2))
    gate, linear = op.Split(pairs, [1, 1], axis=-1, outputs=2)
    return op.Squeeze(gate, [-1]), op.Squeeze(linear, [-1])


def _swiglu(gate: Array, linear: Array, alpha: float, beta: float, limit: float | None) -> Array:
    """Return `g sigmoid(alpha g) (l + beta)`, g bounded from above by the limit, l from both sides."""
    if limit is not None:
        bound = np.asarray(limit, gate.dtype)
        gate, linear = op.Min(gate, bound), op.Clip(linear, -bound, bound)
    return op.Mul(op.Mul(gate, op.Sigmoid(op.Mul(gate, alpha))), op.Add(linear, beta))
