"""Finds the lists, arrays and objects that statements can reach from the names they read."""

import functools
import itertools
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from primsplit.frontends.python.conversion.either import Either
from primsplit.frontends.python.conversion.growing import Grown
from primsplit.frontends.python.converter.copies import current
from primsplit.frontends.python.overrides.table import ModuleSubstitute, Substitute
from primsplit.ir.caching.fingerprint import is_library
from primsplit.ir.dims import Size
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.complex_array import ComplexArray
from primsplit.tracing.converting import Helper
from primsplit.tracing.functionlike import FunctionLike
from primsplit.tracing.handles import views
from primsplit.tracing.handles.views import Choice

HELPER = "_joins_"
"""The prefix of the names by which code of a rewritten file calls its helper, before it is compiled."""


class JoinsHelper(Helper):
    """A helper that functions of a rewritten file call; it stands in the constants of their code."""


def is_rewritten(code: types.CodeType) -> bool:
    """Whether code is of a function of a rewritten file, or of one whose copy in this run has rewritten code."""
    conversion = current()
    is_in_file = conversion is not None and code.co_filename in conversion.options.rewritten
    return is_in_file or any(isinstance(const, JoinsHelper) for const in code.co_consts)


def is_users_object(value: Any) -> bool:
    """Whether a class of the object, its own or a base class, is written by the user."""
    kinds = type(value).__mro__
    return type(value) is not Array and not all(is_library(kind.__module__) for kind in kinds)


def reached(values: Iterable[Any], holds: Callable[[Any], list[Any]]) -> Iterator[Any]:
    """Yield the values and all that they hold, each once; plain numbers and strings inside are skipped."""
    seen: set[int] = set()
    left = [*values]
    while left:
        part = left.pop()
        if id(part) not in seen:
            seen.add(id(part))
            yield part
            left += [held for held in holds(part) if type(held) not in _PLAIN]


_PLAIN = frozenset({int, float, complex, str, bytes, bool, type(None), np.float64, np.float32, np.int64})


def is_numpys(value: Any) -> bool:
    """Whether a value is a NumPy array."""
    return type(value) is np.ndarray


def roots_of(array: Any) -> list[Any]:
    """Return the base arrays that an array is, or may be, a view of; the array itself if it is no view."""
    return [base for base in (array, *bases_of(array)) if next(bases_of(base), None) is None]


def bases_of(array: Any) -> Iterator[Any]:
    """Yield the arrays that an array is, or may be, a view of, the arrays that those are views of, and so on."""
    if type(array) is Array:
        yield from views.bases_of(array)
    while is_numpys(array) and array.base is not None:
        array = array.base
        yield array


def is_shown_whole(root: Any, arrays: Sequence[Any]) -> bool:
    """Whether all arrays that show `root` are one array, or may be that one, and none is another view of it."""
    showing = [v for v in arrays if _shows(v, root)]
    first = next((v for v in showing if not isinstance(getattr(v, "view_of", None), Choice)), None)

    def may_be_it(array: Any) -> bool:
        if array is first or not isinstance(getattr(array, "view_of", None), Choice):
            return array is first
        return all(may_be_it(base) for base in array.view_of.bases if _shows(base, root))

    return first is not None and all(map(may_be_it, showing))


def shows_memory(part: Any, root: Any) -> bool:
    """Whether a value is a NumPy array that shares the memory of `root`."""
    return is_numpys(part) and _shows(part, root)


def _shows(array: Any, root: Any) -> bool:
    return any(other is root for other in roots_of(array))


def written_with(array: Array) -> Array:
    """Return the array to which a write to this one goes: itself, or the base of which it certainly is a view."""
    while (view := array.view_of) is not None and view.write is not None and len(view.bases) == 1:
        array = view.base
    return array


def held(value: Any) -> list[Any]:
    """Return the parts of a container or of a user's object; of a derivative, the function that it differentiates."""
    if type(value) is Array:  # asked first: `isinstance` of an array looks up who asks
        return []
    if isinstance(value, dict):
        return [*value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        return [*value]
    if isinstance(value, FunctionLike):
        return [*(value.called or ())]
    if isinstance(value, ComplexArray):
        return [part for part in value.parts if part is not None]
    if type(value) is Either:
        return [*value.things.values()]
    if type(value) is Grown:
        return [*(value.elements or ()), *trees.flatten(value.stack)[0]]
    if not is_users_object(value):
        return []
    slots = (getattr(value, s, None) for kind in type(value).__mro__ for s in getattr(kind, "__slots__", ()))
    return [*getattr(value, "__dict__", {}).values(), *slots]


def seen(value: Any) -> list[Any]:
    """Return the parts of a value and, for a function, method, class or module, the values that it may read."""
    if type(value) is Array:
        return []
    if isinstance(value, types.MethodType):
        return [value.__self__, value.__func__]
    if isinstance(value, staticmethod | classmethod):
        return [value.__func__]
    if isinstance(value, property):
        return [value.fget, value.fset]
    if isinstance(value, functools.partial):
        return [value.func, value.args, value.keywords]
    if isinstance(value, types.BuiltinFunctionType):
        return [] if isinstance(value.__self__, types.ModuleType) else [value.__self__]
    if isinstance(value, types.ModuleType):
        return [] if is_library(value.__name__) else [v for n, v in vars(value).copy().items() if not _is_pythons(n)]
    if isinstance(value, types.FunctionType):
        return [] if is_library(value.__module__ or "") else _seen_by_function(value)
    kinds = value.__mro__ if isinstance(value, type) else type(value).__mro__
    return [*itertools.chain.from_iterable(map(_of_class, kinds)), *held(value)]


def _is_pythons(name: str) -> bool:
    """Whether Python sets this name in every module."""
    return name in {"__builtins__", "__loader__", "__spec__"}


def hides(value: Any) -> bool:
    """Whether a value may hold more than `held` returns: its class, or a base class, is a library's."""
    if type(value) in {np.ndarray, Array, ComplexArray}:
        return bool(value.dtype.hasobject)
    if isinstance(value, FunctionLike):
        return value.called is None
    kinds = (kind for kind in type(value).__mro__ if kind is not object and is_library(kind.__module__))
    return not all(issubclass(kind, _OPEN) or kind.__module__ in _HOLD_NOTHING for kind in kinds)


_OPEN = (
    Size, Substitute, ModuleSubstitute, Either, Grown, int, float, complex, str, bytes, type(None),
    type(NotImplemented), type(...), range, slice, np.generic, np.ndarray, np.ufunc, np.dtype, type, property, dict,
    list, tuple, set, frozenset, functools.partial, staticmethod, classmethod, types.ModuleType, types.FunctionType,
    types.MethodType, types.BuiltinFunctionType, types.MemberDescriptorType, types.GetSetDescriptorType,
    types.CodeType,
)  # fmt: skip
"""The kinds that hold no arrays, or whose parts `seen` returns."""
_HOLD_NOTHING = frozenset({"abc", "_abc", "enum", "logging", "numpy.random._generator", "typing"})


def _of_class(kind: type) -> list[Any]:
    """Return the members of a class that the user wrote, without those that Python adds."""
    own = {} if is_library(kind.__module__) else vars(kind).copy()
    return [v for name, v in own.items() if isinstance(v, types.FunctionType) or not name.startswith("__")]


def _seen_by_function(function: types.FunctionType) -> list[Any]:
    """Return the values of the names that a function of the user's reads, and its attributes."""
    cells = (cell.cell_contents for cell in function.__closure__ or () if cell != types.CellType())
    of_module = (function.__globals__.get(n) for n in _names(function.__code__))
    defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    return [*cells, *of_module, *defaults, *vars(function).values()]


def _names(code: types.CodeType) -> set[str]:
    """Return the global names and attributes that code and the functions inside it read."""
    inner = (const for const in code.co_consts if isinstance(const, types.CodeType))
    return {*code.co_names}.union(*map(_names, inner))
