"""What transforms record is shared by those that are made alike of one function, as in `ps.grad(f)(x)` in a loop."""

import threading
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, ClassVar

from primsplit.ir.caching.fingerprint import Same
from primsplit.ir.caching.limited import Recent
from primsplit.ir.caching.once import Turns
from primsplit.tracing.functionlike import FunctionLike, name_in_module

Recorded = tuple[Callable[..., Any], Recent[Any, Any], threading.Lock, Turns]
"""What is recorded, the programs by what they were recorded for, and what threads wait for that use them."""
KEPT = 64
"""So many of the latest transforms are kept for others that are made alike."""


class _Latest:
    lock = threading.Lock()
    found: ClassVar[Recent[Any, Recorded]] = Recent(KEPT)


def alike(of: Any, options: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    """What is equal for transforms that are made with the same options of one function, or of others made alike.

    None where nothing is to be shared: what is kept is kept for a while, and a function may be made for a moment, with
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
    """What the first of those made alike records into; its own for the first."""
    with _Latest.lock:
        found = _Latest.found.used(key) or own
        _Latest.found[key] = found
    return found
