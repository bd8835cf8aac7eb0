"""Substitutes for functions of SciPy that call a user's function, if that returns traced values.

The function passed to a root finder is often a lambda that reads traced values around it, which no argument shows.
SciPy's own function is therefore called first, without branches. Only where it asks a traced value for a number is the
substitute called.
"""

from collections.abc import Callable
from typing import Any

from primsplit import tracing
from primsplit.frontends.python.overrides.table import Substitute
from primsplit.ir.errors import ConcretizationError, PrimsplitError
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import holds_traced

Function = Callable[..., Any]

SOLVERS: dict[str, dict[str, Function]] = {}
"""By module and name what stands in for a function."""


def let_solve(module: str, name: str, traced: Function) -> None:
    """Let `traced` stand in for a function of a module of SciPy's that calls functions of the user's."""
    SOLVERS.setdefault(module, {})[name] = traced


def is_asked(error: BaseException) -> bool:
    """Whether a function of SciPy's failed since it asked a traced value for a number."""
    return isinstance(error, ConcretizationError) or isinstance(error.__cause__, ConcretizationError)


class _TracedResult(Exception):
    """A function that SciPy calls returned a traced value."""


class _Watched:
    """A function of the user's, and whether it gave anything traced, or failed since something was."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.is_traced = False

    def __call__(self, *args: Any, **options: Any) -> Any:
        try:
            found = self.function(*args, **options)
        except PrimsplitError:
            self.is_traced = True
            raise
        if any(isinstance(leaf, Array) for leaf in trees.flatten(found)[0]):
            self.is_traced = True
            raise _TracedResult  # before SciPy's extension modules print that they cannot convert it
        return found


def solving(original: Function, traced: Function) -> Substitute:
    """A substitute for a function that calls a user's function, its first argument."""

    def call(*args: Any, **options: Any) -> Any:
        if not args or any(map(holds_traced, (*args, *options.values()))):
            return traced(*args, **options)
        if not callable(args[0]):
            return original(*args, **options)
        watched = _Watched(args[0])
        try:
            with tracing.recording(explores=False):
                found = original(watched, *args[1:], **options)
        except Exception as error:
            # The extension modules of SciPy hide what was raised inside of the function.
            if not watched.is_traced and not is_asked(error):
                raise
            return traced(*args, **options)
        return traced(*args, **options) if watched.is_traced else found

    return Substitute(original, call)
