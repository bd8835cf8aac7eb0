"""Returns an `Either` from a function to callers that test which of its things it holds."""

import types
from typing import Any

from primsplit.frontends.python.conversion.either import Either, settled
from primsplit.frontends.python.conversion.holders import is_rewritten
from primsplit.frontends.python.converter.operators import OPERATORS
from primsplit.tracing.call_stack import frame_out


class _Taken:
    """A function whose caller tests which of several things it returns."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.function(*args, **named)


def taken(called: Any) -> Any:
    """Return the function to call; if its file is rewritten, it may return an `Either`."""
    called = OPERATORS[False].called(called)
    function = called.__func__ if isinstance(called, types.MethodType) else called
    is_plain = isinstance(function, types.FunctionType)
    return _Taken(called) if is_plain and is_rewritten(function.__code__) else called


def returned(value: Any) -> Any:
    """Return the result of a function.

    Raises NotJoined for an `Either` if the caller does not test which thing it holds.
    """
    value = settled(value)
    if type(value) is Either:
        caller = frame_out(2)
        if caller.f_code is not _Taken.__call__.__code__:
            raise value.refusal()
    return value
