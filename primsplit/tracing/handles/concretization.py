"""Refuse to turn a traced array into a Python number, size, class or branch, and say what to write instead."""

import builtins
import itertools
import re
import typing
from abc import ABCMeta
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Type
from primsplit.ir.dims import Dim, Size
from primsplit.ir.errors import ConcretizationError, MissingAttribute, NumberAsked
from primsplit.tracing.call_stack import frame_out
from primsplit.tracing.stack import Classes


def literal_size(dim: Dim, what: str) -> int:
    """Return the size, if it is a literal or the arrays of a guard have it. Raises NumberAsked, which names `what`."""
    if isinstance(dim, Size):
        told = Size.told(dim)
        if told is not None:
            return told
        is_counted = _COUNTED.search(dim.text) is not None
        raise NumberAsked(
            f"{what} asks for {'a size' if is_counted else f'the size {dim}'}, which is known only at run time",
            place=tracing.user_place(),
            cure=_instead_of_loop(what) or (_OF_NUMBERS if is_counted else _OF_SIZES),
        )
    return dim


_COUNTED = re.compile(r"[A-Za-z]_\d+\b")
"""Matches names of sizes that a trace creates, which mean nothing to its user."""
_OF_SIZES = (
    "Work on the whole axis at once, loop with ps.scan or ps.fori_loop, or give it a fixed size.",
    "To calculate with it, write x.shape[0].",
)
_OF_NUMBERS = (
    "Work on the whole axis at once, or loop with ps.scan, ps.fori_loop or ps.while_loop.",
    "On arrays, branches='guard' records the numbers that they tell.",
)


def _instead_of_loop(what: str) -> tuple[str, ...]:
    return tracing.as_fori_loop() if what == "iteration" else ()


def length_of(x: Any) -> int:
    """Return `len(x)`. Raises NumberAsked for a symbolic size, TypeError for an array without axes."""
    if not x.shape:
        raise TypeError(f"object of type '{x.dtype}' has no len()" if x.is_number() else "len() of unsized object")
    return literal_size(x.shape[0], "len()")


def rows_of(x: Any) -> Iterator[Any]:
    """Return `iter(x)`. It raises like `length_of`, but at the first element: np.iterable requests none."""
    if not x.shape:
        raise TypeError(f"'{x.dtype}' object is not iterable" if x.is_number() else "iteration over a 0-d array")
    return _asked_rows(x) if isinstance(x.shape[0], Size) else (x[i] for i in range(x.shape[0]))


def _asked_rows(x: Any) -> Iterator[Any]:
    if frame_out(1).f_code.co_name == "_piecewise_dispatcher":
        return  # NumPy looks there for traced arrays, of which it has one
    for i in range(literal_size(x.shape[0], "iteration")):
        yield x[i]


_PYTHONS = {"b": bool, "i": int, "u": int, "c": complex}
"""The class of Python's numbers for a kind of dtype; for all others it is float."""


def numpys_class(x: Any) -> Any:
    """Return the class of the NumPy or Python value that a traced array stands for.

    Raises NumberAsked for a number that is of one class or another.
    """
    several = several_classes(x)
    if several is not None:
        raise NumberAsked(
            f"it depends on the run whether this is {' or '.join(sorted(k.__name__ for k in several.kinds))}",
            place=tracing.user_place(),
            cure="Give both the same class: float(a), np.float64(a).",
        )
    if x.weak and x.shape == ():
        return _PYTHONS.get(x.dtype.kind, float)
    return x.dtype.type if x.is_number() else np.ndarray


def value_of(array: Any) -> Any:
    """Return the Value of a traced array, also outside of its trace; None for a complex one, which has two."""
    return getattr(array, "last_value", None)


def several_classes(value: Any) -> Classes | None:
    """Return the classes of a traced number that may be of several; None for any other value."""
    return tracing.current().classes.get(value_of(value)) if tracing.is_recording() else None


def note_classes(chosen: Any, several: Sequence[Any], at: tuple[str, int] | None = None) -> None:
    """Note that a number is one of several, which may be of several classes; a joined statement `at` chose it."""
    kinds = frozenset[type]().union(*map(_classes_of, several))
    if len(kinds) > 1:
        tracing.current().classes[chosen.value] = Classes(kinds, at)


def note_results(ufunc: np.ufunc, results: Sequence[Any], operands: Sequence[Any]) -> None:
    """Note the classes of what an operator makes of numbers: `a + 1` is an int or a float, as `a` is."""
    several = next((found for o in operands if (found := several_classes(o)) is not None), None)
    if several is None:
        return
    combinations = list(itertools.product(*map(_classes_of, operands)))
    for result in results:
        kinds = frozenset[type]().union(*(_classes_made(ufunc, each, result) for each in combinations))
        if result.is_number() and not all(issubclass(kind, float) for kind in kinds) and len(kinds) > 1:
            tracing.current().classes[result.value] = Classes(kinds, several.at)


def _classes_made(ufunc: np.ufunc, kinds: Sequence[type], result: Any) -> set[type]:
    """Return the classes that an operator's result may have for numbers of these classes."""
    if any(issubclass(kind, np.generic) for kind in kinds):
        return {result.dtype.type}
    if result.dtype == np.bool_:
        return {bool}
    if float in kinds or ufunc is np.true_divide:
        return {float}
    if ufunc is np.power:
        return {int, float}  # a negative exponent makes a float
    return {int}


def _classes_of(value: Any) -> frozenset[type]:
    if isinstance(value, Size):
        return frozenset({int})
    if builtins.type(builtins.type(value)) is not ComparedClass:
        return frozenset({builtins.type(value)})
    known = several_classes(value)
    return frozenset({numpys_class(value)}) if known is None else known.kinds


class ComparedClass(type):
    """The class of Array's class: `type(x) == np.ndarray` would be False, so a comparison raises NumberAsked.

    `isinstance(x, typing.Sized)` would be wrong too: it uses the type of `x` without reading `x.__class__`.
    """

    @property  # type: ignore[misc]  # object's may be written to
    def __class__(cls) -> Any:
        frame = frame_out(1)
        if frame.f_code is _OF_TYPING and frame.f_back is not None:
            given = next((v for v in frame.f_back.f_locals.values() if builtins.type(v) is cls), None)
            if given is not None and tracing.is_asked_by_user(frame):
                _refuse_methods(given, frame.f_locals["self"].__origin__)
        return builtins.type(cls)

    def __eq__(cls, other: object) -> bool:
        _refuse_comparison(tracing.asking_frame())
        return cls is other

    __hash__ = type.__hash__


def _refuse_comparison(frame: FrameType) -> None:
    if tracing.is_recording() and tracing.is_users_own(frame.f_code.co_filename):
        raise NumberAsked(
            "type() of a traced array is compared, which is none of NumPy's classes",
            place=tracing.user_place(),
            cure="Write isinstance(x, np.ndarray).",
        )


_OF_BMAT = np.bmat.__code__
_OF_ABSTRACT = ABCMeta.__instancecheck__.__code__
_OF_TYPING = builtins.type(typing.Sized).__subclasscheck__.__code__


def kind_of(x: Any, frame: FrameType, own: type) -> type:
    """Return `x.__class__` for the frame that reads it: in the user's code NumPy's class, in a library `own`.

    Raises NumberAsked for an abstract class, such as Iterable, that looks for methods: traced arrays have more than
    numbers have. Likewise for np.bmat, which makes None of what it does not know.
    """
    if not tracing.is_asked_by_user(frame):
        if frame.f_code is _OF_BMAT:
            raise NumberAsked("np.bmat asks an array for its elements", place=tracing.user_place())
        return own
    if frame.f_code is _OF_ABSTRACT:
        _refuse_methods(x, frame.f_locals["cls"])
    kind: type = numpys_class(x)
    return kind


def _refuse_methods(x: Any, abstract: type) -> None:
    kind = numpys_class(x)
    if issubclass(builtins.type(x), abstract) and not issubclass(kind, abstract):
        raise NumberAsked(
            f"isinstance(x, {abstract.__name__}) asks for methods, and a traced array has more than {kind.__name__}",
            place=tracing.user_place(),
            because=(f"it is {x.type}",),
            cure="Ask for np.ndim(x), or for isinstance(x, np.ndarray).",
        )


_INSTEAD = {
    "float()": ("Write x.astype(float): a traced number stays traced.",),
    "int()": ("Write x.astype(int): a traced number stays traced.",),
    "complex()": ("Write x + 1j * y: a traced number stays traced.",),
    "an integer index": ("For table[x] write np.take(table, x, axis=0), for a loop of x steps ps.fori_loop.",),
    "a hash": (
        "Give dicts, sets and functools.cache a known key: a place, a name, a number that is no traced value;",
        "or look up outside, as a list of neighbours is made, and pass what is found as an argument.",
    ),
    "the text": (
        "Compare the value, not its text; or return it, and format it outside. What is printed, logged or",
        "raised may hold it.",
    ),
}
"""Advice, by the beginning of the description of the request."""
_CONVERSIONS = ("float()", "int()", "complex()")
"""Requests among these that a library may make for the user."""

_ELSE = (
    "Keep to NumPy's functions of whole arrays, x.astype(np.float64) for np.float64(x), and np.take(table, x, axis=0)",
    "for table[x]; or pass the number as a static argument.",
)


_OF_A_LIBRARY = (
    "Write it with NumPy's functions of whole arrays, or put the line into a function with @ps.primitive and give it",
    "a rule with @ps.rrule; or pass what it computes as an argument.",
)


def no_number(type: Type, what: str) -> NumberAsked:
    """Return the error for a request of the number of a value of this type."""
    instead = next((cure for asked, cure in _INSTEAD.items() if what.startswith(asked)), ())
    called = tracing.called_function() if not instead or what.startswith(_CONVERSIONS) else ""
    instead = () if called else instead
    return NumberAsked(
        f"{what} was asked of a value that is known only at run time",
        place=tracing.user_place(),
        because=(f"it is {type}", *([f"{called} asked for it"] if called else [])),
        cure=instead or (_OF_A_LIBRARY if called else _ELSE),
    )


def missing_attribute(name: str) -> AttributeError:
    """Return the error for an attribute that traced arrays lack: at the user's line if NumPy's arrays have it."""
    if name.startswith("__") or not hasattr(np.ndarray, name):
        return AttributeError(f"a traced array has no attribute {name!r}")
    error = MissingAttribute(
        f"a traced array has no {name}: it is an array without memory",
        place=tracing.user_place(),
    )
    error.again = name in {"device", "flags"}  # which functions of SciPy ask for
    return error


def no_branch(type: Type) -> ConcretizationError:
    """Return the error for a branch if both of its ways cannot be recorded."""
    return ConcretizationError(
        "a branch depends on a value that is known only at run time",
        place=tracing.user_place(),
        because=(f"the condition is {type}",),
        cure=(
            "Use ps.cond, np.where for a choice by elements, ps.while_loop or ps.scan for a loop,",
            "or pass the value as a static Python argument.",
        ),
    )
