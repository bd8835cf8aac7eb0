"""Finds things with substitutes that modules, containers, objects and classes of the user's hold."""

import sys
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from primsplit.frontends.python.overrides.meanings import MAY_MEAN_ANOTHER, builtin, meaning
from primsplit.frontends.python.overrides.slots import (
    ABSENT,
    AttributeSlot,
    BuiltinsSlot,
    ElementSlot,
    Filled,
    MemberSlot,
    Slot,
)
from primsplit.frontends.python.overrides.table import originals
from primsplit.ir.caching.fingerprint import containers_read, is_library, package_of
from primsplit.ir.caching.held import members

Meaning = Callable[[Any], Any]


def is_left(module: str | None) -> bool:
    """True for a module whose names keep their meaning: one of a library that has not asked for a number."""
    name = module or ""
    return is_library(name) and package_of(name) not in Filled.packages


def is_users(value: Any) -> bool:
    """True for a function or class that the user wrote, and for objects of such a class."""
    kinds = types.FunctionType | types.MethodType | type
    return not is_left((value if isinstance(value, kinds) else type(value)).__module__)


def of_module(namespace: dict[str, Any]) -> Iterator[Slot]:
    """The names of a module, and Python's own that it lacks."""
    yield from of_values(Slot, namespace, [*namespace.items()])
    if lacking := {n: s for n, s in builtin(namespace).items() if n not in namespace}:
        yield BuiltinsSlot(namespace, "", ABSENT, lacking)


def of_containers(users: Sequence[Any], of: Meaning = meaning) -> Iterator[Slot]:
    """What the lists, dictionaries, objects and classes hold that these functions and objects read."""
    for container in containers_read(users, Filled.packages):
        if _is_read_only(container):
            continue
        if isinstance(container, list):
            yield from of_values(ElementSlot, container, enumerate(container), of)
            yield from _of_generated(container)
        elif isinstance(container, type):
            unbound = [(n, v) for n, v in vars(container).items() if not hasattr(type(v), "__get__")]
            yield from of_values(AttributeSlot, container, unbound, of)
        else:
            held = container if isinstance(container, dict) else getattr(container, "__dict__", {})
            yield from of_values(Slot, held, held.items(), of)
            yield from _of_generated(held.values())
            yield from of_values(MemberSlot, container, members(container).items(), of)


def _of_generated(values: Iterable[Any]) -> Iterator[Slot]:
    """The names of functions whose code was generated, such as sympy.lambdify's: they are no module's."""
    for function in list(values):
        if type(function) is types.FunctionType and function.__globals__.get("__name__") not in sys.modules:
            yield from of_module(function.__globals__)


def _is_read_only(container: Any) -> bool:
    """True for a list or dictionary of a class that has something else done when an element is written."""
    own = next((kind for kind in (list, dict) if isinstance(container, kind)), None)
    return own is not None and type(container).__setitem__ is not own.__setitem__


def of_values(slot: type[Slot], holder: Any, named: Iterable[tuple[Any, Any]], of: Meaning = meaning) -> list[Slot]:
    """The slots of those that something stands in for."""
    found = [(n, v, of(v)) for n, v in named if type(v) in MAY_MEAN_ANOTHER or id(v) in originals]
    return [slot(holder, n, v, substitute) for n, v, substitute in found if substitute is not v]
