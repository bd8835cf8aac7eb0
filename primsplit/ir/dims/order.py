"""Compare sizes for all values of their symbols: lower bounds, and the comparisons that follow from them."""

import math

from primsplit.ir.dims.size import Atom, Dim, Size, same
from primsplit.ir.errors import UndecidableSize


def lower_bound(dim: Dim) -> int | None:
    """Return a number that the size never falls below; None if none is known."""
    if isinstance(dim, int):
        return dim
    total = 0
    for monomial, coefficient in dim.terms:
        bounds = [_lower_bound(atom) for atom in monomial]
        if monomial and (coefficient < 0 or any(b is None or b < 0 for b in bounds)):
            return None
        total += coefficient * math.prod(b for b in bounds if b is not None)
    return total


def _lower_bound(atom: Atom) -> int | None:
    if isinstance(atom, str):
        return 0
    bounds = [lower_bound(a) for a in atom.arguments]
    known = [b for b in bounds if b is not None]
    if atom.function == "max":
        return max(known, default=None)
    least = min(known) if len(known) == len(bounds) else -1
    if atom.function == "min":
        return least
    return None if least < 0 else 0


def at_least(a: Dim, b: Dim) -> bool:
    """Whether a >= b for all values of the symbols; False if that is not proven."""
    if isinstance(a, int) and isinstance(b, int):
        return a >= b
    bound = lower_bound(a - b)
    return bound is not None and bound >= 0


def above(a: Dim, b: Dim) -> bool:
    """Whether a > b for all values of the symbols; False if that is not proven."""
    bound = lower_bound(a - b)
    return bound is not None and bound > 0


def could_be(a: Dim, b: Dim) -> bool:
    """Whether the two sizes may be equal; False only if they differ for all values of the symbols."""
    return not (above(a, b) or above(b, a))


def _proven(a: Dim, relation: str, b: Dim) -> bool | None:
    """Return the answer that holds for all values of the symbols; None if there is none."""
    if relation == "==":
        return True if same(a, b) else None if could_be(a, b) else False
    if relation == "<":
        return True if above(b, a) else False if at_least(a, b) else None
    return True if at_least(b, a) else False if above(a, b) else None


def decided(a: Dim, relation: str, b: Dim) -> bool | None:
    """Return the answer as `compare` does; None if neither answers."""
    answer = _proven(a, relation, b)
    return Size.decide(a, relation, b) if answer is None else answer


def compare(a: Dim, relation: str, b: Dim) -> bool:
    """Return the answer to `a == b`, `a < b` or `a <= b`: a proven one, or the one of the path that is being recorded.

    Raises UndecidableSize if neither answers.
    """
    answer = decided(a, relation, b)
    if answer is not None:
        return answer
    raise UndecidableSize(
        f"whether {a} {relation} {b} is known only at run time",
        place=Size.place(),
        cure="Give the axis a fixed size in the spec, or write the program so that it does not ask.",
    )


Size.compare = staticmethod(compare)
