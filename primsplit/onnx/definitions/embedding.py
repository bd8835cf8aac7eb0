"""Define embeddings of words, positions and segments, normalized: BERT's first layer in `com.microsoft`."""

from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.tracing.array import Array

_NO_WORDS = np.zeros(1, np.int32)


@defines("com.microsoft::EmbedLayerNormalization")
def embed_layer_normalization(
    words: Array,
    segments: Array | None,
    word_table: Array,
    position_table: Array,
    segment_table: Array | None,
    gamma: Array,
    beta: Array,
    mask: Array | None = None,
    positions: Array | None = None,
    *,
    outputs: int = 1,
    epsilon: float = 1e-12,
    mask_index_type: int = 0,
) -> tuple[Any, ...]:
    """Return the layer normalization of the sum of the embeddings; each row's number of unmasked words; and the sum.

    Positions count from 0 if they are not given; without a mask the counts are 0.
    """
    total = op.Add(op.Gather(word_table, words), _positions(words, position_table, positions))
    if segments is not None and segment_table is not None:
        total = op.Add(total, op.Gather(segment_table, segments))
    return op.LayerNormalization(total, gamma, beta, axis=-1, epsilon=epsilon), _admitted(words, mask), total


def _positions(words: Array, table: Array, positions: Array | None) -> Any:
    if positions is not None:
        return op.Gather(table, positions)
    return op.Slice(table, [0], Array(tracing.size_vector(words.shape[1:2])), [0])


def _admitted(words: Array, mask: Array | None) -> Any:
    if mask is None:
        return op.ConstantOfShape(Array(tracing.size_vector(words.shape[:1])), value=_NO_WORDS)
    return op.ReduceSum(op.Cast(op.Equal(mask, 1), to="int32"), [1], keepdims=0)


@defines("com.microsoft::QEmbedLayerNormalization")
def quantized_embed_layer_normalization(
    words: Array,
    segments: Array | None,
    word_table: Array,
    position_table: Array,
    segment_table: Array | None,
    gamma: Array,
    beta: Array,
    mask: Array | None,
    word_scale: Array,
    position_scale: Array,
    segment_scale: Array | None,
    gamma_scale: Array,
    beta_scale: Array,
    word_zero: Array,
    position_zero: Array,
    segment_zero: Array | None,
    gamma_zero: Array,
    beta_zero: Array,
    *,
    outputs: int = 1,
    epsilon: float = 1e-12,
) -> tuple[Any, ...]:
    """`EmbedLayerNormalization` of tables, factors and shifts that are integers, each with its scale and zero point."""
    total = op.Add(
        op.DequantizeLinear(op.Gather(word_table, words), word_scale, word_zero),
        op.DequantizeLinear(_positions(words, position_table, None), position_scale, position_zero),
    )
    if segments is not None and segment_table is not None and segment_scale is not None:
        total = op.Add(total, op.DequantizeLinear(op.Gather(segment_table, segments), segment_scale, segment_zero))
    factor = op.DequantizeLinear(gamma, gamma_scale, gamma_zero)
    shift = op.DequantizeLinear(beta, beta_scale, beta_zero)
    return op.LayerNormalization(total, factor, shift, axis=-1, epsilon=epsilon), _admitted(words, mask)
