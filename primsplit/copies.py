"""Copy a function, and those that it reads by name, so that one run of it means other things by its names.

A copy has the function's own code, or another that is given for it, and reads its module through a view, in which
names of functions mean their copies. The functions and the modules themselves stay as they are, so that other threads
see nothing of the run.
"""

import builtins
import dis
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from primsplit.caching.fingerprint import BY_TEXT, is_library, names_read, objects_met
from primsplit.caching.held import members

Function = types.FunctionType
Codes = Mapping[Function, types.CodeType]

_code_of: WeakKeyDictionary[Function, types.CodeType] = WeakKeyDictionary()
_PYTHONS = ("__name__", "__file__", "__package__", "__spec__", "__loader__", "__doc__")
"""The names of a module that Python reads past the view."""


def own_code(function: Function) -> types.CodeType | None:
    """The code of the function that this is a copy of; None where it is none."""
    return _code_of.get(function)


class Copies:
    """The copies of some functions. `codes` are those that differ from the functions' own."""

    def __init__(self, functions: Iterable[Function], codes: Codes) -> None:
        self.functions = {id(f): f for f in functions}
        self.codes = codes
        self.made: dict[int, Any] = {}
        self.cells: dict[int, types.CellType] = {}
        self.is_open = True

    def meaning(self, value: Any) -> Any:
        """What a name that means this value means in a copy."""
        if not self.is_open:
            return value
        if type(value) is Function:
            return self.copy(value) if id(value) in self.functions else value
        if _is_users_module(value):
            return self.made.get(id(value)) or self.made.setdefault(id(value), _ModuleView(value, self))
        return value

    def copy(self, function: Function) -> Any:
        """The copy of a function: one, however often it is asked for."""
        if id(function) in self.made:
            return self.made[id(function)]
        cells = [(cell, self._cell(cell)) for cell in function.__closure__ or ()]
        code = self.codes.get(function, function.__code__)
        names = function.__globals__ if is_library(function.__module__ or "") else self.view(function.__globals__)
        closure = tuple(new for _, new in cells)
        found = self.made[id(function)] = Function(code, names, function.__name__, function.__defaults__, closure)
        found.__kwdefaults__, found.__dict__ = function.__kwdefaults__, function.__dict__
        found.__qualname__, found.__module__ = function.__qualname__, function.__module__
        found.__doc__ = function.__doc__
        annotated = "__annotate__" if hasattr(function, "__annotate__") else "__annotations__"
        setattr(found, annotated, getattr(function, annotated))
        _code_of[found] = own_code(function) or function.__code__
        for old, new in cells:
            if new is not old:
                new.cell_contents = self.meaning(old.cell_contents)
        return found

    def _cell(self, cell: types.CellType) -> types.CellType:
        """The cell itself, or a new one where it holds a function that is copied, or a module."""
        held = content(cell)
        if id(held) not in self.functions and not _is_users_module(held):
            return cell
        return self.cells.setdefault(id(cell), types.CellType())

    def view(self, names: dict[str, Any]) -> dict[str, Any]:
        """The view of a module's names."""
        found: dict[str, Any] = self.made.get(id(names)) or self.made.setdefault(id(names), _View(names, self))
        return found


class _View(dict[str, Any]):
    """The names of a module, as copies of its functions read them."""

    def __init__(self, names: dict[str, Any], copies: Copies) -> None:
        super().__init__({name: names[name] for name in _PYTHONS if name in names})
        super().__setitem__("__builtins__", names.get("__builtins__", builtins))
        self.names, self.copies = names, copies

    def __getitem__(self, name: str) -> Any:
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


def content(cell: types.CellType) -> Any:
    """What a cell holds; None for one that holds nothing."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def functions_by_name(run: Function) -> list[Function] | None:
    """The functions that are all of the user's that `run` reads, with the closures of ours that lead to them.

    None where a copy of each would not be enough: where one is a method or lies in a container, which hold the function
    itself, or where code looks names up by text, or gives them other values.
    """
    met = objects_met(run)
    found = _found_by_name(run)
    theirs = [f for f in met if type(f) is Function and not is_library(f.__module__ or "")]
    found = _leading_to(found, theirs)
    copied = {id(f) for f in found}
    if not copied.issuperset(map(id, theirs)) or any(id(v) in copied for m in met for v in _held(m)):
        return None
    return found if all(_only_reads(f, copied) for f in theirs) else None


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


def _leading_to(found: list[Function], theirs: list[Function]) -> list[Function]:
    """The functions of the user's, and those of ours with a cell that leads to one."""
    kept = {id(f) for f in theirs}
    is_more = True
    while is_more:
        more = {id(f) for f in found if any(id(content(c)) in kept for c in f.__closure__ or ())} - kept
        kept |= more
        is_more = bool(more)
    return [f for f in found if id(f) in kept]


def _held(value: Any) -> list[Any]:
    """What a container, an object or a class holds."""
    if isinstance(value, dict):
        return [v for n, v in value.items() if n != "__wrapped__"]
    if isinstance(value, list | tuple | set | frozenset):
        return [*value]
    if isinstance(value, types.MethodType):
        return [value.__func__]
    if isinstance(value, Function | types.ModuleType):
        return []
    return [*getattr(value, "__dict__", {}).values(), *members(value).values()]


def _only_reads(function: Function, copied: set[int]) -> bool:
    """True for code that gives no other value to a name of its module, nor to a cell with a function that is copied."""
    if not BY_TEXT.isdisjoint(names_read(function.__code__)):
        return False
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    shared = {n for n, c in cells.items() if id(content(c)) in copied or _is_users_module(content(c))}
    return all(
        op not in _GLOBALS and (op not in _CELLS or name not in shared) for op, name in _stores(function.__code__)
    )


_GLOBALS = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL"})
_CELLS = frozenset({"STORE_DEREF", "DELETE_DEREF"})


def _stores(code: types.CodeType) -> Iterator[tuple[str, Any]]:
    for each in dis.get_instructions(code):
        if each.opname in _GLOBALS or each.opname in _CELLS:
            yield each.opname, each.argval
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _stores(const)


@contextmanager
def copied(run: Any, functions: Iterable[Function], codes: Codes) -> Iterator[Callable[..., Any]]:
    """`run` with copies of these functions, for as long as the run takes: afterwards names mean what they do."""
    copies = Copies(functions, codes)
    try:
        yield copies.copy(run)
    finally:
        copies.is_open = False
