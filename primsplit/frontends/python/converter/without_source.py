"""Copies functions whose source cannot be read, such as generated ones, with other values for the names that they read.

Calls by a name reach a copy or a substitute. Elements and operators are Python's own. The globals of the copy are a
view of the user's globals, which stay unchanged.

    f.__globals__["sin"]        ->      in the copy: meaning(f.__globals__["sin"]), the substitute of math.sin
"""

import builtins
import dis
import types
from collections.abc import Callable
from typing import Any

from primsplit.frontends.python.functions import function_like
from primsplit.ir.caching.fingerprint import is_library

Meaning = Callable[[Any], Any]


def is_copied(code: types.CodeType) -> bool:
    """Whether a copy reads all names through its view: code that assigns or deletes globals would bypass it."""
    return all(each.opname not in {"STORE_GLOBAL", "DELETE_GLOBAL"} for each in dis.get_instructions(code))


def copied(function: types.FunctionType, meaning: Meaning) -> types.FunctionType:
    """Return a copy of a function whose names have the values that `meaning` returns for theirs."""
    names = _Names(function.__globals__, meaning)
    cells = tuple(_cell(cell, meaning) for cell in function.__closure__ or ())
    return function_like(function, names=names, cells=cells)


def _cell(cell: types.CellType, meaning: Meaning) -> types.CellType:
    try:
        held = cell.cell_contents
    except ValueError:
        return cell
    new = _meant(held, meaning)
    return cell if new is held else types.CellType(new)


def _meant(value: Any, meaning: Meaning) -> Any:
    if type(value) is types.ModuleType:
        return _Module(value, meaning) if is_library(value.__name__) else value
    return meaning(value) if callable(value) else value


class _Names(dict[str, Any]):
    """The names of a module, as a copy reads them."""

    def __init__(self, names: dict[str, Any], meaning: Meaning) -> None:
        held = names.get("__builtins__", builtins)
        of_python = held if isinstance(held, dict) else vars(held)
        called = {name: meaning(v) if isinstance(v, types.BuiltinFunctionType) else v for name, v in of_python.items()}
        super().__init__(__name__=names.get("__name__"), __builtins__=called)
        self._names, self._meaning = names, meaning

    def __getitem__(self, name: str) -> Any:
        return _meant(self._names[name], self._meaning)


class _Module(types.ModuleType):
    """A library's module, as a copy reads its attributes."""

    def __init__(self, module: types.ModuleType, meaning: Meaning) -> None:
        super().__init__(module.__name__)
        self._own = module, meaning

    def __getattribute__(self, name: str) -> Any:
        module, meaning = object.__getattribute__(self, "_own")
        return _meant(getattr(module, name), meaning)
