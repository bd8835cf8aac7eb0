"""Whether a function may come to a part of a library, by the names that it reads and the objects that it meets."""

import types
from collections.abc import Callable, Iterator
from typing import Any

from primsplit.caching.fingerprint import is_library, names_read, objects_met


def reads_library(run: Callable[..., Any], is_named: Callable[[str], bool]) -> bool:
    """True where a name that `run` reads, or that of a module, class or function that it meets, is one of these."""
    return any(is_named(name) for met in objects_met(run) for name in _names(met))


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
