"""The undo log: what a run changes of objects that were there before it, so that the next run begins as the first did.

A function is run several times where it branches on traced values, or where a run needs other substitutes than the one
before. Each run but the last is undone:

    COUNT["n"] += 1         note(COUNT)          COUNT was {"n": 0}
    if x > 0: ...           first run: COUNT is {"n": 1}, undone; second run: COUNT is {"n": 1}

Lists, dictionaries, sets, arrays, attributes, shared names, random generators and locks are undone, where converted
code changes them. A text that an earlier run printed is not printed again. What is written to files is not undone.
"""

import collections
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from primsplit.ir.scoped import Scoped, as_block
from primsplit.tracing import saved_state
from primsplit.tracing.handles.views import writes

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


class UndoLog:
    """A record of what each object held before a run changed it."""

    def __init__(self, *, only_watches: bool) -> None:
        self.only_watches = only_watches
        self._notes: dict[object, saved_state.Note] = {}
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

    def renew(self, renewal: saved_state.Renewal) -> None:
        """Replace what noted objects hold now by what `renewal` gives for it."""
        for note in self._notes.values():
            note.renew(renewal)

    def note(self, key: object, make: Callable[[], saved_state.Note]) -> None:
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


@as_block
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


def _note(key: object, make: Callable[[], saved_state.Note]) -> None:
    for log in reversed(_logs.value):
        if not isinstance(log, UndoLog):
            return
        log.note(key, make)


def note_in_side(array: Any) -> None:
    """Note an array that is about to be written to, if this thread records a side of a joined statement."""
    side = next((log for log in reversed(_logs.value) if not isinstance(log, UndoLog)), None)
    if side is not None:
        side(array)


def _note_everywhere(key: object, make: Callable[[], saved_state.Note]) -> None:
    """Note a change in all undo logs; journals do not undo changes of this kind."""
    for log in _logs.value:
        if isinstance(log, UndoLog):
            log.note(key, make)


def note(owner: Any) -> None:
    """Note the elements of a container that are about to change."""
    if _logs.value and isinstance(owner, saved_state.CONTAINERS):
        held = owner.obj if isinstance(owner, memoryview) else owner
        if isinstance(held, np.ndarray):
            writes.count += 1
            note_in_side(held)
        if isinstance(held, saved_state.CONTAINERS):
            _note(id(held), lambda: saved_state.elements_of(held))


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
        if type(static) in saved_state.WRITTEN_IN_C:
            _note((id(owner), name), lambda: saved_state.Descriptor(owner, static))
            if in_place:
                note(next(iter(saved_state.described(owner, static)), None))
        return  # a property's function notes what it sets
    names = saved_state.names_of(owner)
    if names is not None:
        _note((id(owner), name), lambda: saved_state.attribute_of(owner, name))
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
        _note((id(names), text), lambda: saved_state.Name(names, text))


def note_cell(cell: types.CellType) -> None:
    """Note a name that functions share."""
    if _logs.value:
        _note(id(cell), lambda: saved_state.Cell(cell))


def note_all_attributes(owner: Any) -> None:
    """Note an object of which any attribute may be set."""
    if _logs.value and type(names := saved_state.names_of(owner)) is dict:
        _note((id(owner), None), lambda: saved_state.Dictionary(names))


def note_method(owner: Any, name: str) -> None:
    """Note the object of which a method is about to be called."""
    if not _logs.value:
        return
    if isinstance(owner, np.ndarray):
        if name in _WRITING_ARRAYS:
            note(owner)
    elif isinstance(owner, saved_state.CONTAINERS):
        if name in _WRITING or not (name in _READING or name.startswith("__")):
            note(owner)
    elif isinstance(owner, LOCKS):
        _note_everywhere(id(owner), lambda: saved_state.Lock(owner))
    elif saved_state.is_generator(owner) and name not in _NO_DRAWS:
        for log in _logs.value:
            if isinstance(log, UndoLog):
                log.drawn[id(owner)] = owner
        _note_everywhere(id(owner), lambda: saved_state.Generator(owner))


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


def end_run(renewal: saved_state.Renewal) -> None:
    """Replace what the outermost function of this thread leaves in noted objects by what `renewal` gives for it."""
    if (log := _outermost()) is not None:
        log.renew(renewal)
