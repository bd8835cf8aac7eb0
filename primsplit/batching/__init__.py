"""Batching rules, one operator family a file, and the transform that applies them."""

from primsplit.batching import (
    bodies,
    branches,
    contraction,
    elementwise,
    folding,
    indexing,
    layout,
    loops,
    normalization,
    random,
    recurrent,
    reduction,
    refusals,
)

families = (
    bodies,
    branches,
    contraction,
    elementwise,
    folding,
    indexing,
    layout,
    loops,
    normalization,
    random,
    recurrent,
    reduction,
    refusals,
)
