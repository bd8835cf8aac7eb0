"""Derivative rules, one operator family a file."""

from primsplit.rules import (
    activation,
    contraction,
    cumulative,
    dropout,
    elementwise,
    indexing,
    layout,
    losses,
    normalization,
    ordering,
    product,
    random,
    reduction,
    resize,
    response,
)

families = (
    activation,
    contraction,
    cumulative,
    dropout,
    elementwise,
    indexing,
    layout,
    losses,
    normalization,
    ordering,
    product,
    random,
    reduction,
    resize,
    response,
)
