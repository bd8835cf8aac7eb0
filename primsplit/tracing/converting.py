"""Tell which conversion this thread runs: in one, what is called of the user's functions are copies.

The conversion itself is a part of the front end (`frontends/python/converter`). Code of earlier rooms that calls a
method of a user's object asks here for it.
"""

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol


class Converting(Protocol):
    """The part of a conversion that earlier rooms use."""

    def changed(self, kind: type, name: str) -> Any:
        """Return what is called in place of a special method of a class; None if Python calls the same."""
        ...


class _Thread(threading.local):
    conversion: Any = None


_thread = _Thread()


def running() -> Any:
    """Return the conversion that this thread runs; None if there is none."""
    return _thread.conversion


@contextmanager
def run_with(conversion: Converting) -> Iterator[None]:
    """Let this thread run a conversion inside."""
    before, _thread.conversion = _thread.conversion, conversion
    try:
        yield
    finally:
        _thread.conversion = before


def method_of(value: Any, name: str) -> Callable[..., Any]:
    """Return a special method of an object; in a conversion the copy of the user's function."""
    conversion: Converting | None = _thread.conversion
    call = None if conversion is None else conversion.changed(type(value), name)
    found: Callable[..., Any] = getattr(value, name) if call is None else functools.partial(call, value)
    return found
