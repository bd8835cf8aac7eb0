"""Tell which conversion this thread runs: in one, what is called of the user's functions are copies.

The conversion itself is a part of the front end (`frontends/python/converter`). Code of earlier rooms that calls a
method of a user's object asks here for it.
"""

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import CodeType
from typing import Any, Protocol

from primsplit.ir.scoped import Scoped


class Helper:
    """An object that converted code calls; it stands in the constants of the code."""


def is_converted(code: CodeType) -> bool:
    """Whether the code is that of a copy, or of a function inside a copy."""
    return any(isinstance(const, Helper) for const in code.co_consts)


class Converting(Protocol):
    """The part of a conversion that earlier rooms use."""

    def changed(self, kind: type, name: str) -> Any:
        """Return the function to call in place of a special method of a class; None to leave the call to Python."""
        ...


_conversion = Scoped[Any](lambda: None)


def running() -> Any:
    """Return the conversion that this thread runs; None if there is none."""
    return _conversion.value


def run_with(conversion: Converting) -> AbstractContextManager[object]:
    """Let this thread run a conversion inside."""
    return _conversion.set_to(conversion)


def method_of(value: Any, name: str) -> Callable[..., Any]:
    """Return a special method of an object; in a conversion the copy of the user's function."""
    conversion: Converting | None = _conversion.value
    call = None if conversion is None else conversion.changed(type(value), name)
    found: Callable[..., Any] = getattr(value, name) if call is None else functools.partial(call, value)
    return found
