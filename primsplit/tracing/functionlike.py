"""FunctionLike: a callable object that behaves like a function as a method, and in pickle and copy."""

import functools
import inspect
import reprlib
import sys
from collections.abc import Callable
from operator import attrgetter
from types import MethodType
from typing import Any, ParamSpec, TypeVar

from primsplit import tracing
from primsplit.ir.errors import SpecError

Parameters = ParamSpec("Parameters")
Made = TypeVar("Made", bound="FunctionLike")


class FunctionLike:
    """A callable object in a function's place.

    It is pickled by its name in its module, or else by the call that constructed it, which another process repeats. A
    copy is made so too: one of an object that holds its own method's gradient holds that of the copy's. What it has
    recorded stays behind.
    """

    origin: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]] | None = None
    alike: Any = None
    """A key that is equal for objects constructed alike; None if they share nothing."""

    @property
    def called(self) -> tuple[Callable[..., Any], ...] | None:
        """The functions that a call calls, if it does nothing but compute; None if it may do more."""
        return None

    def was_made(self, make: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Remember the call that constructed this object."""
        self.origin = make, args, named

    def __get__(self: Any, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> Any:
        name = name_in_module(self)
        if name is not None:
            return name
        if self.origin is None:
            raise TypeError(f"{self!r} can be neither pickled nor copied: no module has it under its name")
        return _made_again, self.origin


def _made_again(make: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    return make(*args, **named)


def name_in_module(made: Any) -> str | None:
    """Return the name under which its module has the object; None if the module has another there, or none."""
    name = getattr(made, "__qualname__", "")
    module = sys.modules.get(getattr(made, "__module__", None) or "")
    try:
        return name if name and attrgetter(name)(module) is made else None
    except AttributeError:
        return None


def unbound(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function inside of a `functools.partial`; any other function itself."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def remade(make: Callable[Parameters, Made]) -> Callable[Parameters, Made]:
    """Let objects that this function returns be constructed again by calling it with the same arguments."""

    @functools.wraps(make)
    def making(*args: Parameters.args, **named: Parameters.kwargs) -> Made:
        made = make(*args, **named)
        made.was_made(making, args, named)
        return made

    return making


def name_of(function: Callable[..., Any]) -> str:
    """Return the name of a function.

    For functools.partial that of its function, for another object that of its class.
    """
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def positional_names(function: Callable[..., Any], count: int | None = None) -> list[str]:
    """Return the names of the parameters that may be passed by position.

    For a Program its inputs, in a call of `count`.
    """
    named = getattr(inspect.unwrap(function), "argument_names", None)
    if named is not None:
        names: list[str] = named(count)
        return names
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD}]


def require_function(given: object) -> None:
    """Raise SpecError for what cannot be called."""
    if not callable(given):
        raise SpecError(
            f"{reprlib.repr(given)} is no function",
            place=tracing.user_place(),
            cure="Give the function itself: ps.grad(f)(x), and not ps.grad(f(x)).",
        )
