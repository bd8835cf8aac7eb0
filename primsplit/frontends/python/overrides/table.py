"""Defines the table of substitutes for functions of libraries."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

from primsplit.numpy.converted_run import is_converted
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import holds_traced
from primsplit.tracing.handles.methods import called

Function = Callable[..., Any]


class Substitute:
    """A function or object of a library that behaves as `traced` in converted functions, and as `original` elsewhere.

    `owner` is the module that registered it.
    """

    def __init__(self, original: Any, traced: Any, owner: str = "primsplit") -> None:
        self.original = original
        self.traced = traced
        self.owner = owner

    def __call__(self, *args: Any, **options: Any) -> Any:
        return (self.traced if is_converted() else self.original)(*args, **options)

    def __getitem__(self, key: Any) -> Any:
        return (self.traced if is_converted() else self.original)[key]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, self.original)

    def __repr__(self) -> str:
        return repr(self.original)


class ModuleSubstitute:
    """A module or an object whose functions have substitutes.

    `own` are the substitutes for attributes that are no objects of their own, such as methods.
    """

    def __init__(self, original: Any, own: Mapping[str, Any] | None = None) -> None:
        self.original = original
        self.own = dict(own or {})

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.original, name)
        return self.own.get(name, attribute) if is_converted() else attribute

    def __dir__(self) -> list[str]:
        return dir(self.original)

    def __repr__(self) -> str:
        return repr(self.original)


_substitutes: dict[int, Any] = {}
originals = _substitutes.keys()
"""The ids of the objects with a substitute."""
_kept: list[Any] = []
"""The originals, kept alive so that no other object gets their id."""


def register(original: Any, substitute: Any) -> None:
    """Register `substitute` for a library's module, function or object."""
    _substitutes[id(original)] = substitute
    _kept.append(original)


def substitute_of(value: Any) -> Any:
    """Return the substitute for a library's module, function or object; the value itself if there is none."""
    return _substitutes.get(id(value), value)


def is_stood_in_for(value: Any) -> bool:
    """Whether a library's module, function or object has a substitute."""
    return id(value) in _substitutes


def is_function(value: Any) -> bool:
    """Whether a value is a function or object, and no module, that has a substitute."""
    return is_stood_in_for(value) and not isinstance(_substitutes[id(value)], ModuleSubstitute)


methods: dict[tuple[type, str], tuple[Any, Any]] = {}
"""Methods of a library's classes, by class and name: the original and its substitute."""
_of_methods: dict[int, Any] = {}
"""The substitutes by the `id` of a method's function."""


def substitute_of_method(function: Any) -> Any:
    """Return the substitute for a method of a library's class; None if there is none."""
    return _of_methods.get(id(function))


def register_method(owner: type, name: str, traced: Function) -> None:
    """Register `traced` for a method of a library's class or its base class, for calls with a traced argument.

    A class without such a method in this version of the library is left alone.
    """
    holder = next((c for c in owner.__mro__ if name in vars(c)), None)
    if holder is None or (holder, name) in methods:
        return
    original = vars(holder)[name]
    # A class that has the method under several names has one function for all of them.
    if id(original) in _of_methods:
        methods[holder, name] = original, _of_methods[id(original)]
        return

    @functools.wraps(original)
    def call(self: Any, *args: Any, **options: Any) -> Any:
        is_traced = is_converted() and any(map(holds_traced, (*args, *options.values())))
        return (traced if is_traced else original)(self, *args, **options)

    methods[holder, name] = original, call
    _of_methods[id(original)] = call


def holds_array(value: Any) -> bool:
    """Whether a value is a traced array, or a list or tuple that contains one."""
    return isinstance(value, Array) or (isinstance(value, list | tuple) and any(map(holds_array, value)))


def is_unknown(value: Any) -> bool:
    """Whether a value is a traced array with elements known only at run time, or a list or tuple that contains one."""
    if isinstance(value, Array):
        return value.known() is None
    return any(map(is_unknown, value)) if isinstance(value, list | tuple) else holds_traced(value)


def when_unknown(original: Function, traced: Function) -> Substitute:
    """Return a substitute that calls `traced` only if an argument is unknown; known arrays go to NumPy."""

    def call(*args: Any, **options: Any) -> Any:
        is_traced = any(map(is_unknown, (*args, *options.values())))
        return (traced if is_traced else original)(*args, **options)

    return Substitute(original, call)


def when_traced(
    original: Function, traced: Function, known: Function | None = None, owner: str = "primsplit"
) -> Substitute:
    """Return a substitute that calls `traced` if an argument is traced.

    `known` is applied to the original's results, with its arguments. `owner` is the module that registers the
    substitute.
    """

    def call(*args: Any, **options: Any) -> Any:
        if any(map(holds_traced, (*args, *options.values()))):
            return called(traced, original, args, options)
        result = original(*args, **options)
        return result if known is None else known(result, (args, options))

    return Substitute(original, call, owner)
