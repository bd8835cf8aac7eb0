"""Registers a user's own function in place of a library's, for traced arguments: `stands_in_for`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.frontends.python.overrides.libraries import register_scipys
from primsplit.frontends.python.overrides.table import (
    Substitute,
    register,
    substitute_of,
    when_traced,
)
from primsplit.ir.errors import RuleError
from primsplit.tracing.places import user_place
from primsplit.tracing.registering import OWN, check_takes_arguments_of, claim, module_of

Function = Callable[..., Any]


def stands_in_for(original: Function, *, replace: bool = False) -> Callable[[Function], Function]:
    """Register a function that is called in place of a library's if an argument is traced.

    It is for functions that NumPy does not dispatch: compiled ones, and those that need the number of an argument. A
    traced function that fails because it calls one is converted, and then calls the decorated function with the same
    arguments. Calls with plain arguments reach the original as always, in every thread. Raises RuleError for a function
    that traced values reach by themselves (see `implements`), for a substitute with other parameters, and if another
    module has registered one, unless `replace` is True.

    >>> import statistics
    >>> @extend.stands_in_for(statistics.fmean)
    ... def fmean(data, weights=None):
    ...     return np.average(np.stack(data), weights=weights)
    >>> ps.grad(lambda x: statistics.fmean([x[0], x[1]]))(np.zeros(2)).tolist()
    [0.5, 0.5]
    """
    name = getattr(original, "__name__", repr(original))
    if isinstance(original, np.ufunc | type(np.sum)):
        why = f"{name} asks its arguments for a form of their own"
        raise RuleError(why, place=user_place(), cure=f"Give it one: extend.implements({name}).")

    def stand_in(traced: Function) -> Function:
        check_takes_arguments_of(original, name, traced, "substitute")
        register_scipys()
        known = substitute_of(original)
        was = None if known is original else known.owner if isinstance(known, Substitute) else OWN
        claim("substitute", name, was, module_of(traced), replace=replace)
        register(original, when_traced(original, traced, owner=module_of(traced)))
        return traced

    return stand_in
