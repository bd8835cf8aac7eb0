"""Import modules for what they register: rules, definitions, implementations."""

import threading
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


def import_families(package: str, *names: str) -> tuple[ModuleType, ...]:
    """Import these modules of a package in order, and return them."""
    return tuple(import_module(f"{package}.{name}") for name in names)


class _Thread(threading.local):
    imports = False
    """Whether this thread imports modules for a table."""


class Table(dict[K, V]):
    """A dictionary that modules fill as they are imported, some of them only when it lacks a key.

    `import_later` names such a module. It is imported when a key is missing, or when all items are asked for.
    """

    def __init__(self) -> None:
        super().__init__()
        self._later: list[str] = []
        self._thread = _Thread()

    def import_later(self, module: str) -> None:
        """Import this module when a key is missing; it fills the table."""
        self._later.append(module)

    def _import_all(self) -> bool:
        """Import the modules that are left. Return whether there were any.

        A module that asks for a key while it is imported finds what there is; other threads wait until it is whole.
        """
        if not self._later or self._thread.imports:
            return False
        self._thread.imports = True
        try:
            for module in self._later:
                import_module(module)
        finally:
            self._thread.imports = False
        self._later = []
        return True

    def __missing__(self, key: K) -> V:
        if self._import_all():
            return self[key]
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or (self._import_all() and super().__contains__(key))

    def get(self, key: K, default: Any = None) -> Any:
        """The value of a key, or the default."""
        try:
            return self[key]
        except KeyError:
            return default

    def registered(self) -> list[K]:
        """The keys that there are without further imports."""
        return [*super().__iter__()]

    def __iter__(self) -> Iterator[K]:
        self._import_all()
        return super().__iter__()

    def __len__(self) -> int:
        self._import_all()
        return super().__len__()

    def keys(self) -> Any:
        """All keys."""
        self._import_all()
        return super().keys()

    def values(self) -> Any:
        """All values."""
        self._import_all()
        return super().values()

    def items(self) -> Any:
        """All pairs of keys and values."""
        self._import_all()
        return super().items()
