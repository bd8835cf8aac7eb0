"""Derives a nest: from its list of lines, makes the list of lines that carries cotangents back through it.

Lines are visited children first. A store becomes a load of its array's cotangent. A load becomes a store that adds to
the cotangent of its array. A scalar function becomes its row of `partials.py`, a reduction that of `reductions.py`. A
value that does not depend on a loop of the line that reads it is read in every turn of that loop, so its cotangent is
the sum over the loop: a broadcast becomes a sum and a sum becomes a broadcast, as the loops of the two lines show.

A value of the forward nest that the reverse nest reads is an argument or a result, or is computed again if that is
cheap, or is kept in an array of its own: see `keeping.py`.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from primsplit.frontends.loops.building import Lines, arrays_of, is_one_to_one, pruned
from primsplit.frontends.loops.chosen import Chosen, added
from primsplit.frontends.loops.functions import near
from primsplit.frontends.loops.keeping import Choice, Temporary, keep, kept_line
from primsplit.frontends.loops.loopset import Axis, Linear, LoopSet, Operation, Reference
from primsplit.frontends.loops.partials import FLAT, partial
from primsplit.frontends.loops.reductions import reduction_partials
from primsplit.frontends.loops.terms import Term
from primsplit.ir.analysis import costs
from primsplit.ir.errors import SpecError


@dataclass(frozen=True)
class Derivation:
    """A nest and the nest of its derivative.

    - `forward` is the nest, with the temporaries behind its results.
    - `reverse` takes the cotangents of results, `cotangents` by their names; those arrays of the forward nest that it
      reads, arguments by their names and others by those of their versions; and the nest's integer arguments. Its
      results are the cotangents of the tracked arguments that the results depend on, `gradients` by their names. Its
      loops, and the shapes of what it makes, are of lengths of any of the forward nest's arguments.
    - `choices` tell for each value that the reverse nest needs how it gets it.
    """

    forward: LoopSet
    reverse: LoopSet
    temporaries: tuple[Temporary, ...]
    cotangents: tuple[tuple[str, str], ...]
    gradients: tuple[tuple[str, str], ...]
    choices: tuple[Choice, ...]


def derive(
    nest: LoopSet,
    tracked: Collection[str],
    *,
    into: Collection[str] = (),
    threshold: float = costs.THRESHOLD,
    wanted: Collection[str] | None = None,
) -> Derivation:
    """The derivative of a nest with respect to the `tracked` arguments.

    `into` are tracked arguments whose cotangent is added to an array that is given, named like the gradient, rather
    than to zeros. `wanted` are the results that have cotangents, all of them by default. What costs less than
    `threshold` is computed again rather than kept: 0 keeps all that is not read from an array.
    """
    arguments = {name for name, _ in nest.arguments}
    for name in {*tracked, *into} - arguments:
        raise SpecError(f"the nest has no argument {name}", cure=near(name, arguments))
    if set(into) & {name for name, _ in nest.results}:
        raise SpecError(f"what the nest writes has its cotangent given already: {', '.join(sorted(into))}")
    origins = _origins(nest)
    given = {name: version for name, version in nest.results if wanted is None or name in wanted}
    reverse = _Reverse(nest, tracked, origins, [*(origins[version] for version in given.values()), *into])
    for at in reversed(range(len(nest.operations))):
        reverse.visit(at)
    reached = set(tracked) & set(reverse.current)
    gradients = tuple((name, reverse.names[name]) for name, _ in nest.arguments if name in reached)
    kept = keep(nest, pruned(reverse.draft(gradients)), threshold)
    read = {version: reverse.names[origins[version]] for version in (*given.values(), *into)}
    return Derivation(
        forward=kept.forward,
        reverse=replace(kept.reverse, arguments=_arguments(kept.forward, kept.reverse, read)),
        temporaries=kept.temporaries,
        cotangents=tuple((name, reverse.names[origins[version]]) for name, version in given.items()),
        gradients=gradients,
        choices=kept.choices,
    )


def _arguments(forward: LoopSet, reverse: LoopSet, cotangents: Mapping[str, str]) -> tuple[tuple[str, int], ...]:
    """The arguments of a reverse nest: cotangents, then arrays of the forward nest, then whole numbers.

    `cotangents` are those that are given, by the version of the array that each is of.
    """
    ranks = {**dict(forward.arguments), **{made: len(reference.indices) for made, reference in _stores(forward)}}
    given = {cotangent: ranks[version] for version, cotangent in cotangents.items()}
    made = {name for name, _ in _stores(reverse)} | {name for name, _ in reverse.shapes}
    read = {name for line in reverse.operations if line.reference for name in arrays_of(line.reference)}
    read |= {version for _, version in reverse.results}
    arrays = {name: rank for name, rank in {**given, **ranks}.items() if name in read - made}
    return (*arrays.items(), *((name, 0) for name in forward.integers))


def _stores(nest: LoopSet) -> Iterator[tuple[str, Reference]]:
    """The array that each store makes, and the place it writes."""
    for operation in nest.operations:
        if operation.kind == "store" and operation.reference is not None:
            yield operation.makes, operation.reference


class _Reverse:
    """A reverse nest under construction.

    `current` are the cotangent arrays of the forward nest's arrays, as far as they are known: by what an array began
    as, the names of their last versions; those of the `given` arrays are arguments. `cotangents` are those of the
    forward lines, a line of this nest for each line that reads them. What is read of the forward nest stands as a line
    that `keeping` replaces.
    """

    def __init__(
        self, nest: LoopSet, tracked: Collection[str], origins: Mapping[str, str], given: Collection[str]
    ) -> None:
        self.nest = nest
        self.lines = Lines(loop.name for loop in nest.loops)
        self.cotangents: dict[int, list[Chosen]] = {}
        self.shapes: dict[str, tuple[Linear, ...]] = {}
        self.origins = origins
        self.names = _names(origins)
        self.current: dict[str, str] = {name: self.names[name] for name in given}
        self.counts: Counter[str] = Counter(self.current.values())
        self.active, self.active_arrays = _active(nest, tracked)

    def draft(self, gradients: Iterable[tuple[str, str]]) -> LoopSet:
        """The nest so far; `gradients` are its results."""
        return LoopSet(
            arguments=(),
            loops=self.nest.loops,
            operations=tuple(self.lines.operations),
            results=tuple((cotangent, self.current[name]) for name, cotangent in gradients),
            shapes=tuple(self.shapes.items()),
            integers=self.nest.integers,
            name=f"{self.nest.name} reverse".strip(),
        )

    def forward(self, at: int) -> Term:
        """The value of a forward line."""
        return Term(self.lines, self.lines.copy(kept_line(at, self.nest.operations[at]), ()))

    def visit(self, at: int) -> None:
        """Carry the cotangent of a forward line to what the line reads."""
        operation = self.nest.operations[at]
        self.lines.place = operation.place
        if operation.kind == "store":
            self._store(operation)
            return
        terms = self.cotangents.pop(at, [])
        if at not in self.active or not terms:
            return
        cotangent = added(terms)
        if operation.kind == "load":
            self._load(operation, cotangent.whole())
        elif operation.kind == "compute":
            self._compute(at, operation, cotangent)
        elif operation.kind == "reduce":
            self._reduce(at, operation, cotangent)

    def _store(self, operation: Operation) -> None:
        """A load of the array's cotangent; of what is overwritten, the cotangent is 0."""
        reference, (parent,) = operation.reference, operation.parents
        assert reference is not None
        array = self.origins[operation.makes]
        if array not in self.current:
            return
        there = replace(reference, array=self.current[array])
        if parent in self.active:
            self._give(parent, Chosen(Term(self.lines, self.lines.load(there))), operation.loops)
        if reference.array == operation.makes or reference.array not in self.active_arrays:
            del self.current[array]
        elif not operation.adds:
            self._write(array, reference, Term(self.lines, self.lines.constant(0.0)), operation.loops, adds=False)

    def _load(self, operation: Operation, cotangent: Term) -> None:
        """A store that adds to the array's cotangent."""
        reference = operation.reference
        assert reference is not None
        array = self.origins[reference.array]
        fresh = array not in self.current
        adds = not (fresh and is_one_to_one(reference.indices, operation.loops))
        self._write(array, reference, cotangent, operation.loops, adds=adds)

    def _write(self, array: str, reference: Reference, value: Term, loops: Iterable[str], *, adds: bool) -> None:
        name = self.names[array]
        if array not in self.current:
            self.current[array] = name if not self.counts[name] else f"{name}.{self.counts[name]}"
            shape = tuple(Linear(((Axis(array, axis), 1),)) for axis in range(len(reference.indices)))
            self.shapes[self.current[array]] = dict(self.nest.shapes).get(array, shape)
            new = self.current[array]
        else:
            new = f"{name}.{self.counts[name]}"
        self.counts[name] += 1
        self.lines.store(replace(reference, array=self.current[array]), value.at, makes=new, adds=adds, loops=loops)
        self.current[array] = new

    def _compute(self, at: int, operation: Operation, cotangent: Chosen) -> None:
        arguments = [self.forward(parent) for parent in operation.parents]
        for number, parent in enumerate(operation.parents):
            if parent not in self.active:
                continue
            if operation.function == "where":
                if number:
                    self._give(parent, cotangent.chosen(arguments[0], where=number == 1), operation.loops)
                continue
            found = partial(operation.function, number, cotangent.term, self.forward(at), arguments)
            if found is not None:
                self._give(parent, replace(cotangent, term=found), operation.loops)

    def _reduce(self, at: int, operation: Operation, cotangent: Chosen) -> None:
        *start, value = operation.parents
        first = self.forward(start[0]) if start else None
        terms = reduction_partials(
            operation.function, operation.reduced, cotangent.term, self.forward(at), self.forward(value), first
        )
        if value in self.active:
            self._give(value, replace(cotangent, term=terms[0]), (*operation.loops, *operation.reduced))
        if start and start[0] in self.active and terms[1] is not None:
            self._give(start[0], replace(cotangent, term=terms[1]), operation.loops)

    def _give(self, parent: int, cotangent: Chosen, loops: Iterable[str]) -> None:
        """Note the cotangent of a line, that comes from a line of these loops: summed over those that it lacks."""
        lacks = [loop for loop in loops if loop not in self.nest.operations[parent].loops]
        self.cotangents.setdefault(parent, []).append(cotangent.sum(lacks))


def _origins(nest: LoopSet) -> dict[str, str]:
    """The array that each version of an array began as: an argument, or what a store made from nothing.

    The names do not tell: `A.1` may be an argument, if the nest is the reverse of one that has made it.
    """
    origins = {name: name for name, _ in nest.arguments}
    for made, reference in _stores(nest):
        origins[made] = origins.get(reference.array, reference.array)
    return origins


def _names(origins: Mapping[str, str]) -> dict[str, str]:
    """The name of each array's cotangent: `d_A`, or with another d if the nest has an array of that name."""
    taken = set(origins)
    names = {}
    for array in dict.fromkeys(origins.values()):
        name = f"d_{array.replace('.', '_')}"
        while name in taken:
            name = f"d{name}"
        taken.add(name)
        names[array] = name
    return names


def _active(nest: LoopSet, tracked: Collection[str]) -> tuple[set[int], set[str]]:
    """The lines and the arrays, by version, that depend on a tracked argument by more than truths and roundings."""
    arrays, lines = set(tracked) - set(nest.integers), set[int]()
    for at, operation in enumerate(nest.operations):
        reads = any(parent in lines for parent in operation.parents)
        if operation.kind == "store" and operation.reference is not None:
            if reads or operation.reference.array in arrays:
                arrays.add(operation.makes)
        elif operation.kind == "load" and operation.reference is not None:
            lines |= {at} if operation.reference.array in arrays else set()
        elif reads and operation.function not in FLAT:
            lines.add(at)
    return lines, arrays
