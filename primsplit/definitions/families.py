"""Every family of definitions, and the table that importing them fills."""

from primsplit.definitions.calling import record_call
from primsplit.definitions.table import DEFINITIONS, Definition, defines, definition_of
from primsplit.families import import_families

families = import_families(
    "primsplit.definitions",
    "array_operators", "attention", "bits", "block_quantized", "blocked_layout", "causal_convolution",
    "crops", "cumulative", "decoder_attention", "earlier", "embedding", "experts", "flex_attention", "fused",
    "gelu", "group_query", "keys", "linear_attention", "machine_learning", "microsoft_attention",
    "microsoft_rotary", "microsoft_states", "normalization", "optimizers", "packed_attention", "quantized",
    "quantized_experts", "quantized_recurrent", "relative_bias", "repeated_words", "revisions", "rotary", "scatter",
    "skip_normalization", "sparse_attention", "spectra", "streams", "support_vectors", "swish",
    "tree_ensembles",
)  # fmt: skip

__all__ = ["DEFINITIONS", "Definition", "defines", "definition_of", "families", "record_call"]
