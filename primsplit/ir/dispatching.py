"""Dispatch a function per thread: one thread calls a copy of it, all others the function itself.

After `Model.energy = dispatcher(Model.energy)`, `model.energy(x)` calls the copy inside of `dispatching(copies.copy)`.
"""

import functools
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Function = types.FunctionType


class _Thread(threading.local):
    """The map from functions to what this thread calls in their place; None to call the functions themselves."""

    in_place: Callable[[Function], Function] | None = None


_thread = _Thread()


def dispatcher(function: Any) -> Any:
    """Return a function that calls this one, or what the running thread has in its place."""

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        in_place = _thread.in_place
        return (function if in_place is None else in_place(function))(*args, **options)

    return call


def _nothing() -> None: ...


_CODE: types.CodeType = dispatcher(_nothing).__code__


def undispatched(value: Any) -> Any:
    """Return the function that a dispatcher stands for; any other value itself."""
    is_dispatcher = type(value) is Function and value.__code__ is _CODE
    return vars(value)["__wrapped__"] if is_dispatcher else value


def called_by(value: Any) -> Any:
    """Return what a dispatcher calls in this thread; any other value itself."""
    function = undispatched(value)
    in_place = _thread.in_place
    return function if function is value or in_place is None else in_place(function)


@contextmanager
def dispatching(in_place: Callable[[Function], Function]) -> Iterator[None]:
    """Let dispatchers in this thread call `in_place(function)` for their function."""
    before, _thread.in_place = _thread.in_place, in_place
    try:
        yield
    finally:
        _thread.in_place = before
