"""Carry a Python exception through a run: as the text of a node that fails, and as an error that `except` catches.

A path that ends in `raise Negative("x")` becomes a node that fails, whose remark is `raises Negative: x`. The run then
raises a RunError that is a Negative too, with its arguments and attributes.
"""

import builtins
import copy
import datetime
import enum
import types
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePath
from typing import Any, TypeVar

import numpy as np

from primsplit.ir.errors import RunError

E = TypeVar("E", bound=BaseException)

RAISES = "raises "
"""The prefix of the remark of a node that stands for an error of the program."""


class Reason(str):
    """The remark of a node that stands for an error: a text that also holds its class, arguments and attributes."""

    __slots__ = ("arguments", "attributes", "cause", "error_class")
    error_class: type[BaseException] | None
    arguments: tuple[Any, ...]
    attributes: Mapping[str, Any]
    cause: BaseException | None

    @classmethod
    def of(cls, error: BaseException) -> "Reason":
        """Return the reason for an error. Only what holds no traced value is kept: numbers, texts, lists of them.

        Another argument is replaced by a text that says so. Of a group its errors are kept too, and of `raise X from Y`
        the cause Y, without their tracebacks.
        """
        reason = cls(f"{RAISES}{type(error).__name__}: {error}".removesuffix(": "))
        reason.error_class = type(error)
        reason.arguments = _arguments(error)
        reason.attributes = _attributes(error)
        reason.cause = _cause(error)
        return reason

    @classmethod
    def told(cls, text: str, classes: Mapping[str, type[BaseException]] | None = None) -> "Reason":
        """Return the reason that a file's text names; its class is one of `classes`, or one of Python's or NumPy's."""
        name, _, message = text.removeprefix(RAISES).partition(": ")
        reason = cls(text)
        reason.error_class = (classes or {}).get(name) or _known_class(name)
        reason.arguments, reason.attributes, reason.cause = (message,) if message else (), {}, None
        return reason


def _fields(error: BaseException) -> dict[str, Any]:
    """Return the attributes that Python's classes keep outside of `__dict__`: `errno`, `StopIteration.value`."""
    kinds = [kind for kind in type(error).__mro__ if kind.__module__ == "builtins" and kind not in _PLAINEST]
    names = [n for kind in kinds for n, field in vars(kind).items() if isinstance(field, _FIELD)]
    return {name: value for name in names if (value := getattr(error, name, None)) is not None}


_FIELD = (types.MemberDescriptorType, types.GetSetDescriptorType)
_PLAINEST = frozenset({BaseException, object, BaseExceptionGroup})
"""Classes whose fields are set otherwise: arguments, the cause, the errors of a group."""


def _slots(error: BaseException) -> dict[str, Any]:
    """Return the attributes that the error's classes keep in `__slots__`."""
    names = [slots for kind in type(error).__mro__ if (slots := vars(kind).get("__slots__"))]
    each = (name for slots in names for name in ((slots,) if isinstance(slots, str) else slots))
    return {name: getattr(error, name) for name in each if hasattr(error, name)}


def _arguments(error: BaseException) -> tuple[Any, ...]:
    """Return what an error is made of: its arguments, or a group's message and copies of its errors.

    Nothing is kept of a group with an error that cannot be copied.
    """
    if isinstance(error, ExceptionGroup):
        with suppress(Exception):  # a user's class may refuse with any error
            return error.message, [_copied(each) for each in error.exceptions]
        return ()
    return tuple(_kept(argument) for argument in error.args)


def _kept(argument: Any) -> Any:
    """Return a copy of an argument, or a text in place of one that may hold a traced value."""
    if _is_plain(argument):
        return copy.deepcopy(argument)
    if isinstance(argument, str):  # the text of a traced value, which refuses to be compared
        return str.__str__(argument)
    shown = type(argument).__name__
    with suppress(Exception):  # a user's class may refuse with any error
        shown = str.__str__(repr(argument))
    return f"<{shown[:_SHOWN]}: numbers of the run are not kept>"


_SHOWN = 200
"""The most characters of the `repr` of an argument that is not kept; the text in its place holds them."""


def _copied(error: E) -> E:
    """Return an error of the same class with the plain arguments and attributes, whose `__init__` does not run."""
    arguments = _arguments(error)
    copied = type(error).__new__(type(error), *arguments)
    _set(copied, {"args": arguments, **_attributes(error), "__cause__": _cause(error)})
    return copied


def _cause(error: BaseException) -> BaseException | None:
    """Return a copy of what the error was raised from; None where it cannot be copied."""
    if error.__cause__ is not None:
        with suppress(Exception):  # a user's class may refuse with any error
            return _copied(error.__cause__)
    return None


def _attributes(error: BaseException) -> dict[str, Any]:
    """Return the plain attributes of an error."""
    attributes = {**vars(error), **_slots(error), **_fields(error)}
    return {name: copy.deepcopy(value) for name, value in attributes.items() if _is_plain(value)}


_PLAIN = (bool, int, float, complex, str, bytes, type(None), range, Decimal, Fraction)
_PLAIN_KINDS = (np.generic, np.dtype, enum.Enum, PurePath, datetime.date, datetime.timedelta)
_HOLDERS = (tuple, list, set, frozenset)


def _is_plain(value: Any) -> bool:
    """Whether the value, through and through, is of classes that cannot hold a traced one."""
    if type(value) is dict:
        return all(map(_is_plain, (*value.keys(), *value.values())))
    if type(value) in _HOLDERS:
        return all(map(_is_plain, value))
    if type(value) is np.ndarray:
        return not value.dtype.hasobject
    return type(value) in _PLAIN or isinstance(value, _PLAIN_KINDS)


def _known_class(name: str) -> type[BaseException] | None:
    found = np.linalg.LinAlgError if name == "LinAlgError" else vars(builtins).get(name)
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


def run_error(reason: Reason, what: str, because: tuple[str, ...] = (), *, base: type[RunError] = RunError) -> RunError:
    """Return the error of a run that failed for this reason: of the class `base`, and of the reason's own.

    If no class can derive from both, the nearest ancestor of the reason's class with which one can takes its place: a
    class may refuse by its layout or its metaclass. Classes that are no Exception, such as SystemExit, are left out.
    """
    for error_class in () if reason.error_class is None else reason.error_class.__mro__:
        if not issubclass(error_class, Exception) or issubclass(base, error_class):
            break
        with suppress(Exception):  # a user's class may refuse with any error
            error = _joined(base, error_class, reason.arguments)
            error.fill(what, because=because)
            _set(error, {n: copy.deepcopy(v) for n, v in reason.attributes.items() if n not in error.__dict__})
            error.__cause__ = reason.cause
            return error
    return base(what, because=because)


def run_error_like(error_class: type[Exception], what: str, because: tuple[str, ...] = ()) -> RunError:
    """Return a RunError that is also of the class that NumPy raises for the same numbers."""
    return run_error(Reason.told(f"{RAISES}{error_class.__name__}"), what, because)


def _joined(base: type[RunError], error_class: type[BaseException], arguments: tuple[Any, ...]) -> RunError:
    """Return an error of both classes.

    The user's `__new__`, `__init__` and `__setattr__`, which may want other arguments or refuse, do not run, nor does
    `__init_subclass__`, which may count the classes.
    """
    bases = (_Silent, base, error_class)
    joined = types.new_class(base.__name__, bases, exec_body=lambda names: names.update(_MEMBERS))
    solid: type = joined
    while solid.__module__ != "builtins" and solid.__base__ is not None:
        solid = solid.__base__
    error: RunError = solid.__new__(joined, *arguments)
    error.args = arguments
    return error


class _Silent:
    """The first base of a joint class: `__init_subclass__` of the others is not called."""

    def __init_subclass__(cls, **named: object) -> None:
        pass


def _reduce(error: RunError) -> Any:
    """Return what pickle stores: both classes, since the joint one has no name to import."""
    _, base, error_class = type(error).__bases__
    return _unpickled, (base, error_class, error.args, {**error.__dict__, **_slots(error), **_fields(error)})


def _unpickled(
    base: type[RunError], error_class: type[BaseException], arguments: tuple[Any, ...], attributes: Mapping[str, Any]
) -> RunError:
    error = _joined(base, error_class, arguments)
    _set(error, attributes)
    return error


def _set(error: BaseException, attributes: Mapping[str, Any]) -> None:
    for name, value in attributes.items():
        object.__setattr__(error, name, value)  # a frozen dataclass refuses


_FIELDS = dict.fromkeys(("what", "place", "because", "cure", "tape"))
"""Class attributes that hide properties of the user's class with these names."""
_MEMBERS = {
    **_FIELDS,
    "__init__": lambda error, *arguments, **named: None,
    "__reduce__": _reduce,
    "__setattr__": object.__setattr__,
    "__module__": RunError.__module__,
}


FOLDED = "it is a number of the file's computation, which went into other numbers too when the file was written"
"""Why an initializer in a file of primsplit's cannot be a weight: other numbers were computed from it already."""
