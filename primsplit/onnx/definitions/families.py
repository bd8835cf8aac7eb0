"""Import every family of definitions, which fills the table of definitions."""

from primsplit.ir.families import import_families
from primsplit.onnx.definitions.calling import record_call
from primsplit.onnx.definitions.table import DEFINITIONS, Definition, defined_names, defines, definition_of

families = import_families(
    "primsplit.onnx.definitions",
    "array_operators", "bits", "blocked_layout", "causal_convolution", "crops", "cumulative", "earlier", "embedding",
    "experts", "fused", "gelu", "keys", "machine_learning", "microsoft_states", "normalization", "optimizers",
    "repeated_words", "revisions", "scatter", "skip_normalization", "spectra", "streams", "support_vectors", "swish",
    "tree_ensembles",
    "attention.standard", "attention.decoder", "attention.flex", "attention.group_query", "attention.linear",
    "attention.microsoft", "attention.microsoft_rotary", "attention.packed", "attention.relative_bias",
    "attention.rotary", "attention.sparse",
    "quantized.blocks", "quantized.operators", "quantized.experts", "quantized.recurrent",
)  # fmt: skip

__all__ = ["DEFINITIONS", "Definition", "defined_names", "defines", "definition_of", "families", "record_call"]
