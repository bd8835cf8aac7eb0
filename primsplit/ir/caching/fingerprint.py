"""Compute a key of everything that a function's behaviour depends on besides its arguments: its code and what it reads.

A cached program is valid as long as this key stays equal. A function is traced again after a change of: a closed-over
number; the contents of an array or container; a default; a global or a module's variable that the function, or a
function that it calls, reads; an attribute of an object that it holds, or of that object's class. What is not read does
not matter, nor does what is only appended to or counted up (`noting.only_noted`).

Functions of libraries (the standard one, and installed ones) count by identity, not by what they read. An object of
primsplit that remembers earlier calls lists in `depends_on` what its behaviour depends on.
"""

import collections
import functools
import hashlib
import os
import re
import sys
import sysconfig
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from primsplit.ir.caching.held import HOLDING, attributes, content, held_by, held_in, is_all_in_dict
from primsplit.ir.caching.noting import is_note, only_noted
from primsplit.ir.caching.unchanged import Unchanged

DEPTH = 12
"""The most levels of objects that are followed; deeper objects count by identity."""

SCALARS = (bool, int, float, complex, str, bytes)
VALUES = (*SCALARS, dict, list, tuple, set, frozenset, np.ndarray, *HOLDING)
OPAQUE = frozenset({"numpy", "scipy", "primsplit", "ml_dtypes", "onnx", "onnxruntime", "onnx_ir", "optree"})
TABLES = (
    "numpy.ma.", "numpy.polynomial.", "scipy.interpolate.", "scipy.optimize._constraints.", "scipy.sparse.",
    "scipy.spatial.transform.", "scipy.stats._kde",
)  # fmt: skip
"""Modules of opaque libraries whose objects hold numbers that users change."""

HOLDERS = (np.poly1d, np.vectorize)
"""Further classes of such objects."""

UNREAD = frozenset({
    "__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__annotations__", "__slots__",
    "__firstlineno__", "__static_attributes__", "__dataclass_fields__", "__dataclass_params__", "__match_args__",
    "__parameters__", "__orig_bases__", "__abstractmethods__", "_abc_impl",
})  # fmt: skip
"""Entries of a class that no function of it reads."""


class Same:
    """A key that equals only itself. It keeps the object alive, so that no other can take its address."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value


def fingerprint(value: Any) -> Any:
    """Return a hashable value that changes whenever what a function reads, or what an object holds, changes."""
    return Reading().of(value, DEPTH)


def objects_read(value: Any) -> list[Any]:
    """Return the objects that `fingerprint` visits, in order: equal fingerprints have like objects at each position."""
    reading = Reading()
    reading.of(value, DEPTH)
    return [met for _, met in reading.seen.values()]


def objects_met(value: Any) -> list[Any]:
    """Return the objects that `fingerprint` visits, without scalars, and with those that are only noted."""
    (looking := _Looking()).of(value, DEPTH)
    return [met for _, met in looking.seen.values()]


def watched_fingerprint(value: Any, live: frozenset[int] = frozenset()) -> tuple[Any, Unchanged]:
    """Return the fingerprint, and an `Unchanged` that is true as long as a new one would provably be equal.

    Elements of arrays with an `id` in `live` do not count.
    """
    reading = Reading(Unchanged(), live)
    return reading.of(value, DEPTH), reading.unchanged


def _told(dtype: np.dtype[Any]) -> str:
    """Return a text that distinguishes dtypes; int4 and uint4, which NumPy does not know, have the same `str`."""
    return dtype.name if dtype.isbuiltin == 2 else dtype.str


def _scalar(value: Any) -> tuple[Any, Any]:
    return type(value), repr(value) if isinstance(value, float | complex) else value


def _is_derived(kind: type) -> bool:
    """Whether it is a class of the user's, or one in TABLES, that derives from a value class of Python's or NumPy's."""
    is_read = not is_library(kind.__module__) or f"{kind.__module__}.".startswith(TABLES)
    return is_read and issubclass(kind, VALUES)


class Reading:
    """The computation of one fingerprint. `seen` numbers the objects visited, and keeps them alive meanwhile."""

    skips_notes = True

    def __init__(self, unchanged: Unchanged | None = None, live: frozenset[int] = frozenset()) -> None:
        self.live = live
        self.seen: dict[int, tuple[int, Any]] = {}
        self.unchanged = Unchanged(is_provable=False) if unchanged is None else unchanged

    def of(self, value: Any, depth: int) -> Any:
        if isinstance(value, Same):
            return value
        if value is None or (isinstance(value, SCALARS) and not _is_derived(type(value))):
            return _scalar(value)
        if isinstance(value, np.generic):
            if isinstance(value, np.void):
                self.unchanged.give_up()
            return ("number", _told(value.dtype), value.tobytes())
        if id(value) in self.seen:
            return ("seen", self.seen[id(value)][0])
        self.seen[id(value)] = (len(self.seen), value)
        content = self.content(value, depth)
        return (content, *self.held(value, depth - 1)) if depth and _is_derived(type(value)) else content

    def content(self, value: Any, depth: int) -> Any:
        """Return the key of an object's contents as an instance of the built-in or NumPy class that it derives from."""
        if isinstance(value, SCALARS):
            return _scalar(value)
        if isinstance(value, np.ndarray):
            return self.array(value, depth)
        return Same(value) if depth == 0 else self.inside(value, depth - 1)

    def held(self, value: Any, depth: int) -> tuple[Any, ...]:
        """Return the keys of an object's class and of its attributes."""
        self.unchanged.attribute(value, "__class__")
        if is_all_in_dict(value):
            self.unchanged.attribute(value, "__dict__")
            self.unchanged.content(value.__dict__.keys, value.__dict__.values)
        else:
            self.unchanged.content(functools.partial(held_by, value))
        held = attributes(value) or {}
        return self.of(type(value), depth), tuple((n, self.of(v, depth)) for n, v in held.items())

    def each(self, values: Iterable[Any], depth: int) -> tuple[Any, ...]:
        return tuple(self.of(v, depth) for v in values)

    def array(self, value: np.ndarray[Any, Any], depth: int) -> Any:
        if value.dtype.hasobject:
            self.unchanged.give_up()
            return ("array", value.shape, self.each(value.reshape(-1).tolist(), depth))
        if id(value) in self.live:
            return ("live", Same(value), self.unchanged.layout(value))
        content: Any = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
        digest = hashlib.sha256(content).digest()
        self.unchanged.array(value, digest)
        return ("array", _told(value.dtype), value.shape, digest)

    def inside(self, value: Any, depth: int) -> Any:
        """Return the key of an object that is no scalar and no array."""
        if isinstance(value, types.FunctionType):
            return self.function(value, depth)
        if isinstance(value, types.MethodType):
            return ("method", self.of(value.__self__, depth), self.of(value.__func__, depth))
        if isinstance(value, functools.partial):
            self.unchanged.attribute(value, "func", "args", "keywords")
            return ("partial", *self.each((value.func, value.args, value.keywords), depth))
        if isinstance(value, dict):
            self.unchanged.content(value.keys, value.values)
            items = tuple((self.of(k, depth), self.of(v, depth)) for k, v in value.items())
            if not isinstance(value, collections.defaultdict):
                return (type(value), items)
            self.unchanged.attribute(value, "default_factory")
            return (type(value), items, self.of(value.default_factory, depth))
        if isinstance(value, list | tuple):
            self.unchanged.content(value.__iter__)
            return (type(value), self.each(value, depth))
        if isinstance(value, set | frozenset):
            self.unchanged.content(value.__iter__)
            return (type(value), frozenset(self.each(value, depth)))
        if isinstance(value, type):
            return self.kind(value, depth)
        if hasattr(type(value), "depends_on"):
            self.unchanged.content(functools.partial(_parts, value))
            return (type(value), self.each(value.depends_on(), depth))
        return self.instance(value, depth)

    def instance(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if isinstance(value, types.BuiltinMethodType | types.MethodWrapperType):
            owner = value.__self__
            is_alone = owner is None or isinstance(owner, types.ModuleType)
            return Same(value) if is_alone else ("bound", value.__name__, self.of(owner, depth))
        if isinstance(value, HOLDING):
            self.unchanged.content(functools.partial(held_in, value))
            return (kind, self.each(held_in(value), depth))
        if _is_opaque(kind) or attributes(value) is None or isinstance(value, types.ModuleType):
            return Same(value)
        return ("instance", *self.held(value, depth))

    def kind(self, value: type, depth: int) -> Any:
        """Return the key of a class: for one of the user's, of its functions, values and bases."""
        if is_library(value.__module__):
            return Same(value)
        self.unchanged.content(vars(value).keys, vars(value).values)
        self.unchanged.attribute(value, "__bases__")
        held = [(n, v) for n, v in vars(value).copy().items() if n not in UNREAD and not isinstance(v, _DESCRIPTORS)]
        return (
            "class",
            Same(value),
            tuple((n, self.of(_unwrapped(v), depth)) for n, v in held),
            self.each((*value.__bases__, type(value)), depth),
        )

    def function(self, function: types.FunctionType, depth: int) -> Any:
        self.unchanged.attribute(function, "__code__", "__defaults__", "__kwdefaults__")
        self.watch_cells(function.__closure__ or ())
        cells = {n: content(c) for n, c in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)}
        if is_library(function.__module__ or ""):
            read = [os.environ] if ENVIRONMENT.intersection(function.__code__.co_names) else []
            return ("library", function.__module__, Same(function.__code__), self.each([*cells.values(), *read], depth))
        names = names_read(function.__code__)
        self.watch_globals(function, names)
        noted = only_noted(function.__code__) if self.skips_notes else frozenset()

        def held(name: str, value: Any) -> Any:
            return "noted" if name in noted and is_note(value) else self.read(value, names, depth)

        return (
            "function",
            function.__code__,
            tuple(held(n, c) for n, c in cells.items()),
            self.of(function.__defaults__, depth),
            self.of(function.__kwdefaults__, depth),
            tuple((n, held(n, v)) for n, v in _globals(function, names)),
            self.of(function.__dict__, depth) if function.__dict__ else None,
        )

    def watch_cells(self, closure: tuple[types.CellType, ...]) -> None:
        """Watch which objects the cells of a closure hold."""
        try:
            for cell in closure:
                self.unchanged.attribute(cell, "cell_contents")
        except ValueError:  # one is empty
            self.unchanged.content(functools.partial(map, content, closure))

    def watch_globals(self, function: types.FunctionType, names: frozenset[str]) -> None:
        """Watch everything that `_globals` looks up, and the function's own attributes."""
        self.unchanged.attribute(function, "__dict__")
        self.unchanged.content(function.__dict__.keys)
        for name in names:
            self.unchanged.entry(function.__globals__, name)
            if name not in function.__globals__:
                self.unchanged.entry(sys.modules, name)

    def read(self, value: Any, names: frozenset[str], depth: int) -> Any:
        """Return the key of a value that code reads; of a module, only the attributes that the code names count."""
        if not isinstance(value, types.ModuleType):
            return self.of(value, depth)
        if id(value) in self.seen or depth == 0:
            return Same(value)
        self.seen[id(value)] = (len(self.seen), value)
        if value is os and not names.isdisjoint(ENVIRONMENT):
            return (Same(value), self.of(os.environ, depth))
        if is_library(value.__name__):
            return Same(value)
        held = vars(value)
        for name in names:
            self.unchanged.entry(held, name)
        return (Same(value), tuple((n, self.read(held[n], names, depth - 1)) for n in sorted(names) if n in held))


class _Looking(Reading):
    """A walk over the same objects that skips numbers, and visits what is only noted too."""

    skips_notes = False

    def each(self, values: Iterable[Any], depth: int) -> tuple[Any, ...]:
        return super().each((v for v in values if not isinstance(v, SCALARS)), depth)

    def array(self, value: np.ndarray[Any, Any], depth: int) -> Any:
        return super().array(value, depth) if value.dtype.hasobject else None


ENVIRONMENT = frozenset({"environ", "environb", "expanduser", "expandvars", "getenv", "getenvb"})
"""Names in code that read the environment: those of `os`, and those of library functions that do."""

_DESCRIPTORS = (types.MemberDescriptorType, types.GetSetDescriptorType)


def _is_opaque(kind: type) -> bool:
    """Whether objects of this class count by identity, whatever they hold."""
    return _top(kind.__module__) in OPAQUE and not (kind in HOLDERS or f"{kind.__module__}.".startswith(TABLES))


def _unwrapped(value: Any) -> Any:
    """Return the function, or functions, inside of a descriptor."""
    if isinstance(value, staticmethod | classmethod):
        return value.__func__
    return (value.fget, value.fset) if isinstance(value, property) else value


def _parts(value: Any) -> list[Any]:
    """Return what an object of primsplit depends on now, by its own account."""
    return [p.value if isinstance(p, Same) else p for p in value.depends_on()]


def _top(module: object) -> str:
    return module.partition(".")[0] if isinstance(module, str) else ""


@functools.lru_cache(4096)
def is_library(module: object) -> bool:
    """Whether the module is an installed one or of the standard library; Cython's classes name no module."""
    if not isinstance(module, str):
        return True
    if _top(module) == "__main__":
        return False
    if _top(module) in OPAQUE or _top(module) in sys.stdlib_module_names:
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and file.startswith(_installed())


@functools.lru_cache(4096)
def package_of(module: str) -> str:
    """Return the installed package of a module; "" for the user's modules, and for libraries known here."""
    known = OPAQUE | sys.stdlib_module_names
    return _top(module) if is_library(module) and _top(module) not in known else ""


@functools.cache
def _installed() -> tuple[str, ...]:
    """Return the folders where packages are installed, which takes a while to find out."""
    return tuple({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})


def _globals(function: types.FunctionType, names: frozenset[str]) -> list[tuple[str, Any]]:
    """Return the globals that the function may read, and the modules that it may import."""
    held = function.__globals__
    found = [(n, held[n]) for n in sorted(names) if n in held]
    known = {n for n, _ in found}
    return found + [(n, sys.modules[n]) for n in sorted(names - known) if n in sys.modules]


BY_TEXT = frozenset(
    {"__dict__", "attrgetter", "eval", "exec", "getattr", "globals", "import_module", "modules", "vars"}
)
"""Names in code that look up an attribute or module by its text."""


@functools.lru_cache(4096)
def names_read(code: types.CodeType) -> frozenset[str]:
    """Return the global and attribute names that the code, and the functions inside it, may read."""
    inner = (names_read(c) for c in code.co_consts if isinstance(c, types.CodeType))
    texts = (c for c in code.co_consts if isinstance(c, str) and not BY_TEXT.isdisjoint(code.co_names))
    return frozenset(code.co_names).union(*inner, *(re.findall(r"[^\W\d]\w*", text) for text in texts))
