"""Answers `isinstance` and the like for a value from a joined branch, with the answer that both sides share."""

from collections.abc import Callable
from typing import Any

from primsplit.frontends.python.conversion.either import Either, settled
from primsplit.frontends.python.conversion.identity import classes_given, given_at
from primsplit.frontends.python.overrides.builtin import BUILTINS, is_instance
from primsplit.frontends.python.overrides.table import Substitute
from primsplit.tracing.array import Array
from primsplit.tracing.branching.paths import NotJoined
from primsplit.tracing.handles.concretization import numpys_class


def class_of(function: Any, value: Any) -> Any:
    """`type(value)`: of what a statement gave, the class that it has on both sides."""
    value = settled(value)
    if function is not type and function is not BUILTINS["type"]:
        return function(value)
    return _one(value, lambda each: each) if _is_several(value) else _class(value)


def _class(value: Any) -> type:
    """The class that Python sees: NumPy's of what a traced array stands for."""
    return numpys_class(value) if type(value) is Array else type(value)


def telling(function: Any) -> Any:
    """What is called by the name of `isinstance` or `hasattr`; both have one answer for what a statement gave."""
    original = getattr(function, "original", function)
    if original is not isinstance and original is not hasattr:
        return function

    of_class = original is isinstance  # a copy of `asked` has a substitute for what it holds of Python's

    def asked(value: Any, what: Any) -> Any:
        value = settled(value)
        if not _is_several(value):
            # Asked from here, a traced array would answer as in a library: with its own class.
            if of_class:
                return is_instance(value, what)
            return hasattr(_class(value) if type(value) is Array else value, what)
        if not of_class:
            return _one(value, lambda kind: hasattr(kind, what))
        kinds = _plain(what)
        return _one(value, lambda kind: issubclass(kind, kinds))

    return asked


def _plain(kinds: Any) -> Any:
    """Return the classes in place of their substitutes."""
    if isinstance(kinds, tuple):
        return tuple(map(_plain, kinds))
    return kinds.original if isinstance(kinds, Substitute) else kinds


def _is_several(value: Any) -> bool:
    return type(value) is Either or classes_given(value) is not None


def _classes(value: Any) -> frozenset[type]:
    """The classes that a value may have."""
    if type(value) is Either:
        return frozenset().union(*(_classes(value.things[k]) for k in value.possible()))
    given = classes_given(value)
    if given is not None:
        return given
    return frozenset([_class(value)])


def _one(value: Any, answer: Callable[[type], Any]) -> Any:
    """The one answer of all classes that a value may have. Raises NotJoined where there are several."""
    first, *others = {answer(kind) for kind in _classes(value)}
    if others:
        at = value.at if type(value) is Either else given_at(value)
        raise NotJoined(at or ("", 0), "the class of what it gives a name is asked for")
    return first
