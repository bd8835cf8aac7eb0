"""Copies a function, and those that it reads by name, so that names mean other things in one run of the copy.

A copy has the function's own code and reads its module through a view, in which names of functions mean their copies,
and other names what `meaning` gives. The functions and the modules themselves stay as they are.
"""

import builtins
import dis
import functools
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from primsplit.frontends.python.functions import function_like
from primsplit.ir.caching.fingerprint import BY_TEXT, is_library, names_read, objects_met
from primsplit.ir.caching.held import content, members

Function = types.FunctionType
Meaning = Callable[[Any], Any]
"""What a name that holds a value means: the value itself for most."""

_PYTHONS = ("__name__", "__file__", "__package__", "__spec__", "__loader__", "__doc__")
"""The names of a module that Python reads past the view."""


class Copies:
    """The copies of some functions."""

    def __init__(self, functions: Iterable[Function], meaning: Meaning) -> None:
        self.functions = {id(f) for f in functions}
        self.of = meaning
        self.made: dict[int, tuple[Any, Any]] = {}
        """By the id of a value, the value, which keeps its id, and what it means."""
        self.cells: dict[int, types.CellType] = {}
        self.is_open = True

    def meaning(self, value: Any) -> Any:
        """What a name that holds this value means in a copy."""
        if not self.is_open:
            return value
        if type(value) is Function and id(value) in self.functions:
            return self.copy(value)
        if id(value) in self.made:
            return self.made[id(value)][1]
        found = self._other_meaning(value)
        return value if found is value else self.made.setdefault(id(value), (value, found))[1]

    def _other_meaning(self, value: Any) -> Any:
        if _is_users_module(value):
            return _ModuleView(value, self)
        if type(value) is types.MethodType and (function := self.meaning(value.__func__)) is not value.__func__:
            return types.MethodType(function, value.__self__)
        if type(value) is functools.partial and (function := self.meaning(value.func)) is not value.func:
            return functools.partial(function, *value.args, **value.keywords)
        return self.of(value)

    def copy(self, function: Function) -> Any:
        """The copy of a function: one, however often it is asked for."""
        if id(function) in self.made:
            return self.made[id(function)][1]
        is_users = not is_library(function.__module__ or "")
        cells = [(cell, self._cell(cell, is_users)) for cell in function.__closure__ or ()]
        names = self.view(function.__globals__) if is_users else function.__globals__
        found = function_like(function, names=names, cells=[new for _, new in cells])
        self.made[id(function)] = function, found
        self._give_defaults(function, found)
        for old, new in cells:
            if new is not old:
                new.cell_contents = self.meaning(old.cell_contents)
        return found

    def _give_defaults(self, function: Function, copy: Function) -> None:
        positional, named = function.__defaults__, function.__kwdefaults__
        copy.__defaults__ = positional and tuple(map(self.meaning, positional))
        copy.__kwdefaults__ = named and {name: self.meaning(v) for name, v in named.items()}

    def _cell(self, cell: types.CellType, is_users: bool) -> types.CellType:
        """The cell, or a new one where its value means something else; of a library's function only what is called."""
        held = content(cell)
        is_copied = id(_function_of(held)) in self.functions or _is_users_module(held)
        if not is_copied and (self.of(held) is held or not (is_users or callable(held))):
            return cell
        return self.cells.setdefault(id(cell), types.CellType())

    def view(self, names: dict[str, Any]) -> "_View":
        """The view of a module's names."""
        if id(names) not in self.made:
            self.made[id(names)] = names, _View(names, self)
        found: _View = self.made[id(names)][1]
        return found

    def close(self) -> None:
        """Let all names mean what they hold, as the run has ended."""
        self.is_open = False
        for _, found in self.made.values():
            if isinstance(found, _View):
                found.write_through()


class _View(dict[str, Any]):
    """The names of a module, as copies of its functions read them."""

    def __init__(self, names: dict[str, Any], copies: Copies) -> None:
        super().__init__({name: names[name] for name in _PYTHONS if name in names})
        held = names.get("__builtins__", builtins)
        of_python = held if isinstance(held, dict) else vars(held)
        self.names, self.copies = names, copies
        super().__setitem__("__builtins__", of_python)
        self.read_by_python = frozenset(super().keys())

    def write_through(self) -> None:
        """Give the module what `global` statements of copies assigned: Python puts it into this dictionary itself."""
        for name in [*super().keys()]:
            if name not in self.read_by_python:
                self.names[name] = super().pop(name)

    def __getitem__(self, name: str) -> Any:
        if super().__len__() > len(self.read_by_python):
            self.write_through()
        return self.copies.meaning(self.names[name])

    def get(self, name: str, default: Any = None) -> Any:
        """What a name means; the default for one that is not there."""
        return self[name] if name in self.names else default

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def keys(self) -> Any:
        """The names."""
        return self.names.keys()

    def values(self) -> Any:
        """What they mean."""
        return [self[name] for name in list(self.names)]

    def items(self) -> Any:
        """Both."""
        return [(name, self[name]) for name in list(self.names)]


class _ModuleView(types.ModuleType):
    """A module, as copies of functions read its attributes."""

    def __init__(self, module: types.ModuleType, copies: Copies) -> None:
        object.__setattr__(self, "_primsplit_view", (module, copies))

    def __getattribute__(self, name: str) -> Any:
        module, copies = object.__getattribute__(self, "_primsplit_view")
        return type(self) if name == "__class__" else copies.meaning(getattr(module, name))

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(object.__getattribute__(self, "_primsplit_view")[0], name, value)

    def __delattr__(self, name: str) -> None:
        delattr(object.__getattribute__(self, "_primsplit_view")[0], name)


def _function_of(value: Any) -> Any:
    """The function that a bound method or a partial calls; any other value itself."""
    if type(value) is functools.partial:
        return _function_of(value.func)
    return value.__func__ if type(value) is types.MethodType else value


def functions_by_name(run: Function, meaning: Meaning) -> list[Function] | None:
    """The functions that are all of the user's that `run` reads, with the closures of ours that lead to them.

    None where a copy of each would not be enough: where one is a method or lies in a container, which hold the function
    itself, or where code looks names up by text, or deletes them.
    """
    met = objects_met(run)
    found = functions_read(run, met, meaning)
    if found is None:
        return None
    copied = {id(f) for f in found}
    by_name = {id(f) for f in _found_by_name(run)}
    is_held = any(id(v) in copied for m in met for v in held_in_container(m))
    return None if is_held or not copied <= by_name else found


def functions_read(run: Function, met: Iterable[Any], meaning: Meaning) -> list[Function] | None:
    """The user's functions among what `run` meets, with the closures of ours that lead to them.

    None where one looks names up by text, or deletes them, or assigns to what means something else.
    """
    theirs = [f for f in met if type(f) is Function and not is_library(f.__module__ or "")]
    found = _leading_to(_found_by_name(run), theirs, meaning)
    copied = {id(f) for f in found}
    return found if all(_only_reads(f, copied, meaning) for f in theirs) else None


def _found_by_name(run: Function) -> list[Function]:
    found: dict[int, Function] = {}
    waiting: list[Any] = [run]
    while waiting:
        function = waiting.pop()
        if type(function) is not Function or id(function) in found:
            continue
        found[id(function)] = function
        cells = [content(cell) for cell in function.__closure__ or ()]
        waiting += cells
        if not is_library(function.__module__ or ""):
            names = names_read(function.__code__)
            held = [function.__globals__[n] for n in names if n in function.__globals__]
            waiting += held
            modules = [m for m in (*held, *cells) if _is_users_module(m)]
            while modules:
                attributes = [v for n, v in vars(modules.pop()).items() if n in names]
                waiting += attributes
                modules += filter(_is_users_module, attributes)
    return [*found.values()]


def _is_users_module(value: Any) -> bool:
    return type(value) is types.ModuleType and not is_library(value.__name__)


def _leading_to(found: list[Function], theirs: list[Function], meaning: Meaning) -> list[Function]:
    """The functions of the user's, and those of ours with a cell that leads to one, or to what means something else."""
    calling = (f for f in found for c in f.__closure__ or () if callable(v := content(c)) and meaning(v) is not v)
    kept = {id(f): f for f in (*theirs, *calling)}
    is_more = True
    while is_more:
        more = [f for f in found if id(f) not in kept and any(id(v) in kept for v in _called_in_cells(f))]
        kept |= {id(f): f for f in more}
        is_more = bool(more)
    return [*kept.values()]


def _called_in_cells(function: Function) -> list[Any]:
    return [_function_of(content(c)) for c in function.__closure__ or ()]


def held_in_container(value: Any) -> list[Any]:
    """What a container, an object or a class holds."""
    if isinstance(value, dict):
        return [*value.keys(), *(v for n, v in value.items() if n != "__wrapped__")]
    if isinstance(value, list | tuple | set | frozenset):
        return [*value]
    if isinstance(value, types.MethodType):
        return [value.__func__]
    if isinstance(value, Function | types.ModuleType):
        return []
    return [*getattr(value, "__dict__", {}).values(), *members(value).values()]


def _only_reads(function: Function, copied: set[int], meaning: Meaning) -> bool:
    """True for code that deletes no name of its module, and assigns to no cell whose value means another."""
    if not _PAST_VIEWS.isdisjoint(names_read(function.__code__)):
        return False
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    held = {name: content(cell) for name, cell in cells.items()}
    shared = {n for n, v in held.items() if id(v) in copied or _is_users_module(v) or meaning(v) is not v}
    return all(
        op != "DELETE_GLOBAL" and (op not in _CELLS or name not in shared) for op, name in _stores(function.__code__)
    )


_PAST_VIEWS = BY_TEXT - {"globals", "getattr"}
"""What code may read a module by that no view of it shows."""
_CELLS = frozenset({"STORE_DEREF", "DELETE_DEREF"})


def _stores(code: types.CodeType) -> Iterator[tuple[str, Any]]:
    for each in dis.get_instructions(code):
        if each.opname == "DELETE_GLOBAL" or each.opname in _CELLS:
            yield each.opname, each.argval
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _stores(const)


@contextmanager
def copied(run: Any, functions: Iterable[Function], meaning: Meaning) -> Iterator[Callable[..., Any]]:
    """`run` with copies of functions, for as long as the run takes: afterwards names mean what they hold."""
    copies = Copies(functions, meaning)
    try:
        yield copies.copy(run)
    finally:
        copies.close()
