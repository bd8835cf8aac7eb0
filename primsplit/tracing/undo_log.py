"""The undo log: what a run changes of objects that were there before it, so that the next run begins as the first did.

A function is run several times where it branches on traced values, or where a run needs other substitutes than the one
before. Each run but the last is undone:

    COUNT["n"] += 1         note(COUNT)          COUNT was {"n": 0}
    if x > 0: ...           first run: COUNT is {"n": 1}, undone; second run: COUNT is {"n": 1}

Lists, dictionaries, sets, arrays, attributes, shared names, random generators and locks are undone, where converted
code changes them. A text that an earlier run printed is not printed again. What is written to files is not undone.
"""

import array
import collections
import random
import sys
import threading
import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from primsplit.ir.scoped import Scoped
from primsplit.tracing.handles.views import writes

Renewal = Callable[[Any], Any]

CONTAINERS: tuple[type, ...] = (list, dict, set, bytearray, collections.deque, array.array, np.ndarray, memoryview)
"""The classes of containers that change in place. Undoing gives them back their elements."""
LOCKS: tuple[type, ...] = (type(threading.Lock()), type(threading.RLock()))
_READING = frozenset({
    "get", "keys", "values", "items", "index", "count", "copy", "isdisjoint", "issubset", "issuperset", "union",
    "intersection", "difference", "symmetric_difference", "tobytes", "tolist", "find", "decode", "startswith", "hex",
})  # fmt: skip
"""Methods of containers that change nothing, as the special methods but these do not either."""
_WRITING = frozenset({
    "__setitem__", "__delitem__", "__iadd__", "__imul__", "__ior__", "__iand__", "__isub__", "__ixor__", "__init__",
})  # fmt: skip
_WRITING_ARRAYS = _WRITING | {"fill", "itemset", "put", "setfield", "sort", "partition", "byteswap", "resize"}
_NO_DRAWS = frozenset({"getstate", "get_state"})


class Note(ABC):
    """A record of an object, or an attribute of one, as it was before a run. It keeps the object, and so its `id`."""

    @abstractmethod
    def undo(self) -> None:
        """Give the object back what it held."""

    def renew(self, renewal: Renewal) -> None:  # noqa: B027  # most hold nothing else
        """Replace what the object holds now by what `renewal` gives for it."""


class UndoLog:
    """A record of what each object held before a run changed it."""

    def __init__(self, *, only_watches: bool) -> None:
        self.only_watches = only_watches
        self._notes: dict[object, Note] = {}
        """By the object, and its attribute if the note is about one."""
        self.drawn: dict[int, Any] = {}
        """The random generators that were asked for a number, also in runs that are undone."""
        self.runs = 0
        self.calls_repeated = False
        """Whether something that the run called was run several times."""
        self._printed: collections.Counter[object] = collections.Counter()
        """The number of times that this run has printed each text; `_printed_before` has the most of an earlier run."""
        self._printed_before: collections.Counter[object] = collections.Counter()

    @property
    def is_repeated(self) -> bool:
        """Whether the function of these runs, or something that it called, was run several times."""
        return self.runs > 1 or self.calls_repeated

    def undo(self) -> None:
        """Give all objects back what they held when they were noted, the last that were noted first."""
        self._printed_before |= self._printed
        self._printed.clear()
        while self._notes:
            _, note = self._notes.popitem()
            note.undo()

    def renew(self, renewal: Renewal) -> None:
        """Replace what noted objects hold now by what `renewal` gives for it."""
        for note in self._notes.values():
            note.renew(renewal)

    def note(self, key: object, make: Callable[[], Note]) -> None:
        """Note an object unless it is noted already."""
        if key not in self._notes:
            self._notes[key] = make()

    def keep(self, owner: object) -> None:
        """Let an object stay as it is: it is of the run, and outlives it."""
        for key in [k for k in self._notes if k == id(owner) or (isinstance(k, tuple) and k[0] == id(owner))]:
            del self._notes[key]

    def is_new(self, text: object) -> bool:
        """Count a text that is about to be printed; return whether no earlier run printed it as often."""
        self._printed[text] += 1
        return self._printed[text] > self._printed_before[text]


NoteArray = Callable[[Any], None]
_logs = Scoped[tuple[UndoLog | NoteArray, ...]](tuple)
"""The logs of the runs that this thread is in.

For a side of a joined statement, which a journal undoes, it is a function to which each array is passed before a write.
"""


@contextmanager
def undo_log(*, only_watches: bool = False) -> Iterator[UndoLog]:
    """Open a log, in which converted code that runs inside notes what it changes.

    One that only watches is of no run: it is read after the runs inside.
    """
    made, around = UndoLog(only_watches=only_watches), _logs.value
    with _logs.set_to((*around, made)):
        try:
            yield made
        finally:
            for log in around:
                if isinstance(log, UndoLog):
                    log.calls_repeated |= made.is_repeated


def undone_otherwise(note_array: NoteArray) -> AbstractContextManager[object]:
    """Note nothing inside in the logs that are open: a journal undoes what is changed there.

    `note_array` is called with each array that is about to be written to.
    """
    return _logs.set_to((*_logs.value, note_array))


def is_in_side() -> bool:
    """Return whether this thread records a side of a joined statement."""
    return bool(_logs.value) and not isinstance(_logs.value[-1], UndoLog)


def undo_run() -> None:
    """Undo what the run before changed."""
    if _logs.value and isinstance(log := _logs.value[-1], UndoLog):
        log.runs += 1
        log.undo()


def keep_error(error: BaseException) -> None:
    """Let an error that a run raised stay as it is."""
    if _logs.value and isinstance(log := _logs.value[-1], UndoLog):
        log.keep(error)


def _note(key: object, make: Callable[[], Note]) -> None:
    for log in reversed(_logs.value):
        if not isinstance(log, UndoLog):
            return
        log.note(key, make)


def note_in_side(array: Any) -> None:
    """Note an array that is about to be written to, if this thread records a side of a joined statement."""
    side = next((log for log in reversed(_logs.value) if not isinstance(log, UndoLog)), None)
    if side is not None:
        side(array)


def _note_everywhere(key: object, make: Callable[[], Note]) -> None:
    """Note what no journal undoes."""
    for log in _logs.value:
        if isinstance(log, UndoLog):
            log.note(key, make)


def note(owner: Any) -> None:
    """Note the elements of a container that are about to change."""
    if _logs.value and isinstance(owner, CONTAINERS):
        held = owner.obj if isinstance(owner, memoryview) else owner
        if isinstance(held, np.ndarray):
            writes.count += 1
            note_in_side(held)
        if isinstance(held, CONTAINERS):
            _note(id(held), lambda: _elements_of(held))


def note_elements(owner: Any) -> None:
    """Note a container, and the containers in it: `owner[k] += a` may change one of these in place."""
    if not _logs.value:
        return
    note(owner)
    held = owner.values() if isinstance(owner, dict) else owner if isinstance(owner, list) else ()
    for element in held:
        note(element)


def note_attribute(owner: Any, name: str, *, in_place: bool = False) -> None:
    """Note an attribute that is about to be set or deleted; with `in_place` also the container that it holds."""
    if not _logs.value:
        return
    note(owner)  # a dictionary may hold its attributes as elements
    static = next((vars(c)[name] for c in type(owner).__mro__ if name in vars(c)), None)
    if hasattr(type(static), "__set__"):
        if type(static) in _WRITTEN_IN_C:
            _note((id(owner), name), lambda: _Descriptor(owner, static))
            if in_place:
                note(next(iter(_described(owner, static)), None))
        return  # a property's function notes what it sets
    names = _names_of(owner)
    if names is not None:
        _note((id(owner), name), lambda: _attribute_of(owner, name))
        if in_place:
            note(names.get(name))


def note_name(name: types.FunctionType) -> None:
    """Note the one name that a function of nothing reads: a global one, or one of a function around it."""
    if not _logs.value:
        return
    if name.__closure__:
        note_cell(name.__closure__[0])
    else:
        names, (text,) = name.__globals__, name.__code__.co_names
        _note((id(names), text), lambda: _Name(names, text))


def note_cell(cell: types.CellType) -> None:
    """Note a name that functions share."""
    if _logs.value:
        _note(id(cell), lambda: _Cell(cell))


def note_all_attributes(owner: Any) -> None:
    """Note an object of which any attribute may be set."""
    if _logs.value and type(names := _names_of(owner)) is dict:
        _note((id(owner), None), lambda: _Dictionary(names))


def note_method(owner: Any, name: str) -> None:
    """Note the object of which a method is about to be called."""
    if not _logs.value:
        return
    if isinstance(owner, np.ndarray):
        if name in _WRITING_ARRAYS:
            note(owner)
    elif isinstance(owner, CONTAINERS):
        if name in _WRITING or not (name in _READING or name.startswith("__")):
            note(owner)
    elif isinstance(owner, LOCKS):
        _note_everywhere(id(owner), lambda: _Lock(owner))
    elif is_generator(owner) and name not in _NO_DRAWS:
        for log in _logs.value:
            if isinstance(log, UndoLog):
                log.drawn[id(owner)] = owner
        _note_everywhere(id(owner), lambda: _Generator(owner))


def may_print(text: object) -> bool:
    """Return whether a text is to be printed, which no earlier run printed as often."""
    return all(log.is_new(text) for log in reversed(_logs.value) if isinstance(log, UndoLog))


def _outermost() -> UndoLog | None:
    """Return the log of the function that runs, if that is in no other run of this thread."""
    logs = [log for log in _logs.value if not (isinstance(log, UndoLog) and log.only_watches)]
    return logs[0] if len(logs) == 1 and isinstance(logs[0], UndoLog) else None


def has_repeated() -> bool:
    """Return whether the outermost function of this thread, or one that it called, has run several times."""
    log = _outermost()
    return log is not None and log.is_repeated


def end_run(renewal: Renewal) -> None:
    """Replace what the outermost function of this thread leaves in noted objects by what `renewal` gives for it."""
    if (log := _outermost()) is not None:
        log.renew(renewal)


def _elements_of(owner: Any) -> Note:
    if isinstance(owner, np.ndarray):
        return _Numbers(owner)
    return _Dictionary(owner) if isinstance(owner, dict) else _Elements(owner)


class _Numbers(Note):
    """The elements of a NumPy array."""

    def __init__(self, owner: Any) -> None:
        self.owner, self.before = owner, owner.copy()

    def undo(self) -> None:
        if self.owner.shape != self.before.shape and self.owner.flags.owndata:
            self.owner.resize(self.before.shape, refcheck=False)
        if self.owner.flags.writeable:
            np.copyto(self.owner, self.before)


class _Dictionary(Note):
    """The items of a dictionary."""

    def __init__(self, owner: dict[Any, Any]) -> None:
        self.owner, self.before = owner, dict(owner)
        self.kind: Any = collections.OrderedDict if isinstance(owner, collections.OrderedDict) else dict

    def undo(self) -> None:
        now, before = self.kind.items(self.owner), self.before.items()
        is_same = all(a is c and b is d for (a, b), (c, d) in zip(now, before, strict=False))
        if len(now) != len(before) or not is_same:
            self.kind.clear(self.owner)
            self.kind.update(self.owner, self.before)

    def renew(self, renewal: Renewal) -> None:
        for key, value in [*self.kind.items(self.owner)]:
            if (new := renewal(value)) is not value:
                self.kind.__setitem__(self.owner, key, new)


def _listed(kind: Any, owner: Any) -> list[Any]:
    """Return the elements that a container of this kind holds, whatever a class of the user's iterates over."""
    return [*kind.__iter__(owner)]


class _Elements(Note):
    """The elements of a list, a set, a queue, or of bytes."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.kind: Any = next(kind for kind in CONTAINERS if isinstance(owner, kind))
        self.before = _listed(self.kind, owner)

    def undo(self) -> None:
        if self.kind in {set, collections.deque}:
            self.kind.clear(self.owner)
            (self.kind.update if self.kind is set else self.kind.extend)(self.owner, self.before)
        else:
            whole = self.kind(self.owner.typecode, self.before) if self.kind is array.array else self.before
            self.kind.__setitem__(self.owner, slice(None), whole)

    def renew(self, renewal: Renewal) -> None:
        if self.kind not in {list, collections.deque}:
            return
        for place, value in enumerate(_listed(self.kind, self.owner)):
            if (new := renewal(value)) is not value:
                self.kind.__setitem__(self.owner, place, new)


def _names_of(owner: Any) -> Any:
    if isinstance(owner, type):
        return vars(owner)
    try:
        return object.__getattribute__(owner, "__dict__")
    except AttributeError:
        return None


def _attribute_of(owner: Any, name: str) -> Note:
    return _ClassAttribute(owner, name) if isinstance(owner, type) else _Name(_names_of(owner), name, owner)


class _ClassAttribute(Note):
    """An attribute of a class, whose dictionary Python lets nobody write to."""

    def __init__(self, owner: type, name: str) -> None:
        self.owner, self.name = owner, name
        self.before = self._held()

    def _held(self) -> list[Any]:
        names = vars(self.owner)
        return [names[self.name]] if self.name in names else []

    def undo(self) -> None:
        if self.before:
            type.__setattr__(self.owner, self.name, self.before[0])
        elif self._held():
            type.__delattr__(self.owner, self.name)

    def renew(self, renewal: Renewal) -> None:
        for value in self._held():
            if (new := renewal(value)) is not value:
                type.__setattr__(self.owner, self.name, new)


_WRITTEN_IN_C = (types.MemberDescriptorType, types.GetSetDescriptorType)
"""Descriptors of slots, and of attributes such as `__dict__`, `__class__`, and the `shape` of an array."""


def _described(owner: Any, descriptor: Any) -> list[Any]:
    try:
        return [descriptor.__get__(owner)]
    except (AttributeError, ValueError):
        return []


class _Descriptor(Note):
    """An attribute that is held outside of the object's dictionary."""

    def __init__(self, owner: Any, descriptor: Any) -> None:
        self.owner, self.descriptor = owner, descriptor
        self.before = _described(owner, descriptor)

    def undo(self) -> None:
        if self.before:
            self.descriptor.__set__(self.owner, self.before[0])
        elif _described(self.owner, self.descriptor):
            self.descriptor.__delete__(self.owner)

    def renew(self, renewal: Renewal) -> None:
        for value in _described(self.owner, self.descriptor):
            if (new := renewal(value)) is not value:
                self.descriptor.__set__(self.owner, new)


def contents(cell: types.CellType) -> list[Any]:
    """Return what a cell holds, as a list: it may hold nothing."""
    try:
        return [cell.cell_contents]
    except ValueError:
        return []


class _Cell(Note):
    """A name that functions share."""

    def __init__(self, cell: types.CellType) -> None:
        self.cell, self.before = cell, contents(cell)

    def undo(self) -> None:
        if self.before:
            self.cell.cell_contents = self.before[0]
        elif contents(self.cell):
            del self.cell.cell_contents

    def renew(self, renewal: Renewal) -> None:
        for value in contents(self.cell):
            if (new := renewal(value)) is not value:
                self.cell.cell_contents = new


class _Name(Note):
    """A name in a dictionary: a global one, or an attribute of the `owner` of the dictionary."""

    def __init__(self, names: dict[str, Any], name: str, owner: Any = None) -> None:
        self.names, self.name, self.owner = names, name, owner
        self.before = [names[name]] if name in names else []

    def undo(self) -> None:
        if self.before:
            self.names[self.name] = self.before[0]
        else:
            self.names.pop(self.name, None)

    def renew(self, renewal: Renewal) -> None:
        if self.name in self.names and (new := renewal(self.names[self.name])) is not self.names[self.name]:
            self.names[self.name] = new


class _Lock(Note):
    """Whether a lock is taken."""

    def __init__(self, lock: Any) -> None:
        self.lock, self.before = lock, self._is_taken(lock)

    @staticmethod
    def _is_taken(lock: Any) -> bool:
        return bool(lock._is_owned() if hasattr(lock, "_is_owned") else lock.locked())

    def undo(self) -> None:
        now = self._is_taken(self.lock)
        if now and not self.before:
            self.lock.release()
        elif self.before and not now:
            self.lock.acquire(blocking=False)


class _Generator(Note):
    """The state of a random generator of Python's or NumPy's."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.before: Any = self._place()[0]()

    def _place(self) -> tuple[Callable[[], Any], Callable[[Any], object]]:
        owner = self.owner
        if hasattr(owner, "getstate"):
            return owner.getstate, owner.setstate
        if hasattr(owner, "get_state"):
            return owner.get_state, owner.set_state
        bits = getattr(owner, "bit_generator", owner)
        return (lambda: bits.state), (lambda state: setattr(bits, "state", state))

    def undo(self) -> None:
        self._place()[1](self.before)


def is_generator(owner: Any) -> bool:
    """Return whether an object is a random generator of Python's or NumPy's that has a state."""
    if isinstance(owner, random.Random):
        return not isinstance(owner, random.SystemRandom)
    numpys = sys.modules.get("numpy.random")
    return numpys is not None and isinstance(owner, numpys.Generator | numpys.RandomState | numpys.BitGenerator)
