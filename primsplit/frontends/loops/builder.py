"""Builds a nest by hand, without the text of index notation or a Python function.

nest = NestBuilder("amulb")
C, A, B = nest.arrays("C", "A", "B")
m, n, k = nest.loop("m", A.length(0)), nest.loop("n", B.length(1)), nest.loop("k", A.length(1))
C[m, n] = nest.combined("add", A[m, k] * B[k, n], k)
nest.finished()
"""

from primsplit.frontends.loops.building import Building, is_one_to_one, loops_of
from primsplit.frontends.loops.loopset import Axis, Index, Linear, Loop, LoopSet, Picked, Reference
from primsplit.frontends.loops.terms import Number, Term
from primsplit.ir.errors import IndexingError


class NestBuilder:
    """A nest to write lines into. Its arguments are in the order that they are asked for."""

    def __init__(self, name: str = "") -> None:
        self.building = Building(name)

    def arrays(self, *names: str) -> tuple["Elements", ...]:
        """Arrays that are arguments of the nest."""
        for name in names:
            self.building.arguments[name] = 0
            self.building.versions[name] = name
        return tuple(Elements(self, name) for name in names)

    def whole_number(self, name: str) -> Linear:
        """A whole number that is an argument: an index or the end of a range may depend on it."""
        self.building.integer(name)
        return Linear(((name, 1),))

    def made(self, name: str, *lengths: Linear | int) -> "Elements":
        """An array of zeros; without lengths it is as long as the first indices that it is written at reach."""
        if lengths:
            self.building.shapes[name] = tuple(Linear() + length for length in lengths)
        return Elements(self, name)

    def loop(self, name: str, start: Linear | int, stop: Linear | int | None = None) -> Linear:
        """A loop over a range, which an index may be made of by +, - and whole factors; with one end it starts at 0."""
        first, last = (0, start) if stop is None else (start, stop)
        loop = Loop(name, Linear() + first, Linear() + last, agreeing=False)
        return Linear(((self.building.loop(loop), 1),))

    def turn(self, loop: Linear) -> Term:
        """The number of a loop as a value."""
        (name,) = self.building.lines.sorted(loops_of(loop))
        return Term(self.building.lines, self.building.lines.index(name))

    def combined(self, function: str, value: Term, *loops: Linear) -> Term:
        """The values of all turns of some loops, by "add", "multiply", "maximum" or "minimum"."""
        return value.combined(function, [name for loop in loops for name in loops_of(loop)])

    def finished(self) -> LoopSet:
        """The nest, without what no result needs."""
        return self.building.finished()


class Elements:
    """The elements of an array of a nest: read and overwritten by index, added to by `add`."""

    def __init__(self, nest: NestBuilder, name: str) -> None:
        self.building = nest.building
        self.name = name

    def length(self, axis: int) -> Linear:
        """The length of an axis."""
        return self.building.length(Axis(self.name, axis))

    def reference(self, *indices: Index | int) -> Reference:
        """An element, which `Picked` makes an index of."""
        rank = self.building.ranks.setdefault(self.name, len(indices))
        if rank != len(indices):
            raise IndexingError(f"{self.name} has {len(indices)} indices here and {rank} elsewhere")
        if self.name in self.building.arguments:
            self.building.arguments[self.name] = rank
        return self.building.reference(self.name, tuple(Linear() + i if isinstance(i, int) else i for i in indices))

    def picked(self, *indices: Index | int) -> Picked:
        """The number at these indices, as an index of another array."""
        return Picked(self.reference(*indices))

    def __getitem__(self, indices: Index | int | tuple[Index | int, ...]) -> Term:
        lines = self.building.lines
        return Term(lines, lines.load(self.reference(*_all(indices))))

    def __setitem__(self, indices: Index | int | tuple[Index | int, ...], value: Number) -> None:
        self._store(_all(indices), value, adds=False)

    def add(self, indices: Index | int | tuple[Index | int, ...], value: Number) -> None:
        """Add to an element, for each turn of the loops of the value and the indices."""
        self._store(_all(indices), value, adds=True)

    def _store(self, indices: tuple[Index | int, ...], value: Number, *, adds: bool) -> None:
        lines = self.building.lines
        places = self.reference(*indices).indices
        line = value.at if isinstance(value, Term) else lines.constant(value)
        turns = lines.sorted([*loops_of(Reference(self.name, places)), *lines.operations[line].loops])
        if not adds and not is_one_to_one(places, turns):
            what = f"several turns of the loops may write one element of {self.name}, and turns have no order"
            raise IndexingError(what, cure="Combine the value over the loop, or use add.")
        self.building.store(self.name, places, line, adds=adds, loops=turns)


def _all(indices: Index | int | tuple[Index | int, ...]) -> tuple[Index | int, ...]:
    return indices if isinstance(indices, tuple) else (indices,)
