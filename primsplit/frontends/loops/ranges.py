"""Infers the ranges of loops from the axes that they index, so that every index stays inside its axis.

A loop that alone indexes an axis runs over it: `A[m, k]` gives `k` the length of A's axis 1, and B's axis 0 must have
the same. Shifted and stretched indices bound it: `x[i - 1] + x[i + 1]` gives 1 to len(x) - 1. An index of several loops
bounds the one whose range is not known otherwise: `x[i + a] * k[a]` gives `i` len(x) - len(k) + 1 turns. An index that
is bent into its axis bounds nothing; a loop with no other index runs over the axis.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from primsplit.frontends.loops.loopset import Axis, Bent, Extreme, Linear, Loop, Picked, Quotient, Reference


@dataclass(frozen=True)
class Use:
    """An index at an axis. `length` is None for the axis of an array that is made, which an index only starts in."""

    index: Linear
    length: Linear | None
    bent: bool = False
    written: bool = False


def uses_of(reference: Reference, length: Callable[[Axis], Linear | None], *, written: bool = False) -> Iterable[Use]:
    """The uses of loops in a reference, inside of its indices first."""
    for axis, index in enumerate(reference.indices):
        if isinstance(index, Picked):
            yield from uses_of(index.reference, length)
        elif isinstance(index, Bent):
            yield Use(index.index, index.length, bent=True)
        else:
            yield Use(index, length(Axis(reference.array, axis)), written=written)


class Bounds(NamedTuple):
    """A range: from `start` to before `stop`."""

    start: Linear
    stop: Linear


class UntoldRange(Exception):
    """No index determines the range of this loop; `index` is one that it occurs in."""

    def __init__(self, loop: str, index: Linear | None) -> None:
        self.loop = loop
        self.index = index
        super().__init__(loop)


def infer(loops: Sequence[str], uses: Iterable[Use], given: Mapping[str, Bounds]) -> dict[str, Loop]:
    """The loops with their ranges, those in `given` as they are. Raises UntoldRange."""
    known = {name: given[name] for name in loops if name in given}
    ordered = sorted(uses, key=lambda use: use.written)
    names = set(loops)
    while pending := [name for name in loops if name not in known]:
        ruled = ((name, rule(name, ordered, known, names)) for rule in RULES for name in pending)
        found = next(((name, bounds) for name, bounds in ruled if bounds is not None), None)
        if found is None:
            index = next((use.index for use in ordered if use.index.factor(pending[0])), None)
            raise UntoldRange(pending[0], index)
        known[found[0]] = found[1]
    return {name: Loop(name, *known[name], agreeing=name not in given) for name in loops}


def agrees_with_its_axes(loop: Loop, uses: Iterable[Use]) -> bool:
    """Return whether the loop is as long as the axes that it indexes alone, so no other index shortens it."""
    plain = [use for use in uses if use.index == Linear(((loop.name, 1),)) and use.length is not None and not use.bent]
    return not loop.agreeing or all(use.length == loop.stop for use in sorted(plain, key=lambda u: u.written)[:1])


def _alone(loop: str, uses: Sequence[Use], known: Mapping[str, Bounds], loops: set[str]) -> Bounds | None:
    """The range by the indices that have no other loop. Of equal lengths one is enough: that they agree is checked."""
    alone = [use for use in uses if not use.bent and use.index.symbols() & loops == {loop}]
    plain = [use for use in alone if use.index == Linear(((loop, 1),)) and use.length is not None]
    others = [use for use in alone if use not in plain]
    return _inside(loop, [*plain[:1], *others], known) if any(use.length is not None for use in alone) else None


def _together(loop: str, uses: Sequence[Use], known: Mapping[str, Bounds], loops: set[str]) -> Bounds | None:
    """The range by the indices whose other loops have theirs."""
    told = [u for u in uses if u.index.factor(loop) and not u.bent and u.index.symbols() & loops - {loop} <= set(known)]
    return _inside(loop, told, known) if any(use.length is not None for use in told) else None


def _over_the_axis(loop: str, uses: Sequence[Use], known: Mapping[str, Bounds], loops: set[str]) -> Bounds | None:
    """The range of a loop that is bent wherever it indexes."""
    bent = [use for use in uses if use.bent and abs(use.index.factor(loop)) == 1 and use.length is not None]
    alone = [use for use in bent if use.index.symbols() & loops - set(known) <= {loop}]
    return Bounds(Linear(), alone[0].length) if alone and alone[0].length is not None else None


RULES = (_alone, _together, _over_the_axis)
"""In this order, for each loop whose range is not known yet."""


def _inside(loop: str, uses: Sequence[Use], known: Mapping[str, Bounds]) -> Bounds:
    """The largest range for which these indices are inside of their axes."""
    starts, stops = [], []
    for use in uses:
        factor = use.index.factor(loop)
        rest = use.index - Linear(((loop, factor),))
        below = quotient(lowest(rest, known), abs(factor))  # factor * i >= -lowest
        above = None if use.length is None else quotient(use.length - 1 - highest(rest, known), abs(factor))
        if factor > 0:
            starts.append(below * -1)
            stops += [above + 1] if above is not None else []
        else:
            highest_below = quotient(lowest(rest, known), -factor)
            stops.append(highest_below + 1)
            starts += [above * -1] if above is not None else []
    return Bounds(extreme("max", starts), extreme("min", stops))


def highest(index: Linear, ranges: Mapping[str, Bounds]) -> Linear:
    """The highest value of an index, if no loop of it is empty."""
    total = Linear((), index.offset)
    for symbol, factor in index.terms:
        bounds = ranges.get(symbol) if isinstance(symbol, str) else None
        if bounds is None:
            total += Linear.of([(symbol, factor)])
        else:
            total += (bounds.stop - 1) * factor if factor > 0 else bounds.start * factor
    return total


def lowest(index: Linear, ranges: Mapping[str, Bounds]) -> Linear:
    """The lowest value of an index, if no loop of it is empty."""
    return highest(index * -1, ranges) * -1


def quotient(linear: Linear, by: int) -> Linear:
    """`linear // by`, with what is a whole multiple divided out."""
    whole = Linear.of(((s, f // by) for s, f in linear.terms if f % by == 0), linear.offset // by)
    rest = Linear.of(((s, f) for s, f in linear.terms if f % by), linear.offset % by)
    return whole if not rest.terms else whole + Linear(((Quotient(rest, by), 1),))


def extreme(which: str, candidates: Iterable[Linear]) -> Linear:
    """The least or greatest; of those that differ by a number only one is left."""
    kept: dict[tuple[tuple[object, int], ...], Linear] = {}
    better = min if which == "min" else max
    for candidate in candidates:
        other = kept.get(candidate.terms)
        offset = candidate.offset if other is None else better(candidate.offset, other.offset)
        kept[candidate.terms] = Linear(candidate.terms, offset)
    left = tuple(kept.values())
    if len(left) == 1:
        return left[0]
    return Linear(((Extreme("min" if which == "min" else "max", left), 1),))
