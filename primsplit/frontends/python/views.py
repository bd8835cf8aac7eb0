"""Copies a function, and those that it reads by name, so that names have other values in one run of the copy.

A copy has the function's own code and reads its module through a view. In the view, names of functions have their
copies as values, and other names the values that `meaning` returns. The functions and modules themselves stay
unchanged.

    def f(w): return X @ w          f's copy reads X as meaning(X), say a traced array
"""

import ast
import builtins
import functools
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from primsplit.frontends.python.functions import function_like
from primsplit.ir.caching.fingerprint import BY_TEXT, is_library, names_read, objects_met
from primsplit.ir.caching.held import content, is_written_by_python, members
from primsplit.ir.definitions import definition_in
from primsplit.ir.recompiled import compiles_to
from primsplit.ir.scoped import as_block

Function = types.FunctionType
Meaning = Callable[[Any], Any]
"""A function from the value of a name to its value in a copy, which is the same for most."""

_PYTHONS = ("__name__", "__file__", "__package__", "__spec__", "__loader__", "__doc__")
"""The names of a module that Python reads past the view."""


class Copies:
    """The copies of some functions."""

    def __init__(self, functions: Iterable[Function], meaning: Meaning) -> None:
        self.functions = {id(f) for f in functions}
        self.of = meaning
        self.made: dict[int, tuple[Any, Any]] = {}
        """The new values by the id of a value, with that value, which keeps the id valid."""
        self.cells: dict[int, types.CellType] = {}
        self.is_open = True

    def meaning(self, value: Any) -> Any:
        """Return the value in a copy of a name with this value."""
        if not self.is_open:
            return value
        if type(value) is Function and id(value) in self.functions:
            return self.copy(value)
        if id(value) in self.made:
            return self.made[id(value)][1]
        new = self._other_meaning(value)
        return value if new is value else self.made.setdefault(id(value), (value, new))[1]

    def _other_meaning(self, value: Any) -> Any:
        if _is_users_module(value):
            return _ModuleView(value, self)
        if type(value) is types.MethodType and (function := self.meaning(value.__func__)) is not value.__func__:
            return types.MethodType(function, value.__self__)
        if type(value) is functools.partial and (function := self.meaning(value.func)) is not value.func:
            return functools.partial(function, *value.args, **value.keywords)
        return self.of(value)

    def copy(self, function: Function) -> Any:
        """Return the copy of a function; the same one each time."""
        if id(function) in self.made:
            return self.made[id(function)][1]
        is_users = not is_library(function.__module__ or "")
        cells = [(cell, self._cell(cell, is_users)) for cell in function.__closure__ or ()]
        names = self.view(function.__globals__) if is_users else function.__globals__
        copied = function_like(function, names=names, cells=[new for _, new in cells])
        self.made[id(function)] = function, copied
        self._give_defaults(function, copied)
        for old, new in cells:
            if new is not old:
                new.cell_contents = self.meaning(old.cell_contents)
        return copied

    def _give_defaults(self, function: Function, copy: Function) -> None:
        positional, named = function.__defaults__, function.__kwdefaults__
        copy.__defaults__ = positional and tuple(map(self.meaning, positional))
        copy.__kwdefaults__ = named and {name: self.meaning(v) for name, v in named.items()}

    def _cell(self, cell: types.CellType, is_users: bool) -> types.CellType:
        """Return the cell, or a new one if its value changes; in a library's function, only callables change."""
        held = content(cell)
        is_copied = id(_function_of(held)) in self.functions or _is_users_module(held)
        if not is_copied and (self.of(held) is held or not (is_users or callable(held))):
            return cell
        return self.cells.setdefault(id(cell), types.CellType())

    def view(self, names: dict[str, Any]) -> "_View":
        """Return the view of a module's names."""
        if id(names) not in self.made:
            self.made[id(names)] = names, _View(names, self)
        known_view: _View = self.made[id(names)][1]
        return known_view

    def close(self) -> None:
        """Restore the meaning of all names, as the run has ended."""
        self.is_open = False
        for _, new in self.made.values():
            if isinstance(new, _View):
                new.write_through()


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
        """Pass assignments by `global` statements of copies to the module: Python stores them in this dictionary."""
        for name in [*super().keys()]:
            if name not in self.read_by_python:
                self.names[name] = super().pop(name)

    def __getitem__(self, name: str) -> Any:
        if super().__len__() > len(self.read_by_python):
            self.write_through()
        return self.copies.meaning(self.names[name])

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a name in the copies; the default if there is none."""
        return self[name] if name in self.names else default

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def keys(self) -> Any:
        """Return the names."""
        return self.names.keys()

    def values(self) -> Any:
        """Return the values in the copies."""
        return [self[name] for name in list(self.names)]

    def items(self) -> Any:
        """Return the names with their values in the copies."""
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
    """Return the function that a bound method or a partial calls; any other value itself."""
    if type(value) is functools.partial:
        return _function_of(value.func)
    return value.__func__ if type(value) is types.MethodType else value


def functions_by_name(run: Function, meaning: Meaning) -> list[Function] | None:
    """Return the user's functions that `run` reads, and the closures of this package that lead to them.

    Returns None if copies of these would not suffice: one is a method or lies in a container, which hold the function
    itself, or code looks names up by text or deletes them.
    """
    met = objects_met(run)
    functions = functions_read(run, met, meaning)
    if functions is None:
        return None
    copied = {id(f) for f in functions}
    by_name = {id(f) for f in _found_by_name(run)}
    is_held = any(id(v) in copied for m in met for v in held_in_container(m))
    return None if is_held or not copied <= by_name else functions


def functions_read(run: Function, met: Iterable[Any], meaning: Meaning) -> list[Function] | None:
    """Return the user's functions among the objects `met`, and the closures of this package that lead to them.

    Returns None if one looks names up by text, deletes them, or assigns a name whose value changes in copies.
    """
    theirs = [f for f in met if type(f) is Function and not is_library(f.__module__ or "")]
    functions = _leading_to(_found_by_name(run), theirs, meaning)
    copied = {id(f) for f in functions}
    return functions if all(_only_reads(f, copied, meaning) for f in theirs) else None


def _found_by_name(run: Function) -> list[Function]:
    functions: dict[int, Function] = {}
    pending: list[Any] = [run]
    while pending:
        function = pending.pop()
        if type(function) is not Function or id(function) in functions:
            continue
        functions[id(function)] = function
        cells = [content(cell) for cell in function.__closure__ or ()]
        pending += cells
        if not is_library(function.__module__ or ""):
            names = names_read(function.__code__)
            held = [function.__globals__[n] for n in names if n in function.__globals__]
            pending += held
            modules = [m for m in (*held, *cells) if _is_users_module(m)]
            while modules:
                attributes = [v for n, v in vars(modules.pop()).items() if n in names]
                pending += attributes
                modules += filter(_is_users_module, attributes)
    return [*functions.values()]


def _is_users_module(value: Any) -> bool:
    return type(value) is types.ModuleType and not is_library(value.__name__)


def _leading_to(found: list[Function], theirs: list[Function], meaning: Meaning) -> list[Function]:
    """Return the user's functions, and those of this package with a cell that leads to one or to a changed value."""
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
    """Return the parts of a container, an object or a class."""
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
    """Whether code deletes no name of its module, and assigns to no cell whose value changes in copies.

    One whose source cannot be read, or was changed, may do both.
    """
    if not _PAST_VIEWS.isdisjoint(names_read(function.__code__)):
        return False
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    held = {name: content(cell) for name, cell in cells.items()}
    shared = {n for n, v in held.items() if id(v) in copied or _is_users_module(v) or meaning(v) is not v}
    return is_written_by_python(function.__code__) or _keeps(function.__code__, shared)


_PAST_VIEWS = BY_TEXT - {"globals", "getattr"}
"""Names in code that may read a module past its view."""


def _keeps(code: types.CodeType, names: set[str]) -> bool:
    """Whether a code, and those inside of it, delete no global name, and assign to none of these names around it."""
    definition = definition_in(code)
    if definition is None:
        return False
    nodes = [*ast.walk(definition.node)]
    declared = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
    assigned = {name for node in nodes if isinstance(node, ast.Nonlocal) for name in node.names}
    deleted = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Del)}
    return declared.isdisjoint(deleted) and assigned.isdisjoint(names) and compiles_to(definition, code)


@as_block
def copied(run: Any, functions: Iterable[Function], meaning: Meaning) -> Iterator[Callable[..., Any]]:
    """Yield `run` with copies of functions, which have their own meaning of names until the run ends."""
    copies = Copies(functions, meaning)
    try:
        yield copies.copy(run)
    finally:
        copies.close()
