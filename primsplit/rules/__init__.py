"""Derivative rules, one operator family a file.

Each file registers its rules in `rules.table`; `primsplit rules` lists them.
"""

from primsplit.ir.families import import_families

families = import_families(
    __name__,
    "activation", "branches", "centre", "contraction", "convolution", "cumulative", "deformed", "discrete",
    "dropout", "elementwise", "forward", "indexing", "layout", "loops", "losses", "normalization", "ordering",
    "pooling", "product", "quantization", "recurrent", "reduction", "regions", "resize",
    "response", "sampling", "spectrum", "unpooling",
)  # fmt: skip
