"""The names that mean substitutes while a function is run again: the user's, a package's that asked, and of cells."""

import builtins
import functools
import importlib.machinery
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ClassVar

import numpy as np

from primsplit import tracing
from primsplit.array import implements
from primsplit.caching.fingerprint import containers_read, is_library, meaning_otherwise, package_of
from primsplit.caching.held import members
from primsplit.families import import_families
from primsplit.numpy.second_run import is_again, running_again
from primsplit.substitutes import polynomials
from primsplit.substitutes.builtin import BUILTINS
from primsplit.substitutes.classes import standing_in
from primsplit.substitutes.plain_arrays import tabled
from primsplit.substitutes.table import ModuleSubstitute, methods, originals, substitute_of

ABSENT = object()
_COMPILED = tuple(importlib.machinery.EXTENSION_SUFFIXES)
Written = frozenset[tracing.Instruction]


class _Slot:
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
        if isinstance(self.holder, dict):
            return self.holder.get(self.name, ABSENT)
        return _content(self.holder)

    def _put(self, value: Any) -> None:
        if isinstance(self.holder, dict):
            self.holder[self.name] = value
        else:
            self.holder.cell_contents = value


class _AttributeSlot(_Slot):
    """An attribute of a class or function, and what it held."""

    def _held(self) -> Any:
        return getattr(self.holder, self.name)

    def _put(self, value: Any) -> None:
        setattr(self.holder, self.name, value)


class _MemberSlot(_AttributeSlot):
    """An attribute of an object whose class has `__slots__`, which may be frozen, and what it held."""

    def _put(self, value: Any) -> None:
        object.__setattr__(self.holder, self.name, value)


class _BuiltinsSlot(_Slot):
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


class _ElementSlot(_Slot):
    """An element of a list, and what it held."""

    def _held(self) -> Any:
        return self.holder[self.name] if self.name < len(self.holder) else ABSENT

    def _put(self, value: Any) -> None:
        self.holder[self.name] = value


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return ABSENT


class _Filled:
    """The slots that are filled, and how many threads run something again; the last one restores them.

    `packages` are the installed packages whose slots are filled as the user's are.
    """

    lock = threading.Lock()
    slots: ClassVar[list[_Slot]] = []
    packages: ClassVar[frozenset[str]] = frozenset()
    users = 0


def _is_left(module: str | None) -> bool:
    """True for a module whose names keep their meaning: one of a library that has not asked for a number."""
    name = module or ""
    return is_library(name) and package_of(name) not in _Filled.packages


@implements("again")
def substituted(
    run: Callable[..., Any], written: Written, packages: frozenset[str]
) -> AbstractContextManager[None] | None:
    """What gives names other meanings while `run` is run again; None where they have them already.

    Arrays that NumPy makes by the instructions `written` are traced ones, since they are written to. The modules of
    the installed `packages` are taken for the user's.
    """
    return None if is_again() else _substituted(run, written, packages)


@contextmanager
def _substituted(run: Callable[..., Any], written: Written, packages: frozenset[str]) -> Iterator[None]:
    """Names mean substitutes inside, for this thread: in the user's modules, and for `run` and what it calls."""
    with _Filled.lock:
        _Filled.users += 1
    try:
        with _Filled.lock:
            _register_scipys()
            _Filled.packages |= packages
            for slot in _open_slots(run):
                slot.fill()
                meaning_otherwise.update(slot.meanings())
                _Filled.slots.append(slot)
        with running_again(written):
            yield
    finally:
        with _Filled.lock:
            _Filled.users -= 1
            if _Filled.users == 0:
                for slot in reversed(_Filled.slots):
                    slot.restore()
                _Filled.slots.clear()
                meaning_otherwise.clear()
                _Filled.packages = frozenset()


def _register_scipys() -> None:
    """Register what stands in for SciPy's functions, where it is loaded; only then are ours imported."""
    if "scipy" in sys.modules:
        *_, science = import_families("primsplit", "scipy.adaptive", "scipy.optimize", "substitutes.science")
        science.register_loaded()


def _open_slots(run: Callable[..., Any]) -> Iterator[_Slot]:
    """What to fill that is not filled yet."""
    namespaces = {id(n): n for n in _namespaces()}
    for function in (v for v in _reached(run, namespaces) if isinstance(v, types.FunctionType)):
        if _is_left(function.__module__):
            yield from (slot for slot in _of_cells(function) if callable(slot.original))
        else:
            namespaces.setdefault(id(function.__globals__), function.__globals__)
            if _holds_something(function):
                yield from _of_cells(function)
                yield from _of_defaults(function)
    for namespace in namespaces.values():
        yield from _of_module(namespace)
    yield from _of_containers(tuple(v for v in _reached(run, {}) if _is_users(v)))
    for namespace, name, original, substitute in polynomials.untrimmed():
        yield _Slot(namespace, name, original, substitute)
    for namespace in polynomials.namespaces():
        yield from _of_module(namespace)
    if builtins.__import__ is not _importing:
        yield _Slot(vars(builtins), "__import__", builtins.__import__, _importing)
    for (owner, name), (original, substitute) in methods.items():
        if vars(owner)[name] is not substitute:
            yield _AttributeSlot(owner, name, original, substitute)


_original_import = builtins.__import__


def _importing(name: str, globals: Any = None, *rest: Any, **options: Any) -> Any:
    """The import statement: a substitute for what the user's own code imports while it is run again."""
    found = _original_import(name, globals, *rest, **options)
    is_users = is_again() and globals is not None and not _is_left(globals.get("__name__"))
    return substitute_of(found) if is_users else found


def _namespaces() -> Iterator[dict[str, Any]]:
    """The dictionaries of the user's modules, and of those written in Python of the packages that asked."""
    for name, module in list(sys.modules.items()):
        if isinstance(module, types.ModuleType) and not _is_left(name) and not _is_compiled(module):
            yield vars(module)


def _is_compiled(module: types.ModuleType) -> bool:
    """True for a module in C, whose functions read its names and take NumPy's own arrays alone."""
    return (getattr(module, "__file__", None) or "").endswith(_COMPILED)


def _of_module(namespace: dict[str, Any]) -> Iterator[_Slot]:
    yield from _of_names(namespace)
    meant = {**BUILTINS, **standing_in(namespace)}
    if lacking := {n: s for n, s in meant.items() if n not in namespace}:
        yield _BuiltinsSlot(namespace, "", ABSENT, lacking)


def _of_names(namespace: dict[str, Any]) -> Iterator[_Slot]:
    yield from _of_values(_Slot, namespace, [*namespace.items()])


def _of_cells(function: types.FunctionType) -> Iterator[_Slot]:
    for cell in function.__closure__ or ():
        value = _content(cell)
        substitute = _substitute(value)
        if substitute is not value:
            yield _Slot(cell, "", value, substitute)


def _of_defaults(function: types.FunctionType) -> Iterator[_Slot]:
    if given := function.__defaults__:
        made = tuple(map(_substitute, given))
        if any(a is not b for a, b in zip(given, made, strict=True)):
            yield _AttributeSlot(function, "__defaults__", given, made)
    if function.__kwdefaults__:
        yield from _of_names(function.__kwdefaults__)


def _of_containers(users: Sequence[Any]) -> Iterator[_Slot]:
    """What the lists, dictionaries, objects and classes hold that these functions and objects read."""
    for container in containers_read(users, _Filled.packages):
        if _is_read_only(container):
            continue
        if isinstance(container, list):
            yield from _of_values(_ElementSlot, container, enumerate(container))
            yield from _of_generated(container)
        elif isinstance(container, type):
            unbound = [(n, v) for n, v in vars(container).items() if not hasattr(type(v), "__get__")]
            yield from _of_values(_AttributeSlot, container, unbound)
        else:
            held = container if isinstance(container, dict) else getattr(container, "__dict__", {})
            yield from _of_values(_Slot, held, held.items())
            yield from _of_generated(held.values())
            yield from _of_values(_MemberSlot, container, members(container).items())


def _of_generated(values: Iterable[Any]) -> Iterator[_Slot]:
    """The names of functions whose code was generated, such as sympy.lambdify's: they are no module's."""
    for function in list(values):
        if type(function) is types.FunctionType and function.__globals__.get("__name__") not in sys.modules:
            yield from _of_module(function.__globals__)


def _is_read_only(container: Any) -> bool:
    """True for a list or dictionary of a class that has something else done when an element is written."""
    own = next((kind for kind in (list, dict) if isinstance(container, kind)), None)
    return own is not None and type(container).__setitem__ is not own.__setitem__


def _of_values(slot: type[_Slot], holder: Any, named: Iterable[tuple[Any, Any]]) -> list[_Slot]:
    """The slots of those that something stands in for."""
    found = [(n, v, _substitute(v)) for n, v in named if type(v) in _COMPOSED or id(v) in originals]
    return [slot(holder, n, v, substitute) for n, v, substitute in found if substitute is not v]


def _is_users(value: Any) -> bool:
    """True for a function or class that the user wrote, and for objects of such a class."""
    kinds = types.FunctionType | types.MethodType | type
    return not _is_left((value if isinstance(value, kinds) else type(value)).__module__)


def _substitute(value: Any) -> Any:
    if type(value) is np.ndarray:
        return tabled(value)
    if type(value) is tuple:
        return tuple(map(tabled, value)) if any(type(v) is np.ndarray for v in value) else value
    if type(value) is functools.partial and (function := substitute_of(value.func)) is not value.func:
        return functools.partial(function, *value.args, **value.keywords)
    return _bound(value) if type(value) is types.MethodType else substitute_of(value)


_COMPOSED = frozenset({np.ndarray, tuple, functools.partial, types.MethodType})
"""What may have a substitute without being registered itself."""


def _bound(method: types.MethodType) -> Any:
    """Substitutes for a bound method of a library's object or class; the method itself where nothing does."""
    owner = substitute_of(method.__self__)
    if isinstance(owner, ModuleSubstitute):
        return owner.own.get(method.__name__, method)
    found = next((substitute for original, substitute in methods.values() if original is method.__func__), None)
    return method if found is None else types.MethodType(found, method.__self__)


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
    held = [_content(c) for c in function.__closure__ or ()]
    if _is_left(function.__module__):  # whose lists of arguments hold objects of the user's
        held += [v for c in held if type(c) in {list, tuple} for v in c if _is_users(v)]
    return [*held, *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values(), *vars(function).values()]
