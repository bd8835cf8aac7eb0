"""Decides which copies of the user's functions read substitutes, and dispatches methods to their copies.

Copies read names through views (`frontends.python.copies`), so that no name changes that another thread reads. A class
holds a method itself: a dispatcher stands there while the run lasts. Functions of the user's in containers stay what
they are, as another thread may compare them by `is`.
"""

import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from primsplit.frontends.python.copies import Copying, functions_by_name, functions_read, held_in_container
from primsplit.frontends.python.overrides.held import is_users, of_containers
from primsplit.frontends.python.overrides.libraries import importing
from primsplit.frontends.python.overrides.meanings import builtin, meaning
from primsplit.frontends.python.overrides.slots import Filled, MethodSlot, Slot
from primsplit.ir.caching.fingerprint import objects_met
from primsplit.ir.caching.held import function_in, is_written_by_python
from primsplit.ir.dispatching import dispatcher

Function = types.FunctionType


class _Meanings:
    """What names mean in copies of the user's functions: substitutes."""

    importing = staticmethod(importing)

    def of(self, value: Any) -> Any:
        return meaning(value)

    def builtin(self, names: Mapping[str, Any]) -> Mapping[str, Any]:
        return builtin(names)


MEANINGS = _Meanings()


def copying_of(run: Callable[..., Any]) -> tuple[Copying, Callable[[], Iterator[Slot]]] | None:
    """What to copy so that the functions that `run` reads read substitutes, and the slots of dispatchers to fill.

    None where copies would not read all of them.
    """
    if type(run) is not Function:
        return None
    met = objects_met(run)
    functions = functions_by_name(run, MEANINGS)
    if functions is not None and not any(of_containers((run,), _called)):
        return Copying(functions, MEANINGS), lambda: iter(())
    functions = functions_read(run, met, MEANINGS)
    if functions is None:
        return None
    kinds = [m for m in met if isinstance(m, type) and is_users(m) and type(m).__setattr__ is type.__setattr__]
    compared = _compared(met)
    methods = {id(f): f for kind in kinds for f in _methods(kind) if id(f) not in compared}
    dispatchers: dict[int, Function] = {}
    copied = [f for f in functions if id(f) in methods or id(f) not in compared]

    def of(function: Any) -> Any:
        """What a class holds in place of a method."""
        return dispatchers.setdefault(id(function), _dispatcher(function)) if id(function) in methods else function

    def slots() -> Iterator[Slot]:
        dispatchers.update({key: stands for key, (_, stands) in Filled.dispatchers.items() if key in methods})
        yield from _of_methods(kinds, of)
        yield from of_containers((run,), _called)

    return Copying(copied, MEANINGS, dispatchers), slots


def _methods(kind: type) -> Iterator[Function]:
    """The functions that a class was defined with, but for those that Python wrote."""
    for member in vars(kind).values():
        parts = (member.fget, member.fset, member.fdel) if type(member) is property else (function_in(member),)
        functions = (p for p in parts if type(p) is Function and not is_written_by_python(p.__code__))
        yield from (f for f in functions if f.__qualname__.rpartition(".")[0] == kind.__qualname__)


def _compared(met: Iterable[Any]) -> set[int]:
    """The ids of functions that containers and objects hold, or classes that were not defined with them.

    These may be compared by `is` with what another name holds, here and in other threads, so that all names keep them.
    """
    found: set[int] = set()
    for m in met:
        if isinstance(m, type):
            own = {id(f) for f in _methods(m)}
            found |= {id(f) for v in vars(m).values() if id(f := function_in(v)) not in own}
        elif not isinstance(m, types.MethodType):
            found |= {id(function_in(v)) for v in held_in_container(m)}
    return found


def _called(value: Any) -> Any:
    """The substitute of what is called; arrays stay as they are."""
    return meaning(value) if callable(value) else value


def _dispatcher(function: Function) -> Function:
    """The one that slots hold."""
    return Filled.dispatchers.setdefault(id(function), (function, dispatcher(function)))[1]


_MADE_BY_PYTHON = frozenset({"__new__", "__del__", "__init_subclass__", "__class_getitem__", "__getattribute__"})
"""Methods that Python looks up in ways of its own."""


def _of_methods(kinds: Iterable[type], of: Callable[[Any], Any]) -> Iterator[Slot]:
    for kind in kinds:
        for name, member in [*vars(kind).items()]:
            made = member if name in _MADE_BY_PYTHON else _with(member, of)
            if made is not member:
                yield MethodSlot(kind, name, member, made)


def _with(member: Any, of: Callable[[Any], Any]) -> Any:
    """A method or property of other functions; the member itself where these are none of the user's."""
    if type(member) is property:
        parts = member.fget, member.fset, member.fdel
        getter, setter, deleter = map(of, parts)
        is_same = (getter, setter, deleter) == parts
        return member if is_same else property(getter, setter, deleter, member.__doc__)
    if type(member) in {staticmethod, classmethod}:
        function = of(member.__func__)
        return member if function is member.__func__ else type(member)(function)
    return of(member) if type(member) is Function else member
