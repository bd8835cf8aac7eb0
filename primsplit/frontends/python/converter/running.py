"""Runs a converted copy of a function, in which functions that need the number of a traced value have substitutes."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from types import FunctionType
from typing import Any

from primsplit import tracing
from primsplit.frontends.python.conversion.identity import choices_forgotten
from primsplit.frontends.python.converter.calls import lifted
from primsplit.frontends.python.converter.copies import Conversion, Options, converted_source, current, remember_origin
from primsplit.frontends.python.converter.operators import OPERATORS
from primsplit.frontends.python.converter.source import SourceError
from primsplit.frontends.python.overrides.libraries import register_scipys
from primsplit.ir.errors import SpecError
from primsplit.ir.scoped import as_block
from primsplit.numpy.converted_run import running_converted
from primsplit.tracing.functionlike import name_of
from primsplit.tracing.hooks import HOOKS

Run = Callable[..., Any]
Written = frozenset[tracing.Instruction]


def converted(
    run: Run, written: Written, packages: frozenset[str], is_second: bool, *, is_certain: bool = False
) -> AbstractContextManager[Run] | None:
    """Return a context manager that yields a converted copy of `run`; None if it needs no copy.

    It is certain to need one if it calls a function of the user's; then that is copied when it is first called.

    Arrays that NumPy creates at the instructions `written` are traced, as traced values are written to them. Functions
    of the installed `packages` are converted like the user's. In a second run (`is_second`), after a first one failed,
    functions without source are converted too, and all functions that create arrays to write to return traced ones.
    """
    register_scipys()
    around = current()
    conversion = _serving(around, packages, without_source=is_second)
    with conversion.running():
        copied = _copied_later(conversion, run) if is_certain else lifted(conversion, run)
    # Code that is converted already needs no copy to reach substitutes.
    is_needed = copied is not run or (around is not None and not around.options.serves)
    return _running(conversion, copied, written, traces_new=is_second) if is_needed else None


def _copied_later(conversion: Conversion, run: Run) -> Run:
    """Return a function that calls the copy of `run`, which is made then."""

    def copied(*args: Any, **options: Any) -> Any:
        return lifted(conversion, run)(*args, **options)

    later: Any = copied
    return remember_origin(later, run) if isinstance(run, FunctionType) else later


def _serving(around: Conversion | None, packages: frozenset[str], *, without_source: bool) -> Conversion:
    """Return the conversion that this thread runs, or one with substitutes inside of it."""
    is_enough = around is not None and around.options.serves and packages <= around.options.packages
    if around is not None and is_enough and without_source <= around.options.without_source:
        return around
    options = Options(serves=True, packages=packages, without_source=without_source)
    return Conversion.inside(around, OPERATORS, options)


@as_block
def _running(conversion: Conversion, copied: Run, written: Written, *, traces_new: bool) -> Iterator[Run]:
    with conversion.running(), running_converted(written, traces_new=traces_new), choices_forgotten():
        yield copied


HOOKS.converted = converted


def source_of(function: Callable[..., Any]) -> str:
    """Return the source of a function's converted copy. Raises SpecError if its source cannot be read."""
    unwrapped: Any = inspect.unwrap(function)
    unwrapped = getattr(unwrapped, "__func__", unwrapped)
    if not isinstance(unwrapped, FunctionType):
        raise SpecError(
            f"{name_of(function)} has no source in Python",
            place=tracing.user_place(),
            cure="Give a function or a method that is written in Python.",
        )
    try:
        return converted_source(unwrapped, OPERATORS[False])
    except SourceError as error:
        raise SpecError(
            str(error), place=tracing.user_place(), cure="Define the function in a file or in a notebook."
        ) from None


HOOKS.converted_source = source_of
