"""Derivative rules, one operator family a file; each puts its own into `rules.table`, as `primsplit rules` prints."""

from primsplit.ir.families import import_families

families = import_families(
    __name__,
    "activation", "branches", "centre", "contraction", "convolution", "cumulative", "deformed", "discrete",
    "dropout", "elementwise", "forward", "indexing", "layout", "loops", "losses", "normalization", "ordering",
    "pooling", "product", "quantization", "random", "recurrent", "reduction", "refused", "regions", "resize",
    "response", "sampling", "spectrum", "unpooling",
)  # fmt: skip
