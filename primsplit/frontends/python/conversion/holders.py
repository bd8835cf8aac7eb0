"""Finds the lists, arrays and objects that statements can reach from the names they read."""

import functools
import itertools
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from primsplit.frontends.python.conversion.either import Either
from primsplit.frontends.python.conversion.growing import Grown
from primsplit.frontends.python.converter.copies import Helper, current
from primsplit.frontends.python.overrides.table import ModuleSubstitute, Substitute
from primsplit.ir.caching.fingerprint import is_library
from primsplit.ir.dims import Size
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.complex_array import ComplexArray
from primsplit.tracing.functionlike import FunctionLike
from primsplit.tracing.handles import views
from primsplit.tracing.handles.views import Choice

HELPER = "_joins_"
"""What the names begin with that functions of a rewritten file call, while it is written."""


class JoinsHelper(Helper):
    """What functions of a rewritten file call: it lies in the constants of their code."""


def is_rewritten(code: types.CodeType) -> bool:
    """True for the code of a function of a rewritten file, and of one whose copy has such code in this run."""
    conversion = current()
    is_in_file = conversion is not None and code.co_filename in conversion.rewritten
    return is_in_file or any(isinstance(const, JoinsHelper) for const in code.co_consts)


def is_users_object(value: Any) -> bool:
    """True for an object whose class, or a class that it comes from, is the user's."""
    kinds = type(value).__mro__
    return type(value) is not Array and not all(is_library(kind.__module__) for kind in kinds)


def reached(values: Iterable[Any], holds: Callable[[Any], list[Any]]) -> Iterator[Any]:
    """The values and all that they hold, each once, but for plain numbers and texts in it: a table may have many."""
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
    """True for an array of NumPy's."""
    return type(value) is np.ndarray


def roots_of(array: Any) -> list[Any]:
    """The arrays that this one is a view of, or may be, and which are views of none; or itself."""
    return [base for base in (array, *bases_of(array)) if next(bases_of(base), None) is None]


def bases_of(array: Any) -> Iterator[Any]:
    """What an array is a view of, or may be one of, what those are views of, and so on."""
    if type(array) is Array:
        yield from views.bases_of(array)
    while is_numpys(array) and array.base is not None:
        array = array.base
        yield array


def is_shown_whole(root: Any, arrays: Sequence[Any]) -> bool:
    """True for an array of which those that show it are one array, or may be that one, and no views of their own."""
    showing = [v for v in arrays if _shows(v, root)]
    first = next((v for v in showing if not isinstance(getattr(v, "view_of", None), Choice)), None)

    def may_be_it(array: Any) -> bool:
        if array is first or not isinstance(getattr(array, "view_of", None), Choice):
            return array is first
        return all(may_be_it(base) for base in array.view_of.bases if _shows(base, root))

    return first is not None and all(map(may_be_it, showing))


def shows_memory(part: Any, root: Any) -> bool:
    """True for a NumPy array that is a view of this one."""
    return is_numpys(part) and _shows(part, root)


def _shows(array: Any, root: Any) -> bool:
    return any(other is root for other in roots_of(array))


def written_with(array: Array) -> Array:
    """The array that a write to this one writes to: itself, or the one that it is surely a view of."""
    while (view := array.view_of) is not None and view.write is not None and len(view.bases) == 1:
        array = view.base
    return array


def held(value: Any) -> list[Any]:
    """What a container or an object of the user's holds; of a derivative, the function that it is of."""
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
    """What something holds or, as a function, method, class or module, may read when it is called."""
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
        return [] if is_library(value.__name__) else [v for n, v in vars(value).items() if not _is_pythons(n)]
    if isinstance(value, types.FunctionType):
        return [] if is_library(value.__module__ or "") else _seen_by_function(value)
    kinds = value.__mro__ if isinstance(value, type) else type(value).__mro__
    return [*itertools.chain.from_iterable(map(_of_class, kinds)), *held(value)]


def _is_pythons(name: str) -> bool:
    """True for a name of a module that Python gives it."""
    return name in {"__builtins__", "__loader__", "__spec__"}


def hides(value: Any) -> bool:
    """True for what may hold more than is seen: an object of a library's, or one that comes from its class."""
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
"""The kinds that hold no arrays, or whose parts are seen."""
_HOLD_NOTHING = frozenset({"abc", "_abc", "enum", "logging", "numpy.random._generator", "typing"})


def _of_class(kind: type) -> list[Any]:
    """What the user wrote into a class, and what Python made of it apart from its own records."""
    own = {} if is_library(kind.__module__) else vars(kind)
    return [v for name, v in own.items() if isinstance(v, types.FunctionType) or not name.startswith("__")]


def _seen_by_function(function: types.FunctionType) -> list[Any]:
    """What a function of the user's finds under the names that it reads, and what it has as attributes."""
    cells = (cell.cell_contents for cell in function.__closure__ or () if cell != types.CellType())
    of_module = (function.__globals__[n] for n in _names(function.__code__) if n in function.__globals__)
    defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    return [*cells, *of_module, *defaults, *vars(function).values()]


def _names(code: types.CodeType) -> set[str]:
    """The names that code reads which are not its own, and that of the functions in it."""
    inner = (const for const in code.co_consts if isinstance(const, types.CodeType))
    return {*code.co_names}.union(*map(_names, inner))
