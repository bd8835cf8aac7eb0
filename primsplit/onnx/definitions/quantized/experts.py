"""Define mixtures of experts of `com.microsoft` whose weights are integers of few bits, packed in bytes."""

from typing import Any

import numpy as np

from primsplit.ir.errors import UnsupportedFunction
from primsplit.onnx.definitions.experts import Gate, routed, through_experts
from primsplit.onnx.definitions.quantized.blocks import unpacked
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to, zeros_like


@defines("com.microsoft::QMoE")
def quantized_mixture_of_experts(
    x: Array,
    router: Array,
    first: Array,
    first_scales: Array | None,
    first_bias: Array | None,
    second: Array,
    second_scales: Array | None,
    second_bias: Array | None = None,
    third: Array | None = None,
    third_scales: Array | None = None,
    third_bias: Array | None = None,
    first_zeros: Array | None = None,
    second_zeros: Array | None = None,
    third_zeros: Array | None = None,
    router_weights: Array | None = None,
    *more: Array | None,
    outputs: int = 1,
    accuracy_level: int = 0,
    activation_alpha: float = 1.0,
    activation_beta: float = 0.0,
    activation_type: str = "relu",
    block_size: int = 0,
    expert_weight_bits: int = 4,
    fc1_expert_weight_bits: int = 0,
    fc2_expert_weight_bits: int = 0,
    fc3_expert_weight_bits: int = 0,
    k: int = 1,
    normalize_routing_weights: int = 0,
    quant_type: str = "int",
    swiglu_fusion: int = 0,
    swiglu_limit: float | None = None,
    use_sparse_mixer: int = 0,
    weights_prepacked: int = -1,
) -> Array:
    """`MoE` with weights `(integers - zero) scale`, a scale for each row or each block of a row.

    Of the weights, only the scales have a gradient. Raises UnsupportedFunction for weights of other kinds.
    """
    if quant_type != "int" or use_sparse_mixer or weights_prepacked == 1 or any(v is not None for v in more):
        raise UnsupportedFunction("QMoE is read for experts that are chosen by rank, with integers as they are")
    widths = [n or expert_weight_bits for n in (fc1_expert_weight_bits, fc2_expert_weight_bits, fc3_expert_weight_bits)]
    packed = (first, second, third)
    scales = (first_scales, second_scales, third_scales)
    zeros = (first_zeros, second_zeros, third_zeros)
    weights = [_weights(*layer, x) for layer in zip(packed, scales, zeros, widths, strict=True)]
    gate = Gate(activation_type, activation_alpha, activation_beta, swiglu_fusion, swiglu_limit)
    shares = _shares(router, router_weights, k, bool(normalize_routing_weights))
    one, two, three = zip(weights, (first_bias, second_bias, third_bias), strict=True)
    return through_experts(x, shares, one, two, three, gate)


def _weights(packed: Array | None, scales: Array | None, zeros: Array | None, bits: int, x: Array) -> Any:
    """[experts, rows, features] in the dtype of `x`, of bytes and scales [experts, rows] or [experts, rows, blocks].

    Zero points are packed like the weights, along the last axis.
    """
    if packed is None or scales is None:
        return None
    fields = op.Cast(unpacked(packed, bits), to=x.dtype)
    experts, rows, features = fields.shape
    blocks = scales.shape[2] if scales.ndim == 3 else 1
    if not isinstance(features, int) or not isinstance(blocks, int):
        raise UnsupportedFunction("the blocks of QMoE need known sizes")
    parted = reshape_to(fields, (experts, rows, blocks, features // blocks))
    scale = reshape_to(op.Cast(scales, to=x.dtype), (experts, rows, blocks, 1))
    zero: Any = np.asarray(2 ** (bits - 1), x.dtype)
    if zeros is not None:
        given = unpacked(zeros, bits)
        counts = op.Slice(given, [0], [blocks if scales.ndim == 3 else rows], [-1])
        zero = reshape_to(op.Cast(counts, to=x.dtype), (experts, rows, blocks, 1))
    return reshape_to(op.Mul(op.Sub(parted, zero), scale), (experts, rows, features))


def _shares(router: Array, weights: Array | None, k: int, is_normalized: bool) -> Array:
    """Return [tokens, experts]: the weight of each expert, 0 for those not chosen by the router.

    The router's own weights of the chosen experts add up to one, whatever the attribute, as in onnxruntime.
    """
    if weights is None:
        return routed(router, k, True)
    _, places = op.TopK(router, [k], axis=-1)
    values = op.GatherElements(weights, places, axis=-1)
    if is_normalized:
        values = op.Div(values, op.ReduceSum(values, [-1], keepdims=1))
    return op.ScatterElements(zeros_like(router), places, values, axis=-1)
