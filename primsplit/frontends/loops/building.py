"""Collects the lines of a nest under construction, for the notation, Python functions and the builder."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from primsplit.frontends.loops.loopset import Axis, Bent, Index, Linear, Loop, LoopSet, Operation, Picked, Reference
from primsplit.frontends.loops.ranges import Bounds, highest


def loops_of(index: Index | Reference) -> Iterator[str]:
    """The names that an index or a reference depends on: loops, and integer arguments."""
    if isinstance(index, Reference):
        for part in index.indices:
            yield from loops_of(part)
    elif isinstance(index, Picked):
        yield from loops_of(index.reference)
    else:
        linear = index.index if isinstance(index, Bent) else index
        yield from (s for s in linear.symbols() if isinstance(s, str))


def is_one_to_one(indices: Iterable[Index], loops: Iterable[str]) -> bool:
    """Return whether every turn of the loops has an element of its own: each loop is alone in an index."""
    wanted, alone = set(loops), set()
    for index in indices:
        linear = index.index if isinstance(index, Bent) and index.how == "pad" else index
        turning = wanted & set(loops_of(linear))
        if isinstance(linear, Linear) and len(turning) == 1:
            alone |= turning
    return wanted <= alone


class Lines:
    """A list of operations that grows at its end; what is equal is there once.

    `order` are the loops from outside in: an operation's loops stand in this order.
    """

    def __init__(self, order: Iterable[str] = ()) -> None:
        self.operations: list[Operation] = []
        self.order = list(order)
        self.place = ""
        self.name = ""
        self._known: dict[Operation, int] = {}

    def constant(self, value: float) -> int:
        """A number of the program's text."""
        return self._once(Operation("constant", (), function=repr(value), value=value))

    def index(self, loop: str) -> int:
        """The number of the turn of a loop."""
        return self._once(Operation("index", (loop,), function=loop))

    def size(self, length: Linear) -> int:
        """A length as a number."""
        return self._once(Operation("size", (), length=length))

    def load(self, reference: Reference) -> int:
        """An element of an array."""
        return self._once(Operation("load", self.sorted(loops_of(reference)), reference=reference))

    def compute(self, function: str, *parents: int) -> int:
        """A scalar function of values."""
        return self._once(Operation("compute", self.loops(*parents), function=function, parents=parents))

    def reduce(self, function: str, value: int, reduced: Iterable[str], start: int | None = None) -> int:
        """The value combined over loops; the value itself where there are none, and no start."""
        over = self.sorted(reduced)
        if not over:
            return value if start is None else self.compute(function, start, value)
        inner = self.operations[value]
        if inner.kind == "reduce" and inner.function == function and len(inner.parents) == 1:
            return self.reduce(function, inner.parents[0], (*inner.reduced, *over), start)
        parents = (value,) if start is None else (start, value)
        loops = tuple(loop for loop in self.loops(*parents) if loop not in over)
        return self._once(Operation("reduce", loops, function=function, parents=parents, reduced=over))

    def store(
        self, reference: Reference, value: int, *, makes: str, loops: Iterable[str] = (), adds: bool = False
    ) -> int:
        """A write of the value, for every turn of the loops that it, the reference or `loops` have."""
        turns = self.sorted([*loops_of(reference), *self.operations[value].loops, *loops])
        line = Operation("store", turns, parents=(value,), reference=reference, adds=adds, makes=makes)
        return self._append(line)

    def loops(self, *operations: int) -> tuple[str, ...]:
        """The loops that any of them depends on."""
        return self.sorted(loop for at in operations for loop in self.operations[at].loops)

    def sorted(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of the names that are loops, from outside in."""
        wanted = set(names)
        return tuple(loop for loop in self.order if loop in wanted)

    def copy(self, operation: Operation, parents: Sequence[int]) -> int:
        """An operation of another list, with the positions that its parents have in this one."""
        moved = replace(operation, parents=tuple(parents))
        return self._append(moved) if moved.kind == "store" else self._once(moved)

    def _once(self, operation: Operation) -> int:
        at = self._known.get(operation)
        if at is None:
            at = self._known[operation] = self._append(operation)
        return at

    def _append(self, operation: Operation) -> int:
        named = replace(operation, place=operation.place or self.place, name=operation.name or self.name)
        self.operations.append(named)
        return len(self.operations) - 1


class Building:
    """A nest under construction: its arguments, arrays and loops, and its lines.

    An array is called by the user's name; `version` tells what it is called after the stores so far.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.arguments: dict[str, int] = {}
        self.integers: list[str] = []
        self.lines = Lines()
        self.ranges: dict[str, Loop] = {}
        self.apart: set[str] = set()
        self.ranks: dict[str, int] = {}
        self.shapes: dict[str, tuple[Linear, ...]] = {}
        self.versions: dict[str, str] = {}
        self.counts: dict[str, int] = {}

    def loop(self, loop: Loop, *, shared: bool = True) -> str:
        """The loop's own name: the one that it has, or one with a number where that is another loop's.

        Loops of one name and one range are one, unless one of them is not to be `shared`.
        """
        name, count = loop.name, 1
        while name in self.ranges and not (shared and self._is(loop, name)):
            count += 1
            name = f"{loop.name}_{count}"
        if name not in self.ranges:
            self.ranges[name] = replace(loop, name=name, letter=loop.name)
            self.lines.order.append(name)
            self.apart |= set() if shared else {name}
        return name

    def _is(self, loop: Loop, name: str) -> bool:
        """Return whether the loop of this name is the same, and may be shared."""
        known = self.ranges[name]
        same = replace(loop, name=name) == known and loop.agreeing == known.agreeing
        return same and name not in self.apart

    def argument(self, name: str, rank: int) -> None:
        """An array that is given, unless it is known already."""
        if name not in self.ranks:
            self.arguments[name] = self.ranks[name] = rank
            self.versions[name] = name

    def integer(self, name: str) -> None:
        """An argument that is a whole number."""
        if name not in self.integers:
            self.argument(name, 0)
            self.integers.append(name)

    def exists(self, name: str) -> bool:
        """Return whether an array of that name exists: an argument, or one that a store made."""
        return name in self.versions

    def length(self, axis: Axis) -> Linear:
        """The length of an axis of an array, as an expression of the arguments."""
        array = axis.array.partition(".")[0]
        shape = self.shapes.get(array)
        return shape[axis.axis] if shape is not None else Linear(((Axis(array, axis.axis), 1),))

    def reference(self, array: str, indices: tuple[Index, ...]) -> Reference:
        """An element of the array as it is now."""
        return Reference(self.versions.get(array, array), indices)

    def store(
        self, array: str, indices: tuple[Index, ...], value: int, *, adds: bool, loops: Iterable[str] = ()
    ) -> int:
        """A write of an element. An array that is made is as long as the written indices reach."""
        if not self.exists(array):
            self.ranks.setdefault(array, len(indices))
            if array not in self.shapes:
                self.shapes[array] = tuple(self._reach(index) for index in indices)
            turns = [*self.lines.operations[value].loops, *loops, *loops_of(Reference(array, indices))]
            adds = adds and not is_one_to_one(indices, self.lines.sorted(turns))
        count = self.counts.get(array, int(array in self.arguments))
        self.counts[array] = count + 1
        new = f"{array}.{count}" if count else array
        at = self.lines.store(self.reference(array, indices), value, makes=new, adds=adds, loops=loops)
        self.versions[array] = new
        return at

    def _reach(self, index: Index) -> Linear:
        """One more than the highest value of an index."""
        if isinstance(index, Bent):
            return index.length
        if isinstance(index, Picked):
            raise AssertionError("an array that is written where numbers say is an argument")
        bounds = {name: Bounds(loop.start, loop.stop) for name, loop in self.ranges.items()}
        return highest(index, bounds) + 1

    def finished(self) -> LoopSet:
        """The nest: without what nothing reads, its loops those that are left."""
        return pruned(
            LoopSet(
                arguments=tuple(self.arguments.items()),
                loops=tuple(self.ranges.values()),
                operations=tuple(self.lines.operations),
                results=tuple((name, self.versions[name]) for name in self.counts),
                shapes=tuple(self.shapes.items()),
                integers=tuple(self.integers),
                name=self.name,
            )
        )


def pruned(nest: LoopSet) -> LoopSet:
    """The nest without what no result needs, in the order that the stores need it.

    What reads a version of an array stays before the store that makes the next one: `derivation` relies on it.
    """
    stores, needed = _needed(nest)
    lines = Lines(loop.name for loop in nest.loops)
    places: dict[int, int] = {}

    def write(at: int) -> None:
        operation = nest.operations[at]
        for parent in operation.parents:
            if parent not in places:
                write(parent)
        places[at] = lines.copy(operation, [places[parent] for parent in operation.parents])

    for at in stores:
        base = _array(nest.operations[at])
        for load in (one for one in needed if nest.operations[one].kind == "load" and one not in places and one < at):
            if _array(nest.operations[load]) == base:
                write(load)
        write(at)
    operations = tuple(lines.operations)
    used = {loop for operation in operations for loop in (*operation.loops, *operation.reduced)}
    written = {_array(operation) for operation in operations}
    return replace(
        nest,
        loops=tuple(loop for loop in nest.loops if loop.name in used),
        operations=operations,
        shapes=tuple((name, shape) for name, shape in nest.shapes if name in written),
    )


def _array(operation: Operation) -> str:
    """The array that a line reads, or that a store begins with."""
    return operation.reference.array if operation.reference is not None else ""


def _needed(nest: LoopSet) -> tuple[list[int], list[int]]:
    """The stores that the results depend on, and all lines that do."""
    wanted = {version for _, version in nest.results}
    stores: list[int] = []
    needed: set[int] = set()
    for at in reversed(range(len(nest.operations))):
        operation = nest.operations[at]
        if operation.kind == "store" and operation.makes in wanted:
            stores.append(at)
            for one in _above(nest, at) - needed:
                needed.add(one)
                reference = nest.operations[one].reference
                wanted.update(() if reference is None else arrays_of(reference))
    return stores[::-1], sorted(needed)


def _above(nest: LoopSet, at: int) -> set[int]:
    """The lines that a line depends on, and itself."""
    seen: set[int] = set()
    ahead = [at]
    while ahead:
        one = ahead.pop()
        if one not in seen:
            seen.add(one)
            ahead.extend(nest.operations[one].parents)
    return seen


def arrays_of(reference: Reference) -> Iterator[str]:
    """The arrays that a reference reads, those of its indices too."""
    yield reference.array
    for index in reference.indices:
        if isinstance(index, Picked):
            yield from arrays_of(index.reference)


def index_arrays(nest: LoopSet) -> set[str]:
    """The arguments that indices are read from: they hold whole numbers."""
    references = [line.reference for line in nest.operations if line.reference is not None]
    picked = {array for reference in references for array in list(arrays_of(reference))[1:]}
    return picked & {name for name, _ in nest.arguments}
