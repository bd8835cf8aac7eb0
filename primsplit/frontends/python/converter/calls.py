"""Selects the function that a copy calls: the copy of a function, a substitute, or the user's own function.

An operator receives the callee before its arguments are evaluated, and returns the object that Python calls in its
place. So the call itself stays in the user's frame.

    np.array([x[0]])        ->      called(np.array)([x[0]])        # called returns the substitute of np.array
"""

import builtins
import dataclasses
import functools
import inspect
import itertools
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.frontends.python.converter.changes import changing_first, note_arguments, noting_outputs, of_generator
from primsplit.frontends.python.converter.copies import HEAP, LIKE_PACKAGES, Conversion, origin, remember_origin
from primsplit.frontends.python.functions import function_like
from primsplit.frontends.python.overrides.array_methods import method_of_array
from primsplit.frontends.python.overrides.builtin import BUILTINS
from primsplit.frontends.python.overrides.classes import NUMBERS, USERS
from primsplit.frontends.python.overrides.number_types import CALLED
from primsplit.frontends.python.overrides.plain_arrays import noted
from primsplit.frontends.python.overrides.polynomials import MODULES, TRIM_ZEROS, of_coefficients
from primsplit.frontends.python.overrides.table import (
    ModuleSubstitute,
    Substitute,
    is_stood_in_for,
    substitute_of,
    substitute_of_method,
)
from primsplit.ir.caching.fingerprint import objects_met
from primsplit.ir.caching.held import content, is_written_by_python
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import holds_traced
from primsplit.tracing.functionlike import FunctionLike
from primsplit.tracing.handles.concretization import numpys_class
from primsplit.tracing.saved_state import is_generator
from primsplit.tracing.undo_log import note_method

LIKE_PACKAGES.update(MODULES)

Function = types.FunctionType
_WRAPPER = type(functools.lru_cache(lambda: None))


def callee(conversion: Conversion, called: Any, *, is_package: bool) -> Any:
    """Return the function to call in place of `called`; `is_package` tells whether an installed package calls it."""
    if called is warnings.warn and is_package and conversion.options.own:
        return _nothing
    kind = type(called)
    if kind is Function or kind is np.ufunc:
        return _known(conversion, called)
    if kind is types.MethodType:
        return _method(conversion, called)
    if kind is functools.partial:
        inner = callee(conversion, called.func, is_package=is_package)
        return called if inner is called.func else functools.partial(inner, *called.args, **called.keywords)
    if kind is types.BuiltinFunctionType or kind is types.MethodWrapperType:
        note_method(called.__self__, called.__name__)
    if (changing := changing_first(called)) is not None:
        return changing
    call = _object(conversion, called, is_package=is_package)
    is_method = kind is types.BuiltinFunctionType and type(called.__self__) in {np.ndarray, np.ufunc}
    return noting_outputs(called, call) if is_method else call


def _nothing(*_: Any, **__: Any) -> None:
    """Return nothing, where SciPy's own code warns of numbers: both sides of a test of them are recorded."""


def _object(conversion: Conversion, called: Any, *, is_package: bool) -> Any:
    """Return the function to call in place of a class, an object, or a function written in C."""
    if conversion.options.serves and (substitute := _served(conversion, called, is_package=is_package)) is not called:
        return substitute
    if isinstance(called, type):
        return _constructor(conversion, called, is_package=is_package)
    if type(called) is _WRAPPER:
        return _uncached(conversion, called)
    if type(called) is types.BuiltinFunctionType:
        return _calling(conversion, called)
    call = conversion.changed(type(called), "__call__")
    return called if call is None else _calling(conversion, types.MethodType(call, called))


def _known(conversion: Conversion, called: Any) -> Any:
    """Return the function to call in place of a function or ufunc, which is cached for the whole conversion."""
    if type(called) is Function and called.__module__ in _OF_ARRAYS:
        return called
    if id(called) not in conversion.callees:
        replacement = _function(conversion, called) if type(called) is Function else _numpys(conversion, called)
        conversion.callees[id(called)] = called, replacement
    return conversion.callees[id(called)][1]


def _numpys(conversion: Conversion, ufunc: np.ufunc) -> Any:
    """Return the function to call in place of a ufunc."""
    substitute = substitute_of(ufunc) if conversion.options.serves else ufunc
    replacement = _calling(conversion, substitute)
    if replacement is not substitute:  # a function without source reads methods from it
        vars(replacement).update({name: getattr(substitute, name) for name in _OF_UFUNCS})
    return replacement


_OF_UFUNCS = ("reduce", "accumulate", "reduceat", "outer", "at", "nin", "nout", "nargs", "identity", "signature")


def _function(conversion: Conversion, function: Function) -> Any:
    copied = conversion.copy(function)
    if copied is not function:
        counted = of_coefficients(function, copied)
        return counted if counted is copied else _calling(conversion, counted)
    if conversion.options.serves and function in CALLED:
        return CALLED[function]
    if conversion.options.serves and is_stood_in_for(function):
        return _calling(conversion, substitute_of(function))
    if hasattr(function, "registry") and hasattr(function, "dispatch"):
        return _dispatched(conversion, function)
    return _calling(conversion, function)


def _method(conversion: Conversion, method: types.MethodType) -> Any:
    note_method(method.__self__, method.__name__)
    replacement = _changed_method(conversion, method)
    if replacement is method and is_generator(method.__self__):
        return of_generator(method)
    if replacement is method or not isinstance(replacement, types.MethodType):
        return _calling(conversion, replacement)
    return replacement


def _changed_method(conversion: Conversion, method: types.MethodType) -> Any:
    """Return a method with the copy or the substitute of its function; itself if it has neither."""
    function = method.__func__
    if conversion.options.serves:
        owner = substitute_of(method.__self__)
        if isinstance(owner, ModuleSubstitute) and method.__name__ in owner.own:
            return owner.own[method.__name__]
    if type(function) is _WRAPPER:
        return types.MethodType(_uncached(conversion, function), method.__self__)
    copied = conversion.method(function)
    return method if copied is function else types.MethodType(of_coefficients(function, copied), method.__self__)


def _served(conversion: Conversion, called: Any, *, is_package: bool) -> Any:
    """Return the substitute of a function in C, or of a library's class or object; itself if it has none."""
    if isinstance(called, Substitute):
        return called if called.traced in _ASKING else _calling(conversion, called)
    if is_package and called is np.trim_zeros:
        return TRIM_ZEROS
    if is_stood_in_for(called):
        return _calling(conversion, substitute_of(called))
    if isinstance(called, type) and called in CLASSES:
        return (_OF_PACKAGES if is_package else _OF_USERS).get(called, called)
    if type(called) is types.BuiltinFunctionType:
        if type(called.__self__) is np.ndarray:
            return method_of_array(called)
        owner = substitute_of(called.__self__)
        if isinstance(owner, ModuleSubstitute) and called.__name__ in owner.own:
            return _calling(conversion, owner.own[called.__name__])
        of_class = substitute_of_method(getattr(type(called.__self__), called.__name__, None))
        if of_class is not None:
            return types.MethodType(of_class, called.__self__)
        named = BUILTINS.get(called.__name__) if called.__self__ is builtins else None
        if named is not None and named.original is called:
            return _served(conversion, named, is_package=is_package)
    return called


_OF_USERS: dict[Any, Any] = {
    **CALLED, **USERS, range: BUILTINS["range"], type: BUILTINS["type"],
}  # fmt: skip
_OF_PACKAGES = {**_OF_USERS, **NUMBERS}
CLASSES = frozenset(_OF_PACKAGES)
"""The classes that have substitutes where they are called."""

_OF_ARRAYS = frozenset({"primsplit.tracing.array", "primsplit.tracing.handles.methods"})
"""The modules with the methods of traced arrays, which are called unchanged."""
_ASKING = tuple(BUILTINS[name].traced for name in ("all", "any", "hasattr", "getattr", "isinstance", "type", "len"))
"""Substitutes that get their arguments unchanged: `all` and `any` count references, the others ask for a class."""

_CALLING = frozenset({map, filter, functools.reduce, *(v for v in vars(itertools).values() if isinstance(v, type))})
"""Functions and classes in C that call a function they receive."""
_LIBRARIES = frozenset({"primsplit", "numpy", "scipy", "optree", "heapq", "_heapq", "bisect", "_bisect"})
"""Libraries whose functions call the functions they receive."""
_CREATING = frozenset({"numpy", "scipy", "copy"})
"""Libraries whose functions return new arrays, or arrays of their arguments and of the method's object."""


def _calling(conversion: Conversion, called: Any, *, is_package: bool = False) -> Any:
    """Return a function that passes copies of the user's functions to `called`; `called` itself if it calls none."""
    original = getattr(called, "original", called)
    library = (getattr(original, "__module__", None) or type(original).__module__).partition(".")[0]
    is_calling = library in _LIBRARIES or called in _CALLING if _is_hashable(called) else True
    is_creating = conversion.options.serves and library in _CREATING
    if not is_calling and not isinstance(called, Substitute):
        return _creating(called) if is_creating else called
    is_inner = _is_hashable(called) and called in _CALLING
    own = lifted(conversion, called) if library == "primsplit" and type(called) is Function else called

    @functools.wraps(own, updated=())
    def call(*args: Any, **options: Any) -> Any:
        if is_inner and args and isinstance(args[0], type):
            args = callee(conversion, args[0], is_package=is_package), *args[1:]
        note_arguments(called, args, options)
        args = tuple(lifted(conversion, a) for a in args)
        options = {name: lifted(conversion, a) for name, a in options.items()}
        result = own(*args, **options)
        return noted(result, (args, options, _held_by_owner(called))) if is_creating else result

    return call


def _creating(called: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose new arrays may be written to; it gets its arguments unchanged."""

    @functools.wraps(called, updated=())
    def call(*args: Any, **options: Any) -> Any:
        return noted(called(*args, **options), (args, options, _held_by_owner(called)))

    return call


def _held_by_owner(method: Any) -> dict[str, Any]:
    """Return the attributes of a method's object, of which `spline.get_coeffs()` returns a view."""
    held = getattr(method.__self__, "__dict__", None) if isinstance(method, types.MethodType) else None
    return held if isinstance(held, dict) else {}


def _is_hashable(value: Any) -> bool:
    return type(value).__hash__ is not None


def lifted(conversion: Conversion, value: Any) -> Any:
    """Return the value to pass to a function that may call it: a function's copy, or a library function's substitute.

    A closure of this package is copied too, if a cell of it leads to such a function.
    """
    kind = type(value)
    if kind in {list, tuple} and any(type(v) is Function for v in value):
        return kind(lifted(conversion, v) for v in value)
    if kind is Function:
        copied = conversion.copy(value)
        if copied is not value:
            return copied
        if conversion.options.serves and is_stood_in_for(value):
            return substitute_of(value)
        return _closure(conversion, value)
    if kind is types.MethodType:
        note_method(value.__self__, value.__name__)
        return _changed_method(conversion, value)
    if kind is functools.partial:
        inner = lifted(conversion, value.func)
        return value if inner is value.func else functools.partial(inner, *value.args, **value.keywords)
    if kind is _WRAPPER:
        return _uncached(conversion, value)
    if kind is types.BuiltinFunctionType:
        note_method(value.__self__, value.__name__)
        return _served(conversion, value, is_package=False) if conversion.options.serves else value
    is_known = conversion.options.serves and is_stood_in_for(value)  # asked first: a number may be of two classes
    is_object = is_known and not isinstance(value, type | types.ModuleType) and callable(value)
    return substitute_of(value) if is_object else value


def _closure(conversion: Conversion, function: Function) -> Function:
    """Return a closure of this package with copies in its cells; itself if no cell changes."""
    if function.__module__ is None or function.__module__.partition(".")[0] != "primsplit" or not function.__closure__:
        return function
    if id(function) in conversion.closures:
        known: Function = conversion.closures[id(function)][1]
        return known
    conversion.closures[id(function)] = function, function  # for a closure that holds itself
    cells = []
    for cell in function.__closure__:
        held = content(cell)
        new = _held(conversion, held)
        cells.append(cell if new is held else types.CellType(new))
    if all(a is b for a, b in zip(cells, function.__closure__, strict=True)):
        return function
    copied = remember_origin(function_like(function, cells=cells), function)
    conversion.closures[id(function)] = function, copied
    return copied


def _held(conversion: Conversion, held: Any) -> Any:
    """Return the value of a cell in a copy of this package's code."""
    if isinstance(held, FunctionLike):
        return held
    if conversion.changed(type(held), "__call__") is not None:
        return Called(conversion, held)
    return lifted(conversion, held)


class Called:
    """A callable object of the user's, whose `__call__` is a copy."""

    def __init__(self, conversion: Conversion, value: Any) -> None:
        self._conversion, self._value = conversion, value

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._conversion.changed(type(self._value), "__call__")(self._value, *args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._value, name)


def _uncached(conversion: Conversion, cached: Any) -> Any:
    """Return a cached function that bypasses its cache where arguments, or what the function reads, are traced.

    The user's cache would keep the traced result for later calls.
    """
    function = cached.__wrapped__  # read here: a copy of `call` has a copy of `cached`, which has no such attribute
    inner = callee(conversion, function, is_package=False)

    def call(*args: Any, **options: Any) -> Any:
        read = objects_met((function, args, options))
        return (inner if any(map(holds_traced, read)) else cached)(*args, **options)

    return call


def _dispatched(conversion: Conversion, function: Any) -> Callable[..., Any]:
    """Return a function of `functools.singledispatch` that calls copies of its implementations."""

    def call(*args: Any, **options: Any) -> Any:
        first = numpys_class(args[0]) if args and isinstance(args[0], Array) else type(args[0]) if args else object
        chosen = function.dispatch(first)
        return callee(conversion, chosen, is_package=False)(*args, **options)

    return call


def _constructor(conversion: Conversion, kind: Any, *, is_package: bool) -> Any:
    """Return a function that creates an instance of a class by copies of the methods that do it."""
    if type(kind).__call__ is not type.__call__ or not kind.__flags__ & HEAP:
        return _calling(conversion, kind, is_package=is_package) if kind in _CALLING else kind
    new, init = kind.__new__, kind.__init__
    new_copy, init_copy = conversion.method(new), conversion.changed(kind, "__init__")
    if init_copy is None and _is_of_dataclass(kind, init):
        init_copy = _initialized(conversion, kind)
    if new_copy is new and init_copy is None:
        return _calling(conversion, kind) if kind is np.vectorize else kind

    def make(*args: Any, **options: Any) -> Any:
        instance = new(kind) if new is object.__new__ else new_copy(kind, *args, **options)
        if isinstance(instance, kind):
            (init_copy or kind.__init__)(instance, *args, **options)
        return instance

    return make


def _is_of_dataclass(kind: type, init: Any) -> bool:
    is_generated = type(init) is Function and is_written_by_python(init.__code__)
    return is_generated and dataclasses.is_dataclass(kind) and hasattr(kind, "__post_init__")


def _initialized(conversion: Conversion, kind: Any) -> Any:
    """Return the generated `__init__` of a dataclass with the copy of `__post_init__`; None if it has no copy."""
    behind = conversion.changed(kind, "__post_init__")
    if behind is None:
        return None
    signature = inspect.signature(origin(kind.__init__))
    is_frozen = kind.__dataclass_params__.frozen
    put = object.__setattr__ if is_frozen else conversion.changed(kind, "__setattr__") or setattr

    def init(instance: Any, *args: Any, **options: Any) -> None:
        bound = signature.bind(instance, *args, **options).arguments
        init_only = []
        for field in kind.__dataclass_fields__.values():
            if field._field_type is dataclasses._FIELD_CLASSVAR:  # type: ignore[attr-defined]
                continue
            if field.name in bound:
                value = bound[field.name]
            elif field.default is not dataclasses.MISSING and field.init:
                value = field.default
            elif field.default_factory is not dataclasses.MISSING:
                value = field.default_factory()
            else:
                continue
            if field._field_type is dataclasses._FIELD_INITVAR:  # type: ignore[attr-defined]
                init_only.append(value)
            else:
                put(instance, field.name, value)
        behind(instance, *init_only)

    return init
