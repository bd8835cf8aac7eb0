"""Registers the traced form of a NumPy function or of a compiled ufunc, with the decorator `implements`."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.ir.errors import RuleError
from primsplit.numpy.ufuncs import elementwise
from primsplit.tracing import array
from primsplit.tracing.array import FUNCTIONS
from primsplit.tracing.places import user_place
from primsplit.tracing.registering import check_takes

Function = Callable[..., Any]
DISPATCHED = type(np.sum)
"""Functions that ask their arguments for a form of their own (`__array_function__`)."""


def implements(*functions: Function, replace: bool = False) -> Callable[[Function], Function]:
    """Register what a NumPy function, or a ufunc of any library, records for traced arrays.

    What is decorated takes the function's arguments, and returns what it does; it is written with NumPy's other
    functions. That of a ufunc takes arrays of the dtypes that the ufunc computes in, broadcast nowhere yet; dtypes,
    `out=` and `where=` are seen to. Ufuncs are known by their names. Raises RuleError for a function that asks no
    argument for a form of its own (see `stands_in_for`), for a form of other arguments, and where another module has
    registered one, unless `replace` is True.

    >>> from scipy import special
    >>> @extend.implements(special.powm1)
    ... def powm1(x, y):
    ...     return np.expm1(y * np.log(x))
    >>> float(ps.grad(lambda x: special.powm1(x, 2.0))(1.0))
    2.0
    """
    for function in functions:
        if not isinstance(function, np.ufunc | DISPATCHED) and function not in FUNCTIONS:
            name = getattr(function, "__name__", repr(function))
            raise RuleError(
                f"{name} asks none of its arguments for a form of its own",
                place=user_place(),
                cure=f"Say what stands in for it: extend.stands_in_for({name}).",
            )

    def register(form: Function) -> Function:
        for function in functions:
            _check(function, form)
            if isinstance(function, np.ufunc):
                elementwise(function.__name__, replace=replace)(form)
            else:
                array.implements(function, replace=replace)(form)
        return form

    return register


def _check(function: Any, form: Function) -> None:
    """Raise RuleError for a form that does not take what the function must be given."""
    if isinstance(function, np.ufunc):
        counts = [function.nin]
    else:
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            return
        known = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
        given = [p for p in parameters if p.kind in known]
        counts = [*range(sum(p.default is p.empty for p in given), len(given) + 1)]
    cure = f"It takes the arguments of {function.__name__}."
    check_takes(form, f"the traced form of {function.__name__}", counts, cure=cure)
