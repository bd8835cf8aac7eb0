"""Creates function objects that differ from a given one in their code, global names or cells."""

import types
from collections.abc import Sequence
from typing import Any

Function = types.FunctionType


def function_like(
    function: Function,
    *,
    code: types.CodeType | None = None,
    names: dict[str, Any] | None = None,
    cells: Sequence[types.CellType] | None = None,
) -> Function:
    """Return a function with other code, global names or cells, and all other parts of the given function.

    It shares the attribute dictionary of the given function.
    """
    code = function.__code__ if code is None else code
    names = function.__globals__ if names is None else names
    closure = function.__closure__ if cells is None else tuple(cells)
    new = Function(code, names, function.__name__, function.__defaults__, closure)
    new.__kwdefaults__ = function.__kwdefaults__
    new.__dict__ = function.__dict__
    new.__qualname__, new.__module__, new.__doc__ = function.__qualname__, function.__module__, function.__doc__
    annotated = "__annotate__" if hasattr(function, "__annotate__") else "__annotations__"
    setattr(new, annotated, getattr(function, annotated))
    return new
