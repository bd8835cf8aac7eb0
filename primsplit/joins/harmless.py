"""Which calls change nothing: those of functions that compute, and of the user's functions that only do that."""

import ast
import builtins
import cmath
import functools
import inspect
import math
import textwrap
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.array import Array
from primsplit.fingerprint import is_library
from primsplit.joins.statements import Callee, Effects, Refused, effects

Lookup = Callable[[str], Any]

UNKNOWN = object()
"""What is looked up and not known before the statement runs."""

_WRITERS = frozenset(
    {"at", "copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis", "shuffle", "setitem"}
)
"""NumPy's and Python's functions that write to an argument."""
_METHODS = frozenset({
    "all", "any", "argmax", "argmin", "astype", "clip", "conj", "conjugate", "copy", "cumprod", "cumsum", "diagonal",
    "dot", "flatten", "item", "max", "mean", "min", "prod", "ravel", "repeat", "reshape", "round", "squeeze", "std",
    "sum", "swapaxes", "take", "trace", "transpose", "var",
})  # fmt: skip
"""Methods of arrays and numbers that compute."""
_OF_PYTHON = frozenset({
    "abs", "bool", "complex", "divmod", "enumerate", "float", "int", "isinstance", "len", "max", "min", "pow", "range",
    "reversed", "round", "sum", "tuple", "zip",
})  # fmt: skip
_MODULES = frozenset({"numpy", "scipy", math.__name__, cmath.__name__})


def is_harmless(callee: Callee, lookup: Lookup, callers: frozenset[types.CodeType] = frozenset()) -> bool:
    """True for a call that changes nothing but what it returns. `lookup` gives what a name means at the statement.

    `callers` are the functions of the user's that it is called from: one that calls itself is not looked through.
    """
    first, *rest = callee
    owner = lookup(first) if first else UNKNOWN
    if owner is UNKNOWN:
        return len(rest) == 1 and rest[0] in _METHODS
    for name in rest[:-1]:
        owner = getattr(owner, name, None)
    if not rest:
        return _computes(owner, first, callers)
    if isinstance(owner, Array | np.ndarray | np.generic | int | float | complex):
        return rest[-1] in _METHODS
    return _module(owner) in _MODULES and _computes(getattr(owner, rest[-1], None), rest[-1], callers)


def may_be_given(value: Any, callers: frozenset[types.CodeType] = frozenset()) -> bool:
    """True for what may be handed on to a harmless call: no iterator, and nothing that does more when it is called."""
    if hasattr(type(value), "__next__"):
        return False
    if isinstance(value, types.FunctionType) and not is_library(value.__module__ or ""):
        return _is_harmless_function(value, callers)
    if not callable(value) or isinstance(
        value, Array | type | np.ufunc | types.FunctionType | types.BuiltinFunctionType
    ):
        return True
    return hasattr(value, "original")


def _computes(function: Any, name: str, callers: frozenset[types.CodeType]) -> bool:
    """True for a function that writes to nothing that it did not make."""
    if isinstance(function, types.FunctionType) and not is_library(function.__module__ or ""):
        return _is_harmless_function(function, callers)
    if getattr(builtins, name, None) is getattr(function, "original", function):
        return name in _OF_PYTHON
    return name not in _WRITERS and _module(function) in _MODULES


def _module(value: Any) -> str:
    """The top package that a module or function is of."""
    value = getattr(value, "original", value)
    name = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    if isinstance(value, np.ufunc):
        return "numpy"
    return (name or "").partition(".")[0]


@functools.lru_cache(maxsize=4096)
def _effects_of(code: types.CodeType) -> Effects | None:
    """What a function's statements do; None where that may be more than to give values to its own names."""
    try:
        (node,) = ast.parse(textwrap.dedent(inspect.getsource(code))).body
        if not isinstance(node, ast.FunctionDef) or node.decorator_list:
            return None
        found = effects(node.body, returns=True)
    except (OSError, TypeError, SyntaxError, ValueError, Refused):
        return None
    return None if found.written or not found.assigned <= {*code.co_varnames, *code.co_cellvars} else found


def _is_harmless_function(function: types.FunctionType, callers: frozenset[types.CodeType]) -> bool:
    """True for a function of the user's whose statements give values to its own names, and whose calls are harmless."""
    code = function.__code__
    found = _effects_of(code)
    if found is None or code in callers:
        return False
    own = {*code.co_varnames, *code.co_cellvars, *found.inner}
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))

    def lookup(name: str) -> Any:
        if name in own:
            return UNKNOWN
        return cells[name].cell_contents if name in cells else meaning(name, function.__globals__)

    inside = callers | {code}
    given = (lookup(name) for name in found.handed)
    return all(v is UNKNOWN or may_be_given(v, inside) for v in given) and all(
        is_harmless(c, lookup, inside) for c in found.calls
    )


def meaning(name: str, names: dict[str, Any]) -> Any:
    """What a name of a module means there; UNKNOWN for one that it does not have."""
    return names.get(name, getattr(builtins, name, UNKNOWN))
