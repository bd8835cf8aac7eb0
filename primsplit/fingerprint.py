"""What a function's behaviour depends on besides its arguments: its code and the values it reads.

A cached program is as old as this fingerprint: changing a closed-over number, a default, a global that the function
or a function that it calls reads, or an attribute of an object that it holds, traces it again.
"""

import functools
import hashlib
import types
from typing import Any

import numpy as np

DEPTH = 12


def fingerprint(function: Any) -> Any:
    """A hashable value that changes whenever what the function reads changes."""
    return _of(function, {}, DEPTH)


def _of(value: Any, seen: dict[int, int], depth: int) -> Any:
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | type | types.ModuleType):
        return (type(value), repr(value) if isinstance(value, float | complex) else value)
    if isinstance(value, np.ndarray):
        return ("array", value.dtype.str, value.shape, hashlib.blake2b(value.tobytes(), digest_size=16).digest())
    if isinstance(value, np.generic):
        return ("number", value.dtype.str, value.tobytes())
    if id(value) in seen:
        return ("seen", seen[id(value)])
    seen[id(value)] = len(seen)
    return ("deep", id(value)) if depth == 0 else _inside(value, seen, depth - 1)


def _inside(value: Any, seen: dict[int, int], depth: int) -> Any:
    if isinstance(value, types.FunctionType):
        return _function(value, seen, depth)
    if isinstance(value, types.MethodType):
        return ("method", _of(value.__self__, seen, depth), _of(value.__func__, seen, depth))
    if isinstance(value, functools.partial):
        return ("partial", *(_of(v, seen, depth) for v in (value.func, value.args, value.keywords)))
    if isinstance(value, dict):
        return ("dict", tuple((_of(k, seen, depth), _of(v, seen, depth)) for k, v in value.items()))
    if isinstance(value, list | tuple | set | frozenset):
        items = tuple(_of(v, seen, depth) for v in value)
        return (type(value), frozenset(items) if isinstance(value, set | frozenset) else items)
    attributes = getattr(value, "__dict__", None)
    if attributes is None or isinstance(value, types.BuiltinFunctionType | np.ufunc):
        return ("object", type(value), id(value))
    return ("instance", type(value), _of(dict(attributes), seen, depth))


def _function(function: types.FunctionType, seen: dict[int, int], depth: int) -> Any:
    module = function.__module__ or ""
    if module.split(".")[0] in {"numpy", "scipy"}:
        return ("library", module, function.__qualname__)
    cells = [_cell(c) for c in function.__closure__ or ()]
    names = _names(function.__code__)
    read = [(n, function.__globals__[n]) for n in sorted(names) if n in function.__globals__]
    return (
        "function",
        function.__code__,
        tuple(_of(c, seen, depth) for c in cells),
        _of(function.__defaults__, seen, depth),
        _of(function.__kwdefaults__, seen, depth),
        tuple((n, _of(v, seen, depth)) for n, v in read),
        _of(function.__dict__, seen, depth) if function.__dict__ else None,
    )


def _cell(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _names(code: types.CodeType) -> set[str]:
    """The global names that the code, and the functions inside it, may read."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names(constant)
    return found
