"""Sizes of axes: an int, or a polynomial in named symbols, such as `2*N + 1`; equality is proven, never guessed.

Every symbol stands for an integer >= 0 that is known at run time. `Size` is canonical: equal polynomials have equal
texts. `==`, `<` and `bool` answer only if the answer holds for every value of the symbols, and raise `UndecidableSize`
otherwise. Inside of primsplit, `same` is used instead: it is True only for proven equality.
"""

from primsplit.ir.dims.joins import broadcast_arguments, broadcast_shapes, maximum, meet, minimum
from primsplit.ir.dims.order import above, at_least, could_be, lower_bound
from primsplit.ir.dims.size import (
    LONG,
    Atom,
    Call,
    Dim,
    Kinded,
    Monomial,
    Shape,
    Size,
    SymbolKind,
    abbreviated,
    exact_quotient,
    factors,
    floor_divide,
    is_one,
    product,
    remainder,
    same,
    same_shape,
    symbol,
)
from primsplit.ir.dims.substitution import evaluate, kinds_of, substitute, symbols
from primsplit.ir.dims.text import parse

__all__ = [
    "LONG",
    "Atom",
    "Call",
    "Dim",
    "Kinded",
    "Monomial",
    "Shape",
    "Size",
    "SymbolKind",
    "abbreviated",
    "above",
    "at_least",
    "broadcast_arguments",
    "broadcast_shapes",
    "could_be",
    "evaluate",
    "exact_quotient",
    "factors",
    "floor_divide",
    "is_one",
    "kinds_of",
    "lower_bound",
    "maximum",
    "meet",
    "minimum",
    "parse",
    "product",
    "remainder",
    "same",
    "same_shape",
    "substitute",
    "symbol",
    "symbols",
]
