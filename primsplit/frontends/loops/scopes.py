"""Tracks names and elements while a Python nest is read: a statement of one turn becomes a line for all turns.

That requires turns that do not depend on each other. A name or an element that a loop adds to is not known before the
loop ends; one that a turn leaves for the next, or that two turns may both touch, is refused.

What is not refused here must mean what Python means: random nests are compared with Python's own loops.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NoReturn

from primsplit.frontends.loops.building import Building, is_one_to_one, loops_of
from primsplit.frontends.loops.loopset import Index, Linear, Reference

Element = tuple[str, tuple[Index, ...]]
Key = str | Element
IDENTITIES = {"add": 0.0, "multiply": 1.0, "maximum": float("-inf"), "minimum": float("inf")}
"""The identity element of each function that reduces."""

RECURRENCE = "A running sum is np.cumsum; what a turn leaves for the next is a ps.scan."


@dataclass(eq=False)
class Cell:
    """An element in the frame of its innermost loop: what it is ("="), or what is combined with what it was.

    `stored` is True once the array has it.
    """

    how: str
    line: int
    stored: bool = False


@dataclass(eq=False)
class Frame:
    """The body of a loop, which the user calls `name`, or of the function where `loop` is "".

    `values` are the names that a turn has assigned, None where a loop inside has left one behind; `linears` those of
    them that are indices; `pending` what the loop adds to names and elements from outside; `assigned` and `combined`
    the names that its body assigns, or adds to, anywhere.
    """

    loop: str
    name: str = ""
    assigned: frozenset[str] = frozenset()
    combined: frozenset[str] = frozenset()
    values: dict[str, int | None] = field(default_factory=dict)
    linears: dict[str, Linear] = field(default_factory=dict)
    pending: dict[Key, tuple[str, int]] = field(default_factory=dict)
    cells: dict[Element, Cell] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Access:
    """A read ("read"), a write ("=") or a combination (its function) of an element, in the frames that were open."""

    indices: tuple[Index, ...]
    how: str
    frames: tuple[Frame, ...]


class Scopes:
    """The frames that are open, and the masks of branches. `refuse` raises the error at the statement being read."""

    def __init__(self, building: Building, refuse: Callable[[str, str], NoReturn]) -> None:
        self.building = building
        self.lines = building.lines
        self.refuse = refuse
        self.frames = [Frame("")]
        self.masks: list[int] = []
        self.accesses: dict[str, list[Access]] = {}

    def open(self, loop: str, name: str, assigned: Iterable[str], combined: Iterable[str]) -> None:
        """Begin a loop, whose body assigns some names, and adds to some."""
        self.frames.append(Frame(loop, name, frozenset(assigned), frozenset(combined)))

    def close(self) -> None:
        """End the innermost loop: store its elements, and combine what it has added to others."""
        self.store_all()
        frame = self.frames.pop()
        outer = self.frames[-1]
        for name in frame.values:
            outer.values[name] = None
            outer.linears.pop(name, None)
        for key, (function, line) in frame.pending.items():
            self._arrive(key, function, self.lines.reduce(function, line, [frame.loop]))

    def store_all(self) -> None:
        """Store what elements of arrays hold in the innermost frame."""
        frame = self.frames[-1]
        for element, cell in list(frame.cells.items()):
            if not cell.stored:
                self._store(frame, element, cell)

    def masked(self, value: int, other: int | None) -> int:
        """The value where the branches that are open are taken, else `other`; the value alone where that is None."""
        for mask in self.masks:
            value = value if other is None else self.lines.compute("where", mask, value, other)
        return value

    # names

    def holder(self, name: str) -> Frame | None:
        """The frame that has the name."""
        return next((frame for frame in reversed(self.frames) if name in frame.values), None)

    def read(self, name: str) -> int:
        """The line of a name."""
        frame = self.holder(name)
        assert frame is not None
        value = frame.values[name]
        if value is None:
            self.refuse(f"{name} is what the last turn of a loop left", "Store it in an array, or assign it here.")
        self.not_carried(name, frame)
        return value

    def linear(self, name: str) -> Linear | None:
        """The index that a name is, or None."""
        frame = self.holder(name)
        if frame is None or name not in frame.linears:
            return None
        self.not_carried(name, frame)
        return frame.linears[name]

    def write(self, name: str, line: int, linear: Linear | None = None) -> None:
        """Assign a name."""
        frame = self.frames[-1]
        known = self.holder(name) if self.masks else None
        other = self.read(name) if known is not None and known.values[name] is not None else None
        frame.values[name] = self.masked(line, other)
        frame.linears.pop(name, None)
        if linear is not None and not self.masks:
            frame.linears[name] = linear

    def not_carried(self, name: str, frame: Frame) -> None:
        """Refuse to read a name of a frame inside of loops that change it."""
        inner = self.frames[self.frames.index(frame) + 1 :]
        if any(name in one.combined for one in inner):
            self.refuse(f"{name} is read in the loop that it is summed up by", RECURRENCE)
        if any(name in one.assigned for one in inner):
            self.refuse(f"{name} is read before the turn assigns it: that is what the turn before has left", RECURRENCE)

    # both

    def combine(self, key: Key, function: str, line: int) -> None:
        """`key += line`, or with another function."""
        if self.masks:
            line = self.masked(line, self.lines.constant(IDENTITIES[function]))
        if isinstance(key, str):
            frame = self.holder(key)
            assert frame is not None
            if any(key in one.assigned for one in self.frames[self.frames.index(frame) + 1 :]):
                self.refuse(f"{key} is both assigned and added to in one loop", RECURRENCE)
        else:
            self._access(*key, how=function)
        self._arrive(key, function, line)

    def _arrive(self, key: Key, function: str, line: int) -> None:
        """Combine in the frame that holds the key, or leave it pending in the innermost one."""
        frame = self.frames[-1]
        home = self.holder(key) if isinstance(key, str) else self._home(key[1])
        if home is not frame:
            before = frame.pending.get(key)
            if before is not None and before[0] != function:
                self.refuse("a loop combines what is outside of it in two ways", "Use a loop for each.")
            total = line if before is None else self.lines.compute(function, before[1], line)
            frame.pending[key] = function, total
        elif isinstance(key, str):
            frame.values[key] = self._combined(function, self.read(key), line)
            frame.linears.pop(key, None)
        else:
            self._arrive_element(frame, key, function, line)

    def _combined(self, function: str, start: int, line: int) -> int:
        """The new value of a name; a start value that changes nothing is left out."""
        if self.lines.operations[start].value == IDENTITIES[function] and not self.lines.operations[start].loops:
            return line
        inner = self.lines.operations[line]
        if function != "add" and inner.kind == "reduce" and inner.function == function and len(inner.parents) == 1:
            return self.lines.reduce(function, inner.parents[0], inner.reduced, start)
        return self.lines.compute(function, start, line)

    # elements

    def read_element(self, array: str, indices: tuple[Index, ...]) -> int:
        """The line of an element."""
        if any(isinstance(key, tuple) and key[0] == array for frame in self.frames for key in frame.pending):
            self.refuse(f"{array} is read in the loop that adds to it", RECURRENCE)
        frame = self._home(indices)
        cell = frame.cells.get((array, indices))
        self._access(array, indices, how="read")
        if cell is None:
            return self._loaded(array, indices)
        if cell.how != "=":
            if not set(self._open(frame)) <= set(loops_of(Reference(array, indices))):
                self.refuse(f"{array} is read in the loop that adds to it", RECURRENCE)
            cell.line = self.lines.compute(cell.how, self._loaded(array, indices), cell.line)
            cell.how = "="
        return cell.line

    def write_element(self, array: str, indices: tuple[Index, ...], line: int) -> None:
        """Assign an element."""
        other = self.read_element(array, indices) if self.masks else None
        self._access(array, indices, how="=")
        frame = self._home(indices)
        if frame is not self.frames[-1] or not is_one_to_one(indices, self._open(frame)):
            what = f"several turns of the loops may write one element of {array}, and turns have no order"
            self.refuse(what, "Add to it with +=, or write each element once.")
        frame.cells[array, indices] = Cell("=", self.masked(line, other))

    def _arrive_element(self, frame: Frame, element: Element, function: str, line: int) -> None:
        cell = frame.cells.get(element)
        if cell is None:
            frame.cells[element] = Cell(function, line)
        elif cell.how in {"=", function}:
            cell.line = self._combined(function, cell.line, line)
            cell.stored = False
        else:
            frame.cells[element] = Cell("=", self.lines.compute(function, self.read_element(*element), line))

    def _loaded(self, array: str, indices: tuple[Index, ...]) -> int:
        """The previous value of the array: 0 if no store has made it yet."""
        if not self.building.exists(array):
            return self.lines.constant(0.0)
        return self.lines.load(self.building.reference(array, indices))

    def _store(self, frame: Frame, element: Element, cell: Cell) -> None:
        array, indices = element
        kept = self.lines.sorted(loops_of(Reference(array, indices)))
        extra = [loop for loop in self._open(frame) if loop not in kept]
        line = cell.line
        if cell.how == "add":
            line = self.lines.reduce("add", line, extra)
        elif cell.how != "=":
            if not is_one_to_one(indices, kept):
                self.refuse(f"elements of {array} that several turns meet can only be added to", "Use +=.")
            line = self.lines.reduce(cell.how, line, extra, self._loaded(array, indices))
        self.building.store(array, indices, line, adds=cell.how == "add", loops=kept)
        cell.stored = True
        if cell.how != "=":
            del frame.cells[element]

    def _home(self, indices: tuple[Index, ...]) -> Frame:
        """The frame of the innermost loop that an element depends on."""
        loops = set(loops_of(Reference("", indices)))
        return next((frame for frame in reversed(self.frames) if frame.loop in loops), self.frames[0])

    def _open(self, last: Frame) -> list[str]:
        """The loops that are open, to that of a frame."""
        return [frame.loop for frame in self.frames[1 : self.frames.index(last) + 1]]

    def _access(self, array: str, indices: tuple[Index, ...], *, how: str) -> None:
        """Note an access; refuse one that another turn may undo, and store what others hold that are read next."""
        for before in self.accesses.get(array, []):
            common = [frame for frame in before.frames if frame in self.frames]
            if before.how != how or how == "=":
                self._apart(array, before, indices, common)
        for frame in self.frames:
            for element, cell in list(frame.cells.items()):
                if element[0] != array or element == (array, indices) or cell.how == how != "=":
                    continue
                if not cell.stored:
                    self._store(frame, element, cell)
                if how != "read":
                    frame.cells.pop(element, None)
        self.accesses.setdefault(array, []).append(Access(indices, how, tuple(self.frames[1:])))

    def _apart(self, array: str, before: Access, indices: tuple[Index, ...], common: Iterable[Frame]) -> None:
        """Refuse two accesses unless different turns of the loops around both have different elements."""
        same = [index for index, other in zip(indices, before.indices, strict=True) if index == other]
        alone = {loop for index in same if isinstance(index, Linear) for loop in self._only(index)}
        carried = next((frame.name for frame in common if frame.loop not in alone), None)
        if carried is not None:
            what = f"a turn of {carried} may touch an element of {array} that another turn writes"
            self.refuse(what, RECURRENCE)

    def _only(self, index: Linear) -> Iterator[str]:
        """The loop of an index, where it has one alone."""
        loops = self.lines.sorted(loops_of(index))
        yield from loops if len(loops) == 1 else ()
