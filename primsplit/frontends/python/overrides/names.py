"""Writes substitutes into the names that a function reads, where copies of it do not reach them.

Other threads that read these names meanwhile get substitutes and tables too, which compute there what the originals do.
"""

import builtins
import functools
import importlib.machinery
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from primsplit.frontends.python.copies import content
from primsplit.frontends.python.overrides.held import is_left, is_users, of_containers, of_module, of_values
from primsplit.frontends.python.overrides.libraries import importing, slots_of_methods, slots_of_polynomials
from primsplit.frontends.python.overrides.meanings import meaning
from primsplit.frontends.python.overrides.slots import AttributeSlot, Slot
from primsplit.frontends.python.overrides.table import methods

_COMPILED = tuple(importlib.machinery.EXTENSION_SUFFIXES)


def slots_of_names(run: Callable[..., Any]) -> Iterator[Slot]:
    """What to fill that is not filled yet."""
    namespaces = {id(n): n for n in _namespaces()}
    for function in (v for v in _reached(run, namespaces) if isinstance(v, types.FunctionType)):
        if is_left(function.__module__):
            yield from (slot for slot in _of_cells(function) if callable(slot.original))
        else:
            namespaces.setdefault(id(function.__globals__), function.__globals__)
            if _holds_something(function):
                yield from _of_cells(function)
                yield from _of_defaults(function)
    for namespace in namespaces.values():
        yield from of_module(namespace)
    yield from of_containers(tuple(v for v in _reached(run, {}) if is_users(v)))
    if builtins.__import__ is not importing:
        yield Slot(vars(builtins), "__import__", builtins.__import__, importing)
    yield from slots_of_polynomials()
    yield from slots_of_methods(methods)


def _namespaces() -> Iterator[dict[str, Any]]:
    """The dictionaries of the user's modules, and of those written in Python of the packages that asked."""
    for name, module in list(sys.modules.items()):
        if isinstance(module, types.ModuleType) and not is_left(name) and not _is_compiled(module):
            yield vars(module)


def _is_compiled(module: types.ModuleType) -> bool:
    """True for a module in C, whose functions read its names and take NumPy's own arrays alone."""
    return (getattr(module, "__file__", None) or "").endswith(_COMPILED)


def _of_cells(function: types.FunctionType) -> Iterator[Slot]:
    for cell in function.__closure__ or ():
        value = content(cell)
        substitute = meaning(value)
        if substitute is not value:
            yield Slot(cell, "", value, substitute)


def _of_defaults(function: types.FunctionType) -> Iterator[Slot]:
    if given := function.__defaults__:
        made = tuple(map(meaning, given))
        if any(a is not b for a, b in zip(given, made, strict=True)):
            yield AttributeSlot(function, "__defaults__", given, made)
    if function.__kwdefaults__:
        yield from of_values(Slot, function.__kwdefaults__, [*function.__kwdefaults__.items()])


def _holds_something(function: types.FunctionType) -> bool:
    """False for most functions of a module, which hold nothing but their code."""
    return bool(function.__closure__ or function.__defaults__ or function.__kwdefaults__ or function.__dict__)


def _reached(run: Callable[..., Any], namespaces: dict[int, dict[str, Any]]) -> list[Any]:
    """What `run` and the user's functions hold in cells, defaults, attributes, partials and methods.

    Functions that hold nothing and read the names of these namespaces alone, as most do, are left out.
    """
    functions = [v for n in namespaces.values() for v in list(n.values()) if type(v) is types.FunctionType]
    others = [f for f in functions if id(f.__globals__) not in namespaces or _holds_something(f)]
    seen: dict[int, Any] = {}
    waiting: list[Any] = [run, *others]
    while waiting:
        value = waiting.pop()
        if id(value) not in seen:
            seen[id(value)] = value
            waiting += _held_by(value)
    return [*seen.values()]


def _held_by(value: Any) -> list[Any]:
    """What a function, method, partial or object that is called holds itself."""
    if isinstance(value, types.FunctionType):
        return _held_by_function(value)
    if isinstance(value, types.MethodType):
        return [value.__func__]
    if isinstance(value, functools.partial):
        return [value.func, *value.args]
    if type(value) is np.vectorize:
        return [value.pyfunc]
    if not callable(value):
        return []
    if hasattr(value, "depends_on"):
        return [v for v in vars(value).values() if callable(v)]
    return [vars(type(value)).get("__call__")]


def _held_by_function(function: types.FunctionType) -> list[Any]:
    held = [content(c) for c in function.__closure__ or ()]
    if is_left(function.__module__):  # whose lists of arguments hold objects of the user's
        held += [v for c in held if type(c) in {list, tuple} for v in c if is_users(v)]
    return [*held, *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values(), *vars(function).values()]
