"""List the symbols of a size, and evaluate it or substitute for them."""

import functools
from collections.abc import Callable, Mapping

from primsplit.ir.dims.joins import broadcast, maximum, meet, minimum
from primsplit.ir.dims.size import Atom, Dim, Kinded, SymbolKind, floor_divide, product, remainder, symbol


def symbols(dim: Dim) -> frozenset[str]:
    """Return the names of the symbols in the size."""
    if isinstance(dim, int):
        return frozenset()
    names: set[str] = set()
    for monomial, _ in dim.terms:
        for atom in monomial:
            if isinstance(atom, str):
                names.add(atom)
            else:
                names.update(*(symbols(a) for a in atom.arguments))
    return frozenset(names)


def kinds_of(dim: Dim) -> frozenset[SymbolKind]:
    """Return the kinds of the symbols in the size."""
    return frozenset(name.kind for name in symbols(dim) if isinstance(name, Kinded))


def evaluate(dim: Dim, values: Mapping[str, int]) -> int:
    """Return the number that the size is for these values of its symbols. Raises KeyError if one has no value."""
    result = substitute(dim, values)
    if isinstance(result, int):
        return result
    raise KeyError(f"{dim} has symbols without a value: {sorted(symbols(result))}")


def substitute(dim: Dim, values: Mapping[str, Dim]) -> Dim:
    """Return the size with symbols replaced."""
    if isinstance(dim, int):
        return dim
    total: Dim = 0
    for monomial, coefficient in dim.terms:
        total = total + product(_replace(atom, values) for atom in monomial) * coefficient
    return total


def _met(a: Dim, b: Dim) -> Dim:
    met = meet(a, b)
    return broadcast(a, b) if met is None else met


REBUILD: dict[str, Callable[[Dim, Dim], Dim]] = {
    "floordiv": floor_divide,
    "mod": remainder,
    "max": maximum,
    "min": minimum,
    "broadcast": _met,
}
"""For each function of a Call: how to build its size from other arguments."""


def _replace(atom: Atom, values: Mapping[str, Dim]) -> Dim:
    if isinstance(atom, str):
        return values[atom] if atom in values else symbol(atom)
    return functools.reduce(REBUILD[atom.function], [substitute(a, values) for a in atom.arguments])
