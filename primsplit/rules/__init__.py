"""Derivative rules, one operator family a file."""

from primsplit.rules import (
    activation,
    contraction,
    cumulative,
    elementwise,
    indexing,
    layout,
    ordering,
    product,
    reduction,
)

families = (activation, contraction, cumulative, elementwise, indexing, layout, ordering, product, reduction)
