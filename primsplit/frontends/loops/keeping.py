"""Decides for each value that a reverse nest reads whether it is read as it is, computed again, or kept.

The rule is that of loop vectorizers: a value is computed again if that costs less than three times a store and a load
(`costs.THRESHOLD`), counted from what the reverse nest has anyway: arguments, results, and values that are already
kept. Reading an array costs nothing here, because a kept value would have to be read too.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from primsplit.frontends.loops.building import Lines
from primsplit.frontends.loops.functions import cost
from primsplit.frontends.loops.loopset import Bent, Linear, Loop, LoopSet, Operation, Picked, Reference
from primsplit.frontends.loops.sizes import Sizes
from primsplit.ir.dims import Dim

PREFIX = "#"
PRODUCTS = frozenset({"multiply", "divide", "negative"})


@dataclass(frozen=True)
class Temporary:
    """An array that a forward nest keeps for its reverse: what line `line` of it computes, an axis for each loop."""

    name: str
    loops: tuple[str, ...]
    line: int

    def shape(self, sizes: Sizes) -> tuple[Dim, ...]:
        """Return the number of turns of each of its loops."""
        return tuple(sizes.length(loop) for loop in self.loops)

    def nbytes(self, sizes: Sizes, itemsize: int) -> Dim:
        """Its size in bytes, with elements of `itemsize` bytes."""
        return math.prod(self.shape(sizes)) * itemsize


@dataclass(frozen=True)
class Choice:
    """The way in which a reverse nest gets the value of a forward line, and the cost of recomputing it."""

    line: int
    how: Literal["again", "read", "kept"]
    cost: float


@dataclass(frozen=True)
class Kept:
    """A forward nest that keeps what is needed, and a reverse nest that has all that it reads."""

    forward: LoopSet
    reverse: LoopSet
    temporaries: tuple[Temporary, ...]
    choices: tuple[Choice, ...]


def kept_line(at: int, operation: Operation) -> Operation:
    """The line that stands for a value of the forward nest until `keep` decides where it comes from."""
    if operation.kind in {"constant", "size", "index"}:
        return operation
    return Operation("load", operation.loops, reference=Reference(f"{PREFIX}{at}", ()))


def _stands_for(operation: Operation) -> int | None:
    """The forward line that a line stands for, or None."""
    reference = operation.reference
    if operation.kind == "load" and reference is not None and reference.array.startswith(PREFIX):
        return int(reference.array.removeprefix(PREFIX))
    return None


def keep(nest: LoopSet, reverse: LoopSet, threshold: float) -> Kept:
    """Decide for each value that the reverse nest reads where it comes from."""
    needed = sorted({at for operation in reverse.operations if (at := _stands_for(operation)) is not None})
    sources = _Sources(nest, threshold)
    choices = tuple(sources.choose(at) for at in needed)
    temporaries = _named(nest, [choice.line for choice in choices if choice.how == "kept"])
    lines = _Rewriting(nest, {t.line: t for t in temporaries}, sources.results)
    for operation in reverse.operations:
        lines.add(operation)
    return Kept(
        forward=_keeping(nest, temporaries),
        reverse=replace(reverse, operations=tuple(lines.lines.operations)),
        temporaries=temporaries,
        choices=choices,
    )


class _Sources:
    """The places where values of a forward nest are available; `results` are elements that hold a line's value."""

    def __init__(self, nest: LoopSet, threshold: float) -> None:
        self.nest = nest
        self.threshold = threshold
        self.lasting = {name for name, _ in nest.arguments} | {version for _, version in nest.results}
        self.results = _results(nest)
        self.had: set[int] = set()

    def choose(self, at: int) -> Choice:
        """Return the choice for a value, after the choices made before."""
        needs = self._again(at, set())
        price = sum(_price(self.nest.operations[one], self._readable(one)) for one in needs)
        if at in self.results:
            self.had.add(at)
            return Choice(at, "read", price)
        again = price < self.threshold or not price or self._is_outer(needs, at)
        self.had |= set() if again else {at}
        return Choice(at, "again" if again else "kept", price)

    def _again(self, at: int, seen: set[int]) -> set[int]:
        """The lines to compute for this one."""
        if at not in seen and at not in self.had and (at not in self.results or not seen):
            seen.add(at)
            for parent in self.nest.operations[at].parents:
                self._again(parent, seen)
        return seen

    def _is_outer(self, needs: set[int], at: int) -> bool:
        """Whether a line is a product larger than each of its factors: sums contract it, so that it is never stored."""
        lines = [self.nest.operations[one] for one in needs]
        computed = [line for line in lines if line.kind not in {"load", "constant", "index", "size"}]
        sources = [one for one in needs if self.nest.operations[one].kind == "load"]
        loops = set(self.nest.operations[at].loops)
        return (
            all(line.kind == "compute" and line.function in PRODUCTS for line in computed)
            and all(self._readable(one) for one in sources)
            and bool(sources)
            and not any(loops <= set(self.nest.operations[one].loops) for one in sources)
        )

    def _readable(self, at: int) -> bool:
        """Whether a line loads from an array that still exists when the reverse nest runs."""
        reference = self.nest.operations[at].reference
        return reference is not None and _arrays(reference) <= self.lasting


def _arrays(reference: Reference) -> set[str]:
    inner = (_arrays(index.reference) for index in reference.indices if isinstance(index, Picked))
    return {reference.array}.union(*inner)


def _price(operation: Operation, readable: bool) -> float:
    if operation.kind == "load":
        return 0.0 if readable else math.inf
    if operation.kind == "compute":
        return cost(operation.function)
    return math.inf if operation.kind == "reduce" else 0.0


def _results(nest: LoopSet) -> dict[int, Reference]:
    """The elements of results that are what a line computes, by the line.

    Arrays that the nest makes alone: one that is given may have another dtype, and a rounded maximum equals nothing.
    """
    last = {version for _, version in nest.results}
    found: dict[int, Reference] = {}
    for operation in nest.operations:
        reference = operation.reference
        if operation.kind != "store" or reference is None or operation.adds or operation.makes not in last:
            continue
        if reference.array != operation.makes or nest.operations[operation.parents[0]].kind == "load":
            continue
        (parent,) = operation.parents
        plain = not any(isinstance(index, Bent | Picked) for index in reference.indices)
        if plain and nest.operations[parent].loops == operation.loops:
            found[parent] = replace(reference, array=operation.makes)
    return found


def _named(nest: LoopSet, lines: list[int]) -> tuple[Temporary, ...]:
    """The temporaries of these lines, under names that the nest does not have."""
    taken = {name for name, _ in nest.arguments} | {operation.makes for operation in nest.operations}
    found: list[Temporary] = []
    for at in lines:
        number = len(found) + 1
        while f"kept{number}" in taken:
            number += 1
        taken.add(f"kept{number}")
        found.append(Temporary(f"kept{number}", nest.operations[at].loops, at))
    return tuple(found)


def _element(temporary: Temporary, ranges: Mapping[str, Loop]) -> Reference:
    """The element of a temporary for a turn of its loops: the first turn has the first."""
    starts = [(loop, ranges[loop].start) for loop in temporary.loops]
    return Reference(temporary.name, tuple(Linear(((loop, 1),)) - start for loop, start in starts))


def _keeping(nest: LoopSet, temporaries: tuple[Temporary, ...]) -> LoopSet:
    """The nest with stores of what is kept at its end, and the temporaries behind its results."""
    ranges, lines = nest.ranges(), list(nest.operations)
    shapes = list(nest.shapes)
    for kept in temporaries:
        reference = _element(kept, ranges)
        lines.append(Operation("store", kept.loops, parents=(kept.line,), reference=reference, makes=kept.name))
        shapes.append((kept.name, tuple(ranges[loop].stop - ranges[loop].start for loop in kept.loops)))
    results = (*nest.results, *((kept.name, kept.name) for kept in temporaries))
    return replace(nest, operations=tuple(lines), shapes=tuple(shapes), results=results)


class _Rewriting:
    """A reverse nest's lines, written again with the lines that read, or compute again, what others stood for."""

    def __init__(self, nest: LoopSet, temporaries: Mapping[int, Temporary], results: Mapping[int, Reference]) -> None:
        self.nest = nest
        self.ranges = nest.ranges()
        self.lines = Lines(loop.name for loop in nest.loops)
        self.temporaries = temporaries
        self.results = results
        self.places: list[int] = []
        self.had: dict[int, int] = {}

    def add(self, operation: Operation) -> None:
        """Write the next line of the reverse nest."""
        at = _stands_for(operation)
        parents = [self.places[parent] for parent in operation.parents]
        self.places.append(self.lines.copy(operation, parents) if at is None else self.forward(at))

    def forward(self, at: int) -> int:
        """The line with a forward line's value."""
        if at not in self.had:
            operation = self.nest.operations[at]
            if at in self.temporaries:
                self.had[at] = self.lines.load(_element(self.temporaries[at], self.ranges))
            elif at in self.results:
                self.had[at] = self.lines.load(self.results[at])
            else:
                self.had[at] = self.lines.copy(operation, [self.forward(parent) for parent in operation.parents])
        return self.had[at]
