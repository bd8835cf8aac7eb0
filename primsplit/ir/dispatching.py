"""Functions that stand in classes for methods: in one thread they call copies of these, in all others the methods.

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
    """What this thread calls in place of a function; None where it calls the function itself."""

    in_place: Callable[[Function], Function] | None = None


_thread = _Thread()


def dispatcher(function: Any) -> Any:
    """A function that calls this one, or what the running thread has in its place."""

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        in_place = _thread.in_place
        return (function if in_place is None else in_place(function))(*args, **options)

    return call


def _nothing() -> None: ...


_CODE: types.CodeType = dispatcher(_nothing).__code__


def undispatched(value: Any) -> Any:
    """The function that a dispatcher stands for; any other value itself."""
    is_dispatcher = type(value) is Function and value.__code__ is _CODE
    return vars(value)["__wrapped__"] if is_dispatcher else value


def called_by(value: Any) -> Any:
    """What a dispatcher calls in this thread; any other value itself."""
    function = undispatched(value)
    in_place = _thread.in_place
    return function if function is value or in_place is None else in_place(function)


@contextmanager
def dispatching(in_place: Callable[[Function], Function]) -> Iterator[None]:
    """Dispatchers call in this thread what `in_place` gives for their functions."""
    before, _thread.in_place = _thread.in_place, in_place
    try:
        yield
    finally:
        _thread.in_place = before
