"""Makes functions callable as SciPy's functions of the same name: with SciPy's own signatures and defaults."""

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

from primsplit.tracing.array import unsupported

Function = Callable[..., Any]


def as_scipys(module: str, *grouped: type[Any]) -> Callable[[Function], Function]:
    """Call a function with all arguments of SciPy's function of its name in this module, each by its name.

    Arguments that are fields of a `grouped` NamedTuple come as one, by the name of that class in lower case; what
    SciPy's function does not take is that tuple's default. An argument that the function does not take must have
    SciPy's default: else UnsupportedFunction tells of it.
    """

    def decorate(function: Function) -> Function:
        taken = inspect.signature(function).parameters

        @functools.wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            signature = _signature(module, function.__name__)
            bound = signature.bind(*args, **options)
            bound.apply_defaults()
            given = bound.arguments
            groups = {}
            for group in grouped:
                fields: tuple[str, ...] = group._fields
                groups[group.__name__.lower()] = group(**{name: given.pop(name) for name in fields if name in given})
            for name in [name for name in given if name not in taken]:
                value = given.pop(name)
                if not _is_default(value, signature.parameters[name].default):
                    raise unsupported(f"{module}.{function.__name__} with {name}={value!r}")
            return function(**groups, **given)

        return call

    return decorate


@functools.cache
def _signature(module: str, name: str) -> inspect.Signature:
    return inspect.signature(getattr(sys.modules[module], name))


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (isinstance(value, bool | int | float | str) and value == default)
