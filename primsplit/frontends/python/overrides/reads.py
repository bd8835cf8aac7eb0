"""Finds the names through which a function may reach a part of a library."""

import types
from collections.abc import Callable, Iterator
from typing import Any

from primsplit.ir.caching.fingerprint import is_library, names_read, objects_met


def names_met(run: Callable[..., Any]) -> set[str]:
    """The names that `run` reads, and those of the modules, classes and functions that it meets."""
    return {name for met in objects_met(run) for name in _names(met)}


def _names(met: Any) -> Iterator[str]:
    kind = met if isinstance(met, type) else type(met)
    yield f"{kind.__module__}.{kind.__qualname__}"
    if isinstance(met, types.ModuleType):
        yield met.__name__
    elif isinstance(met, types.FunctionType):
        yield f"{met.__module__}.{met.__qualname__}"
        if not is_library(met.__module__ or ""):
            yield from names_read(met.__code__)
    else:
        yield f"{getattr(met, '__module__', '')}.{getattr(met, '__name__', '')}"
