"""Carry a Python exception through a run: as the text of a node that fails, and as an error that `except` catches.

A path that ends in `raise Negative("x")` becomes a node that fails, whose remark is `raises Negative: x`. The run then
raises a RunError that is a Negative too, with its arguments and attributes.
"""

import builtins
import types
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from primsplit.ir.errors import RunError

RAISES = "raises "
"""The prefix of the remark of a node that stands for an error of the program."""


class Reason(str):
    """The remark of a node that stands for an error: a text that also holds its class, arguments and attributes."""

    __slots__ = ("arguments", "attributes", "error_class")
    error_class: type[BaseException] | None
    arguments: tuple[Any, ...]
    attributes: Mapping[str, Any]

    @classmethod
    def of(cls, error: BaseException) -> "Reason":
        """Return the reason for an error. Only plain numbers and texts are kept: the rest may be traced values.

        Of a group its errors are kept too, without their tracebacks.
        """
        reason = cls(f"{RAISES}{type(error).__name__}: {error}".removesuffix(": "))
        reason.error_class = type(error)
        reason.arguments = _arguments(error)
        reason.attributes = _attributes(error)
        return reason

    @classmethod
    def told(cls, text: str, classes: Mapping[str, type[BaseException]] | None = None) -> "Reason":
        """Return the reason that a file's text names; its class is one of `classes`, or one of Python's or NumPy's."""
        name, _, message = text.removeprefix(RAISES).partition(": ")
        reason = cls(text)
        reason.error_class = (classes or {}).get(name) or _known_class(name)
        reason.arguments, reason.attributes = (message,) if message else (), {}
        return reason


_OF_SYSTEM = ("errno", "strerror", "filename")
"""Attributes that an OSError keeps outside of its `__dict__`."""


def _fields(error: BaseException) -> dict[str, Any]:
    return {name: value for name in _OF_SYSTEM if (value := getattr(error, name, None)) is not None}


def _slots(error: BaseException) -> dict[str, Any]:
    """Return the attributes that the error's classes keep in `__slots__`."""
    names = [slots for kind in type(error).__mro__ if (slots := vars(kind).get("__slots__"))]
    each = (name for slots in names for name in ((slots,) if isinstance(slots, str) else slots))
    return {name: getattr(error, name) for name in each if hasattr(error, name)}


def _arguments(error: BaseException) -> tuple[Any, ...]:
    """Return what an error is made of: its plain arguments, or a group's message and copies of its errors.

    Nothing is kept of a group with an error that cannot be copied.
    """
    if isinstance(error, ExceptionGroup):
        with suppress(Exception):  # a user's class may refuse with any error
            return error.message, [_copied(each) for each in error.exceptions]
        return ()
    return tuple(error.args) if all(map(_is_plain, error.args)) else ()


def _copied(error: Exception) -> Exception:
    """Return an error of the same class with the plain arguments and attributes, whose `__init__` does not run."""
    arguments = _arguments(error)
    copied = type(error).__new__(type(error), *arguments)
    copied.args = arguments
    _set(copied, _attributes(error))
    return copied


def _attributes(error: BaseException) -> dict[str, Any]:
    """Return the plain attributes of an error."""
    attributes = {**vars(error), **_slots(error), **_fields(error)}
    return {name: value for name, value in attributes.items() if _is_plain(value)}


_PLAIN = (bool, int, float, complex, str, bytes, np.generic, type(None))


def _is_plain(value: Any) -> bool:
    return (
        all(map(_is_plain, value)) if type(value) is tuple else type(value) in _PLAIN or isinstance(value, np.generic)
    )


def _known_class(name: str) -> type[BaseException] | None:
    found = np.linalg.LinAlgError if name == "LinAlgError" else vars(builtins).get(name)
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


def run_error(reason: Reason, what: str, because: tuple[str, ...] = (), *, base: type[RunError] = RunError) -> RunError:
    """Return the error of a run that failed for this reason: of the class `base`, and of the reason's own.

    If no class can derive from both, the nearest ancestor of the reason's class with which one can takes its place: a
    class may refuse by its layout, its metaclass, or its `__init_subclass__`. Classes that are no Exception, such as
    SystemExit, are left out.
    """
    for error_class in () if reason.error_class is None else reason.error_class.__mro__:
        if not issubclass(error_class, Exception) or issubclass(base, error_class):
            break
        with suppress(Exception):  # a user's class may refuse with any error
            error = _joined(base, error_class, reason.arguments)
            error.fill(what, because=because)
            _set(error, {n: v for n, v in reason.attributes.items() if n not in error.__dict__})
            return error
    return base(what, because=because)


def run_error_like(error_class: type[Exception], what: str, because: tuple[str, ...] = ()) -> RunError:
    """Return a RunError that is also of the class that NumPy raises for the same numbers."""
    return run_error(Reason.told(f"{RAISES}{error_class.__name__}"), what, because)


def _joined(base: type[RunError], error_class: type[BaseException], arguments: tuple[Any, ...]) -> RunError:
    """Return an error of both classes.

    The user's `__new__` and `__init__`, which may want other arguments, do not run.
    """
    joined = types.new_class(base.__name__, (base, error_class), exec_body=lambda names: names.update(_MEMBERS))
    solid: type = joined
    while solid.__module__ != "builtins" and solid.__base__ is not None:
        solid = solid.__base__
    error: RunError = solid.__new__(joined, *arguments)
    error.args = arguments
    return error


def _reduce(error: RunError) -> Any:
    """Return what pickle stores: both classes, since the joint one has no name to import."""
    base, error_class = type(error).__bases__
    return _unpickled, (base, error_class, error.args, {**error.__dict__, **_slots(error), **_fields(error)})


def _unpickled(
    base: type[RunError], error_class: type[BaseException], arguments: tuple[Any, ...], attributes: Mapping[str, Any]
) -> RunError:
    error = _joined(base, error_class, arguments)
    _set(error, attributes)
    return error


def _set(error: BaseException, attributes: Mapping[str, Any]) -> None:
    for name, value in attributes.items():
        setattr(error, name, value)


_FIELDS = dict.fromkeys(("what", "place", "because", "cure", "tape"))
"""Class attributes that hide properties of the user's class with these names."""
_MEMBERS = {
    **_FIELDS,
    "__init__": lambda error, *arguments, **named: None,
    "__reduce__": _reduce,
    "__module__": RunError.__module__,
}


FOLDED = "it is a number of the file's computation, which went into other numbers too when the file was written"
"""Why an initializer in a file of primsplit's cannot be a weight: other numbers were computed from it already."""
