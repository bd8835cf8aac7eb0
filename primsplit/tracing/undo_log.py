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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

Undo = Callable[[], object]

CONTAINERS: tuple[type, ...] = (list, dict, set, bytearray, collections.deque, array.array, np.ndarray)
"""What is changed in place, and is given back its elements."""
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
_NO_DRAWS = frozenset({"getstate", "get_state", "spawn"})


class UndoLog:
    """A record of what each object held before a run changed it."""

    def __init__(self) -> None:
        self._undos: dict[object, tuple[object, Undo]] = {}
        """By the object, and its attribute if it is about one, the object, which keeps its `id`, and what undoes."""
        self.drawn: dict[int, Any] = {}
        """The random generators that were asked for a number, also in runs that are undone."""
        self._printed: collections.Counter[object] = collections.Counter()
        """How often this run has printed each text, and how often an earlier one did at most."""
        self._printed_before: collections.Counter[object] = collections.Counter()

    def undo(self) -> None:
        """Give all objects back what they held when they were noted."""
        self._printed_before |= self._printed
        self._printed.clear()
        while self._undos:
            _, (_, undo) = self._undos.popitem()
            undo()

    def note(self, owner: Any, key: object, make_undo: Callable[[], Undo]) -> None:
        """Note an object unless it is noted already."""
        if key not in self._undos:
            self._undos[key] = owner, make_undo()

    def is_new(self, text: object) -> bool:
        """Count a text that is about to be printed; return whether no earlier run printed it as often."""
        self._printed[text] += 1
        return self._printed[text] > self._printed_before[text]


class _Open(threading.local):
    """The logs of the runs that this thread is in; None for a side of a joined statement, which a journal undoes."""

    def __init__(self) -> None:
        self.logs: list[UndoLog | None] = []


_open = _Open()


@contextmanager
def undo_log() -> Iterator[UndoLog]:
    """Open a log, in which converted code that runs inside notes what it changes."""
    made = UndoLog()
    _open.logs.append(made)
    try:
        yield made
    finally:
        _open.logs.pop()


@contextmanager
def undone_otherwise() -> Iterator[None]:
    """Note nothing inside in the logs that are open: a journal undoes what is changed there."""
    _open.logs.append(None)
    try:
        yield
    finally:
        _open.logs.pop()


def undo_run() -> None:
    """Undo what the run before changed."""
    if _open.logs and (log := _open.logs[-1]) is not None:
        log.undo()


def _note(owner: Any, key: object, make_undo: Callable[[], Undo]) -> None:
    for log in reversed(_open.logs):
        if log is None:
            return
        log.note(owner, key, make_undo)


def _note_everywhere(owner: Any, make_undo: Callable[[], Undo]) -> None:
    """Note what no journal undoes."""
    for log in _open.logs:
        if log is not None:
            log.note(owner, id(owner), make_undo)


def note(owner: Any) -> None:
    """Note the elements of a container that are about to change."""
    if _open.logs and isinstance(owner, CONTAINERS):
        _note(owner, id(owner), lambda: _undo_of(owner))


def note_elements(owner: Any) -> None:
    """Note a container, and the containers in it: `owner[k] += a` may change one of these in place."""
    if not _open.logs:
        return
    note(owner)
    held = owner.values() if isinstance(owner, dict) else owner if isinstance(owner, list) else ()
    for element in held:
        note(element)


def note_attribute(owner: Any, name: str, *, in_place: bool = False) -> None:
    """Note an attribute that is about to be set or deleted; with `in_place` also the container that it holds."""
    if not _open.logs:
        return
    static = next((vars(c)[name] for c in type(owner).__mro__ if name in vars(c)), None)
    if isinstance(static, types.MemberDescriptorType):
        held = _slot(owner, static)
        _note(owner, (id(owner), name), lambda: _undo_of_slot(owner, static, held))
    elif not hasattr(type(static), "__set__") and (names := _names_of(owner)) is not None:
        held = [names[name]] if name in names else []
        _note(owner, (id(owner), name), lambda: _undo_of_attribute(owner, name, held))
    else:
        return  # a property's function notes what it sets
    if in_place and held:
        note(held[0])


def note_name(name: types.FunctionType) -> None:
    """Note the one name that a function of nothing reads: a global one, or one of a function around it."""
    if not _open.logs:
        return
    if name.__closure__:
        note_cell(name.__closure__[0])
    else:
        names, (text,) = name.__globals__, name.__code__.co_names
        before = [names[text]] if text in names else []
        _note(names, (id(names), text), lambda: _undo_of_name(names, text, before))


def note_cell(cell: types.CellType) -> None:
    """Note a name that functions share."""
    if _open.logs:
        held = contents(cell)
        _note(cell, id(cell), lambda: _undo_of_cell(cell, held))


def note_all_attributes(owner: Any) -> None:
    """Note an object of which any attribute may be set."""
    if _open.logs and (names := _names_of(owner)) is not None:
        held = dict(names)
        _note(owner, (id(owner), None), lambda: lambda: (names.clear(), names.update(held)))


def note_method(owner: Any, name: str) -> None:
    """Note the object of which a method is about to be called."""
    if not _open.logs:
        return
    if isinstance(owner, np.ndarray):
        if name in _WRITING_ARRAYS:
            note(owner)
    elif isinstance(owner, CONTAINERS):
        if name in _WRITING or not (name in _READING or name.startswith("__")):
            note(owner)
    elif isinstance(owner, LOCKS):
        _note_everywhere(owner, lambda: _undo_of_lock(owner))
    elif name not in _NO_DRAWS and (state := _random_state(owner)) is not None:
        for log in _open.logs:
            if log is not None:
                log.drawn[id(owner)] = owner
        _note_everywhere(owner, lambda: state)


def may_print(text: object) -> bool:
    """Return whether a text is to be printed, which no earlier run printed as often."""
    return all(log.is_new(text) for log in reversed(_open.logs) if log is not None)


def _undo_of(owner: Any) -> Undo:
    if isinstance(owner, np.ndarray):
        before = owner.copy()
        return lambda: np.copyto(owner, before) if owner.flags.writeable else None
    if isinstance(owner, dict):
        kind: Any = collections.OrderedDict if isinstance(owner, collections.OrderedDict) else dict
        held = dict(owner)
        return lambda: None if _is_same(owner.items(), held.items()) else (kind.clear(owner), kind.update(owner, held))
    if isinstance(owner, set):
        members = set(owner)
        return lambda: (set.clear(owner), set.update(owner, members))
    if isinstance(owner, collections.deque):
        parts = [*owner]
        return lambda: (collections.deque.clear(owner), collections.deque.extend(owner, parts))
    base: Any = next(kind for kind in (list, bytearray, array.array) if isinstance(owner, kind))
    whole = base.__getitem__(owner, slice(None))
    return lambda: base.__setitem__(owner, slice(None), whole)


def _is_same(items: Any, others: Any) -> bool:
    return len(items) == len(others) and all(a is c and b is d for (a, b), (c, d) in zip(items, others, strict=True))


def _names_of(owner: Any) -> Any:
    try:
        return object.__getattribute__(owner, "__dict__") if not isinstance(owner, type) else vars(owner)
    except AttributeError:
        return None


def _undo_of_attribute(owner: Any, name: str, held: list[Any]) -> Undo:
    def undo() -> None:
        names = _names_of(owner)
        if isinstance(owner, type):
            if held:
                type.__setattr__(owner, name, held[0])
            elif name in names:
                type.__delattr__(owner, name)
        elif held:
            names[name] = held[0]
        else:
            names.pop(name, None)

    return undo


def _slot(owner: Any, slot: types.MemberDescriptorType) -> list[Any]:
    try:
        return [slot.__get__(owner)]
    except AttributeError:
        return []


def _undo_of_slot(owner: Any, slot: types.MemberDescriptorType, held: list[Any]) -> Undo:
    def undo() -> None:
        if held:
            slot.__set__(owner, held[0])
        elif _slot(owner, slot):
            slot.__delete__(owner)

    return undo


def contents(cell: types.CellType) -> list[Any]:
    """Return what a cell holds, as a list: it may hold nothing."""
    try:
        return [cell.cell_contents]
    except ValueError:
        return []


def _undo_of_cell(cell: types.CellType, held: list[Any]) -> Undo:
    def undo() -> None:
        if held:
            cell.cell_contents = held[0]
        elif contents(cell):
            del cell.cell_contents

    return undo


def _undo_of_name(names: dict[str, Any], name: str, held: list[Any]) -> Undo:
    def undo() -> None:
        if held:
            names[name] = held[0]
        else:
            names.pop(name, None)

    return undo


def _undo_of_lock(lock: Any) -> Undo:
    if hasattr(lock, "_is_owned"):
        was_owned = lock._is_owned()
        return lambda: lock.release() if lock._is_owned() and not was_owned else None
    was_locked = lock.locked()

    def undo() -> None:
        if lock.locked() and not was_locked:
            lock.release()
        elif was_locked:
            lock.acquire(blocking=False)

    return undo


def _random_state(owner: Any) -> Undo | None:
    """Return what gives a random generator of Python's or NumPy's its state back; None for what is none."""
    if isinstance(owner, random.Random) and not isinstance(owner, random.SystemRandom):
        state: Any = owner.getstate()
        return lambda: owner.setstate(state)
    numpys = sys.modules.get("numpy.random")
    if numpys is not None and isinstance(owner, numpys.RandomState):
        state = owner.get_state()
        return lambda: owner.set_state(state)
    if numpys is not None and isinstance(owner, numpys.Generator):
        bits = owner.bit_generator
        state = bits.state
        return lambda: setattr(bits, "state", state)
    return None
