"""Find code that may call `type(x)`, which does not return NumPy's class in a first run: a second run must answer."""

from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

from primsplit import tracing
from primsplit.ir.caching.fingerprint import objects_met, package_of
from primsplit.ir.errors import NumberAsked, Place


def classes_asked(run: Callable[..., Any]) -> tuple[NumberAsked, frozenset[str]] | None:
    """Return the error for the first place that may call `type`, and the packages that may; None if none may.

    Such a place is in a function of the user's that `run` reads, whether it records anything or not: a table of
    functions by class is looked up before one of them is called. In packages it is in the callables, such as
    dispatchers.
    """
    asking = [(place, package) for met in objects_met(run) for place, package in _asking(met)]
    if not asking:
        return None
    error = NumberAsked(
        "type() of a traced array is none of NumPy's classes",
        place=asking[0][0],
        cure="Write isinstance(x, np.ndarray).",
    )
    return error, frozenset(package for _, package in asking if package)


def _asking(met: Any) -> Iterator[tuple[Place, str]]:
    if isinstance(met, FunctionType):
        codes, package = [met.__code__], ""
        if not tracing.is_users_own(met.__code__.co_filename):
            return
    else:
        package = package_of(type(met).__module__)
        codes = _called_by(type(met)) if package else []
    for code in codes:
        if (line := tracing.line_with_type(code)) is not None:
            yield Place(code.co_filename, line, code.co_name), package


def _called_by(kind: type) -> list[CodeType]:
    """Return the code that runs when an object of the class is called: `__call__`, and the methods that it names."""
    call = next((vars(base)["__call__"] for base in kind.__mro__ if "__call__" in vars(base)), None)
    if not isinstance(call, FunctionType):
        return []
    methods = (getattr(kind, name, None) for name in call.__code__.co_names)
    return [call.__code__, *(m.__code__ for m in methods if isinstance(m, FunctionType))]
