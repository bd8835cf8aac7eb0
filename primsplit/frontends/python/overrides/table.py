"""The table of substitutes for functions of libraries."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

from primsplit.numpy.converted_run import is_converted
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import holds_traced
from primsplit.tracing.handles.methods import called

Function = Callable[..., Any]


class Substitute:
    """A function or object of a library, or what stands in for it in converted functions.

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

    `own` are those for attributes that are no objects of their own, such as methods.
    """

    def __init__(self, original: Any, own: Mapping[str, Any] | None = None) -> None:
        self.original = original
        self.own = dict(own or {})

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.original, name)
        return self.own.get(name, found) if is_converted() else found

    def __dir__(self) -> list[str]:
        return dir(self.original)

    def __repr__(self) -> str:
        return repr(self.original)


_substitutes: dict[int, Any] = {}
originals = _substitutes.keys()
"""The ids of what has a substitute."""
_kept: list[Any] = []
"""The originals, so that no other object gets their place in memory."""


def register(original: Any, substitute: Any) -> None:
    """Let `substitute` stand in for a library's module, function or object."""
    _substitutes[id(original)] = substitute
    _kept.append(original)


def substitute_of(value: Any) -> Any:
    """Substitutes for a library's module, function or object; the value itself where nothing does."""
    return _substitutes.get(id(value), value)


def is_stood_in_for(value: Any) -> bool:
    """True for a library's module, function or object that has a substitute."""
    return id(value) in _substitutes


def is_function(value: Any) -> bool:
    """True for a function or object that has a substitute, False for a module."""
    return is_stood_in_for(value) and not isinstance(_substitutes[id(value)], ModuleSubstitute)


methods: dict[tuple[type, str], tuple[Any, Any]] = {}
"""Methods of a library's classes, by class and name: what each is, and what stands in for it."""
_of_methods: dict[int, Any] = {}
"""By the `id` of a method's function what stands in for it."""


def substitute_of_method(function: Any) -> Any:
    """The function that stands in for a method of a library's class; None if nothing does."""
    return _of_methods.get(id(function))


IMMUTABLE = 1 << 8
"""The flag of CPython's types whose attributes cannot be set (Py_TPFLAGS_IMMUTABLETYPE)."""


def register_method(owner: type, name: str, traced: Function) -> None:
    """Let `traced` stand in for a method of a library's class, its base classes' too, where an argument is traced.

    A class that has no such method in this version of the library, or is compiled and keeps its own, is left alone.
    """
    holder = next((c for c in owner.__mro__ if name in vars(c)), None)
    if holder is None or holder.__flags__ & IMMUTABLE or (holder, name) in methods:
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
    """True for a traced array, and for lists and tuples with one in them."""
    return isinstance(value, Array) or (isinstance(value, list | tuple) and any(map(holds_array, value)))


def is_unknown(value: Any) -> bool:
    """True for a traced array whose elements only the run knows, and for lists and tuples with one in them."""
    if isinstance(value, Array):
        return value.known() is None
    return any(map(is_unknown, value)) if isinstance(value, list | tuple) else holds_traced(value)


def when_unknown(original: Function, traced: Function) -> Substitute:
    """Substitutes for a function of NumPy's arrays, which known ones are: all that has another form is unknown."""

    def call(*args: Any, **options: Any) -> Any:
        is_traced = any(map(is_unknown, (*args, *options.values())))
        return (traced if is_traced else original)(*args, **options)

    return Substitute(original, call)


def when_traced(
    original: Function, traced: Function, known: Function | None = None, owner: str = "primsplit"
) -> Substitute:
    """Substitutes for a function that only traced arguments make another of.

    `known` is done to its own results, and is given the arguments too. `owner` is the module that registers it.
    """

    def call(*args: Any, **options: Any) -> Any:
        if any(map(holds_traced, (*args, *options.values()))):
            return called(traced, original, args, options)
        found = original(*args, **options)
        return found if known is None else known(found, (args, options))

    return Substitute(original, call, owner)
