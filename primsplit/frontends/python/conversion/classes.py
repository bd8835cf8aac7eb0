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
    """Return `type(value)`; of a value from a joined statement, the class that it has on both sides."""
    value = settled(value)
    if function is not type and function is not BUILTINS["type"]:
        return function(value)
    return _one(value, lambda each: each) if _is_several(value) else _class(value)


def _class(value: Any) -> type:
    """Return the class that Python code sees: NumPy's class in place of a traced array."""
    return numpys_class(value) if type(value) is Array else type(value)


def telling(function: Any) -> Any:
    """Return the function to call in place of `isinstance` or `hasattr`; any other function unchanged.

    It gives one answer for a value from a joined statement, or raises NotJoined.
    """
    original = getattr(function, "original", function)
    if original is not isinstance and original is not hasattr:
        return function

    of_class = original is isinstance  # a converted copy of `asked` gets substitutes for builtins in its cells

    def asked(value: Any, what: Any) -> Any:
        value = settled(value)
        if not _is_several(value):
            # From a library's frame, a traced array would answer with its own class.
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
    """Return the classes that a value may have."""
    if type(value) is Either:
        return frozenset().union(*(_classes(value.things[k]) for k in value.possible()))
    classes = classes_given(value)
    if classes is not None:
        return classes
    return frozenset([_class(value)])


def _one(value: Any, answer: Callable[[type], Any]) -> Any:
    """Return the answer that is the same for all classes of a value. Raises NotJoined if the answers differ."""
    first, *others = {answer(kind) for kind in _classes(value)}
    if others:
        at = value.at if type(value) is Either else given_at(value)
        raise NotJoined(at or ("", 0), "the class of what it gives a name is asked for")
    return first
