"""Share recordings between transforms that are made alike from one function, as in `ps.grad(f)(x)` in a loop."""

import threading
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, ClassVar

from primsplit.ir.caching.fingerprint import Same
from primsplit.ir.caching.limited import Recent
from primsplit.ir.caching.once import Turns
from primsplit.tracing.functionlike import FunctionLike, name_in_module

Recorded = tuple[Callable[..., Any], Recent[Any, Any], threading.Lock, Turns]
"""The recording function, the programs by their keys, and the locks for threads that use them."""
KEPT = 64
"""The number of latest transforms that are kept for others that are made alike."""


class _Latest:
    lock = threading.Lock()
    found: ClassVar[Recent[Any, Recorded]] = Recent(KEPT)


def alike(of: Any, options: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    """Return a key that is the same for transforms with the same options of one function, or of others made alike.

    None if nothing is to be shared: what is kept is kept for a while, and a function may be made for a moment, with
    large arrays in its closure or its defaults.
    """
    if isinstance(of, FunctionType):
        function = Same(of) if _is_light(of) else None
    else:
        function = of.alike if isinstance(of, FunctionLike) else None
    given = [*enumerate(options), *sorted((name, value) for name, value in named.items() if value is not of)]
    told = tuple([(name, type(value), value) for name, value in given])
    try:
        hash(told)
    except TypeError:
        return None
    return None if function is None else (function, told)


def _is_light(function: FunctionType) -> bool:
    has_defaults = function.__defaults__ is not None or function.__kwdefaults__ is not None
    return name_in_module(function) is not None or (function.__closure__ is None and not has_defaults)


def shared(key: Any, own: Recorded) -> Recorded:
    """Return the recordings of the first of those made alike; its own for the first."""
    with _Latest.lock:
        found = _Latest.found.used(key) or own
        _Latest.found[key] = found
    return found
