"""Returns one of several things from a function to callers that ask which one it is."""

import sys
import types
from typing import Any

from primsplit.frontends.python.conversion.either import Either, settled
from primsplit.frontends.python.conversion.holders import is_rewritten
from primsplit.frontends.python.converter.operators import OPERATORS


class _Taken:
    """A function whose caller asks which of several things it returns."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.function(*args, **named)


def taken(called: Any) -> Any:
    """What is called, so that it may return one of several things where its file is rewritten."""
    called = OPERATORS[False].called(called)
    function = called.__func__ if isinstance(called, types.MethodType) else called
    is_plain = isinstance(function, types.FunctionType)
    return _Taken(called) if is_plain and is_rewritten(function.__code__) else called


def returned(value: Any) -> Any:
    """What a function returns. Raises NotJoined for one of several things where its caller does not ask which."""
    value = settled(value)
    if type(value) is Either:
        caller = sys._getframe(1).f_back
        if caller is None or caller.f_code is not _Taken.__call__.__code__:
            raise value.refusal()
    return value
