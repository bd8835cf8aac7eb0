"""Call what a user wrote for a rule, and report at its line if it takes other arguments."""

import inspect
from collections.abc import Callable
from typing import Any

from primsplit.ir.errors import RuleError
from primsplit.tracing import defined_at

Function = Callable[..., Any]


def called_with(function: Function, told: str, cure: str, *args: Any, **named: Any) -> Any:
    """Call a function of the user's, and return its result.

    Raises RuleError if its signature, if it has one, takes other arguments.
    """
    try:
        signature = inspect.signature(function, follow_wrapped=False)
    except ValueError:
        return function(*args, **named)
    try:
        signature.bind(*args, **named)
    except TypeError as error:
        raise RuleError(
            f"{told} takes other arguments than it is given: {error}", place=defined_at(function), cure=cure
        ) from None
    return function(*args, **named)
