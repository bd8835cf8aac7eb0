"""Batching rules, one operator family a file, and the transform that applies them."""

from primsplit.ir.families import import_families

families = import_families(
    __name__,
    "bodies", "branches", "contraction", "elementwise", "folding", "indexing", "layout", "loops", "matrices",
    "named", "normalization", "random", "recurrent", "reduction", "refusals",
)  # fmt: skip
