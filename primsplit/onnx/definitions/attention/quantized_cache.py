"""Read GroupQueryAttention's cache in integers: of eight bits, or two of four bits in a byte, the first in low bits.

New keys and values are rounded before they are attended, straight through (see `fake_quantize`). A cache has bytes of 0
where there is no word.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit.ir.errors import UnsupportedFunction
from primsplit.onnx.definitions.attention.heads import counted, joined_heads, split_heads
from primsplit.onnx.definitions.quantized.fake_quantize import fake_quantize
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to

LEAST = {4: -8, 8: -128}


@dataclass(frozen=True, slots=True)
class CacheFormat:
    """The format of keys or values, [batch, heads, words, size]: the bits of an integer, and the scale.

    The scale is one number, [1], or one for each feature of each head.
    """

    scale: Array
    bits: int
    is_by_channel: bool

    def numbers(self, cache: Array) -> Any:
        """Return the keys or values of a cache."""
        integers = op.Cast(cache, to="int32")
        if self.bits == 4:
            halves = [op.BitwiseAnd(integers, np.int32(15)), op.Div(integers, np.int32(16))]
            pairs = op.Concat(*(op.Unsqueeze(half, [-1]) for half in halves), axis=-1)
            integers = op.Sub(reshape_to(pairs, (*cache.shape[:-1], 2 * cache.shape[-1])), np.int32(8))
        return op.Mul(op.Cast(integers, to=self.scale.dtype), self._by_features(cache.shape[1]))

    def rounded(self, x: Array) -> Array:
        """Return new keys or values rounded to the numbers of their integers."""
        heads = x.shape[1]
        scale = op.Reshape(self.scale, [-1] if self.is_by_channel else np.zeros(0, np.int64))
        return split_heads(fake_quantize(joined_heads(x), scale, None, axis=2, dtype=f"int{self.bits}"), int(heads))

    def cache(self, x: Array, words: Array) -> Any:
        """Return the cache of keys or values, of which each row has so many words."""
        levels = op.Cast(op.Round(op.Div(x, self._by_features(x.shape[1]))), to="int32")
        if self.bits == 4:
            pairs = reshape_to(op.Sub(levels, np.int32(LEAST[4])), (*x.shape[:-1], x.shape[-1] // 2, 2))
            levels = op.ReduceSum(op.Mul(pairs, np.array([1, 16], np.int32)), [-1], keepdims=0)
        is_word = op.Less(op.Unsqueeze(counted(0, x.shape[2]), [0, 1, 3]), op.Unsqueeze(words, [1, 2, 3]))
        return op.Cast(op.Where(is_word, levels, np.int32(0)), to="uint8" if self.bits == 4 else "int8")

    def _by_features(self, heads: Any) -> Any:
        return op.Reshape(self.scale, [1, heads, 1, -1]) if self.is_by_channel else self.scale


def cache_formats(
    kinds: tuple[str, str], bits: int, scales: tuple[Array | None, Array | None], *, has_past: bool
) -> tuple[CacheFormat, ...]:
    """Return the formats of keys and values; none if they are floats. Raises UnsupportedFunction for others."""
    if kinds == ("NONE", "NONE"):
        return ()
    known = {"PER_TENSOR", "PER_CHANNEL"}
    if not known.issuperset(kinds) or bits not in LEAST or any(s is None for s in scales) or not has_past:
        raise UnsupportedFunction(
            f"GroupQueryAttention with a cache of {bits} bits, {' and '.join(kinds)}, is not supported",
            because=("it is read with a past and scales, of 4 or 8 bits, PER_TENSOR or PER_CHANNEL",),
            cure="Export the model with a cache of floats (k_quant_type and v_quant_type NONE).",
        )
    return tuple(
        CacheFormat(scale, bits, kind == "PER_CHANNEL")
        for kind, scale in zip(kinds, scales, strict=True)
        if scale is not None
    )
