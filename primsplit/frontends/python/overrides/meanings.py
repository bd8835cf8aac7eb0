"""Maps values to their meanings in a function that is run again: substitutes of libraries' functions, and tables."""

import functools
import types
from collections.abc import Mapping
from typing import Any

import numpy as np

from primsplit.frontends.python.overrides.builtin import BUILTINS
from primsplit.frontends.python.overrides.classes import standing_in
from primsplit.frontends.python.overrides.plain_arrays import tabled
from primsplit.frontends.python.overrides.table import ModuleSubstitute, methods, substitute_of

MAY_MEAN_ANOTHER = frozenset({np.ndarray, tuple, functools.partial, types.MethodType, types.FunctionType})
"""The classes of what may mean something else without being registered itself."""


def builtin(names: Mapping[str, Any]) -> Mapping[str, Any]:
    """What Python's functions and classes of numbers mean in a module with these names."""
    return {**BUILTINS, **standing_in(names)}


def meaning(value: Any) -> Any:
    """The substitute of a value, a bound method or partial, or of the arrays in a tuple; else the value itself."""
    if type(value) is np.ndarray:
        return tabled(value)
    if type(value) is tuple:
        return tuple(map(tabled, value)) if any(type(v) is np.ndarray for v in value) else value
    if type(value) is functools.partial and (function := substitute_of(value.func)) is not value.func:
        return functools.partial(function, *value.args, **value.keywords)
    return _bound(value) if type(value) is types.MethodType else substitute_of(value)


def _bound(method: types.MethodType) -> Any:
    owner = substitute_of(method.__self__)
    if isinstance(owner, ModuleSubstitute):
        return owner.own.get(method.__name__, method)
    found = next((substitute for original, substitute in methods.values() if original is method.__func__), None)
    return method if found is None else types.MethodType(found, method.__self__)
