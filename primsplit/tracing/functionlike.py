"""What a function is besides being called: a method of the class it stands in, and pickled and copied by its name."""

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

    It is pickled by the name that its module has it under, or else by what it was made of, which another process makes
    it of again. A copy is made so too: one of an object that holds its own method's gradient holds that of the copy's.
    What it has recorded stays behind.
    """

    origin: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]] | None = None
    alike: Any = None
    """What is equal for those that were made alike; None where they share nothing."""

    @property
    def called(self) -> tuple[Callable[..., Any], ...] | None:
        """The functions that a call calls, which does nothing else but to compute; None where it may do more."""
        return None

    def was_made(self, make: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Keep of what it was made."""
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
    """The name under which the object is found in the module that it says; None where that has another, or none."""
    name = getattr(made, "__qualname__", "")
    module = sys.modules.get(getattr(made, "__module__", None) or "")
    try:
        return name if name and attrgetter(name)(module) is made else None
    except AttributeError:
        return None


def unbound(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of which a `functools.partial` holds some arguments; another function itself."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def remade(make: Callable[Parameters, Made]) -> Callable[Parameters, Made]:
    """Let what this function returns be made again by calling it with the same arguments."""

    @functools.wraps(make)
    def making(*args: Parameters.args, **named: Parameters.kwargs) -> Made:
        made = make(*args, **named)
        made.was_made(making, args, named)
        return made

    return making


def name_of(function: Callable[..., Any]) -> str:
    """The name of a function; of functools.partial that of what it calls, of another object that of its class."""
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def positional_names(function: Callable[..., Any], count: int | None = None) -> list[str]:
    """What the parameters are called that may be passed by position; of a Program the inputs, in a call of `count`."""
    named = getattr(inspect.unwrap(function), "argument_names", None)
    if named is not None:
        found: list[str] = named(count)
        return found
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
