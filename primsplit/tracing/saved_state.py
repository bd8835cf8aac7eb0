"""Saved states: what an object held before a run changed it, and how to give it that back.

    before = saved_state.elements_of(a)     a is [1, 2]
    a.append(3)                             a is [1, 2, 3]
    before.undo()                           a is [1, 2]

There is a class for each thing that Python can change in place: the elements of a container, an attribute, a name that
functions share, a lock, a random generator. `undo_log` says when such a state is saved and given back.
"""

import array
import collections
import random
import sys
import types
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

Renewal = Callable[[Any], Any]

CONTAINERS: tuple[type, ...] = (list, dict, set, bytearray, collections.deque, array.array, np.ndarray, memoryview)
"""The classes of containers that change in place. Undoing gives them back their elements."""


class Note(ABC):
    """A record of an object, or an attribute of one, as it was before a run. It keeps the object, and so its `id`."""

    @abstractmethod
    def undo(self) -> None:
        """Give the object back what it held."""

    def renew(self, renewal: Renewal) -> None:  # noqa: B027  # most hold nothing else
        """Replace what the object holds now by what `renewal` gives for it."""


def elements_of(owner: Any) -> Note:
    """Return the saved elements of one of the `CONTAINERS`."""
    if isinstance(owner, np.ndarray):
        return Numbers(owner)
    return Dictionary(owner) if isinstance(owner, dict) else Elements(owner)


class Numbers(Note):
    """The elements of a NumPy array."""

    def __init__(self, owner: Any) -> None:
        self.owner, self.before = owner, owner.copy()

    def undo(self) -> None:
        if self.owner.shape != self.before.shape and self.owner.flags.owndata:
            self.owner.resize(self.before.shape, refcheck=False)
        if self.owner.flags.writeable:
            np.copyto(self.owner, self.before)


class Dictionary(Note):
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


class Elements(Note):
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


def names_of(owner: Any) -> Any:
    """Return the dictionary of an object's or a class's attributes; None for an object without one."""
    if isinstance(owner, type):
        return vars(owner)
    try:
        return object.__getattribute__(owner, "__dict__")
    except AttributeError:
        return None


def attribute_of(owner: Any, name: str) -> Note:
    """Return the saved attribute of an object or a class that has a dictionary."""
    return ClassAttribute(owner, name) if isinstance(owner, type) else Name(names_of(owner), name, owner)


class ClassAttribute(Note):
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


WRITTEN_IN_C = (types.MemberDescriptorType, types.GetSetDescriptorType)
"""Descriptors of slots, and of attributes such as `__dict__`, `__class__`, and the `shape` of an array."""


def described(owner: Any, descriptor: Any) -> list[Any]:
    """Return what an object holds by a descriptor, as a list: it may hold nothing."""
    try:
        return [descriptor.__get__(owner)]
    except (AttributeError, ValueError):
        return []


class Descriptor(Note):
    """An attribute that is held outside of the object's dictionary."""

    def __init__(self, owner: Any, descriptor: Any) -> None:
        self.owner, self.descriptor = owner, descriptor
        self.before = described(owner, descriptor)

    def undo(self) -> None:
        if self.before:
            self.descriptor.__set__(self.owner, self.before[0])
        elif described(self.owner, self.descriptor):
            self.descriptor.__delete__(self.owner)

    def renew(self, renewal: Renewal) -> None:
        for value in described(self.owner, self.descriptor):
            if (new := renewal(value)) is not value:
                self.descriptor.__set__(self.owner, new)


def contents(cell: types.CellType) -> list[Any]:
    """Return what a cell holds, as a list: it may hold nothing."""
    try:
        return [cell.cell_contents]
    except ValueError:
        return []


class Cell(Note):
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


class Name(Note):
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


class Lock(Note):
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


class Generator(Note):
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
