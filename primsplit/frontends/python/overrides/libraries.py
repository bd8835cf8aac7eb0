"""Substitutes for parts of NumPy, SciPy and Python themselves: in their modules, classes and import statements."""

import builtins
import sys
from collections.abc import Callable, Iterable, Iterator, Set
from typing import Any

from primsplit.frontends.python.overrides import polynomials
from primsplit.frontends.python.overrides.held import is_left, of_module
from primsplit.frontends.python.overrides.reads import names_met
from primsplit.frontends.python.overrides.slots import AttributeSlot, Slot
from primsplit.frontends.python.overrides.table import methods, substitute_of
from primsplit.ir.families import import_families
from primsplit.numpy.second_run import is_again


def register_scipys() -> None:
    """Register what stands in for SciPy's functions, where it is loaded; only then are ours imported."""
    if "scipy" in sys.modules:
        *_, science = import_families("primsplit.frontends.scipy", "adaptive", "optimize", "overrides.science")
        science.register_loaded()


def slots_of_libraries(run: Callable[..., Any]) -> Iterator[Slot]:
    """Those of NumPy and SciPy themselves that `run` may come to."""
    names = names_met(run)
    if any(map(polynomials.are_named, names)):
        yield from slots_of_polynomials()
    yield from slots_of_methods(key for key in methods if _leads_to(names, key[0]))


def _leads_to(names: Set[str], owner: type) -> bool:
    """True where a name may lead to objects of a class: its own, or one of SciPy, whose functions make many."""
    if owner.__module__.startswith("scipy"):
        return any(name.startswith("scipy") for name in names)
    return any(name.rpartition(".")[2] == owner.__name__ for name in names)


def slots_of_polynomials() -> Iterator[Slot]:
    """The names of the modules of NumPy's polynomials, which are written in Python."""
    for namespace, name, original, substitute in polynomials.untrimmed():
        yield Slot(namespace, name, original, substitute)
    for namespace in polynomials.namespaces():
        yield from of_module(namespace)


def slots_of_methods(keys: Iterable[tuple[type, str]]) -> Iterator[Slot]:
    """The methods of libraries' classes that something stands in for."""
    for owner, name in keys:
        original, substitute = methods[owner, name]
        if vars(owner)[name] is not substitute:
            yield AttributeSlot(owner, name, original, substitute)


_original_import = builtins.__import__


def importing(name: str, globals: Any = None, *rest: Any, **options: Any) -> Any:
    """The import statement: a substitute for what the user's own code imports while it is run again."""
    found = _original_import(name, globals, *rest, **options)
    is_users = is_again() and globals is not None and not is_left(globals.get("__name__"))
    return substitute_of(found) if is_users else found
