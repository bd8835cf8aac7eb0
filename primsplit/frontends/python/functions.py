"""Makes function objects that differ from another one in their code, their global names or their cells."""

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
    """Return a function with this code, these global names and these cells, and all else of another function.

    Its attributes are those of the other: the dictionary is shared.
    """
    code = function.__code__ if code is None else code
    names = function.__globals__ if names is None else names
    closure = function.__closure__ if cells is None else tuple(cells)
    made = Function(code, names, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__dict__ = function.__dict__
    made.__qualname__, made.__module__, made.__doc__ = function.__qualname__, function.__module__, function.__doc__
    annotated = "__annotate__" if hasattr(function, "__annotate__") else "__annotations__"
    setattr(made, annotated, getattr(function, annotated))
    return made
