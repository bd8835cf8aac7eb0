"""Names, cells, attributes and elements that hold something else while functions are run again."""

import builtins
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from primsplit.frontends.python.copies import content
from primsplit.ir.caching.fingerprint import meaning_otherwise

ABSENT = object()


class Slot:
    """A name of a module, or a cell of a function, and what it held."""

    def __init__(self, holder: Any, name: Any, original: Any, substitute: Any) -> None:
        self.holder = holder
        self.name = name
        self.original = original
        self.substitute = substitute

    def fill(self) -> None:
        self._put(self.substitute)

    def meanings(self) -> dict[int, Any]:
        """What is meant otherwise, by the id of the substitute."""
        return {id(self.substitute): self.original}

    def restore(self) -> None:
        """Put the original back, unless the user has put something else there."""
        if self._held() is self.substitute:
            self._put(self.original)

    def _held(self) -> Any:
        return self.holder.get(self.name, ABSENT) if isinstance(self.holder, dict) else content(self.holder)

    def _put(self, value: Any) -> None:
        if isinstance(self.holder, dict):
            self.holder[self.name] = value
        else:
            self.holder.cell_contents = value


class AttributeSlot(Slot):
    """An attribute of a class or function, and what it held."""

    def _held(self) -> Any:
        return getattr(self.holder, self.name)

    def _put(self, value: Any) -> None:
        setattr(self.holder, self.name, value)


class MethodSlot(AttributeSlot):
    """A method or property that a class of the user's has itself."""

    def _held(self) -> Any:
        return vars(self.holder).get(self.name, ABSENT)


class MemberSlot(AttributeSlot):
    """An attribute of an object whose class has `__slots__`, which may be frozen, and what it held."""

    def _put(self, value: Any) -> None:
        object.__setattr__(self.holder, self.name, value)


class BuiltinsSlot(Slot):
    """The names of Python's own that a module lacks: one slot, since every module of the user's has them all."""

    def fill(self) -> None:
        self.holder.update(self.substitute)

    def meanings(self) -> dict[int, Any]:
        """Python's own, by the ids of the substitutes."""
        return {id(substitute): getattr(builtins, name) for name, substitute in self.substitute.items()}

    def restore(self) -> None:
        """Take them away again, but for those that the user has put something else in the place of."""
        for name, substitute in self.substitute.items():
            if self.holder.get(name) is substitute:
                del self.holder[name]


class ElementSlot(Slot):
    """An element of a list, and what it held."""

    def _held(self) -> Any:
        return self.holder[self.name] if self.name < len(self.holder) else ABSENT

    def _put(self, value: Any) -> None:
        self.holder[self.name] = value


class Filled:
    """The slots that are filled, and how many threads run something again; the last one restores them.

    `packages` are the installed packages whose slots are filled as the user's are.
    """

    lock = threading.Lock()
    slots: ClassVar[list[Slot]] = []
    packages: ClassVar[frozenset[str]] = frozenset()
    dispatchers: ClassVar[dict[int, tuple[types.FunctionType, types.FunctionType]]] = {}
    """By its id a function that slots hold a dispatcher of, and that one."""
    users = 0


@contextmanager
def filled(open_slots: Callable[[], Iterator[Slot]], packages: frozenset[str]) -> Iterator[None]:
    """These slots hold substitutes inside."""
    with Filled.lock:
        Filled.users += 1
    try:
        with Filled.lock:
            Filled.packages |= packages
            for slot in open_slots():
                slot.fill()
                meaning_otherwise.update(slot.meanings())
                Filled.slots.append(slot)
            meaning_otherwise.update({id(stands): f for f, stands in Filled.dispatchers.values()})
        yield
    finally:
        with Filled.lock:
            Filled.users -= 1
            if Filled.users == 0:
                for slot in reversed(Filled.slots):
                    slot.restore()
                Filled.slots.clear()
                Filled.dispatchers.clear()
                meaning_otherwise.clear()
                Filled.packages = frozenset()
