"""Finds functions of packages that may call `type(x)`, which returns NumPy's class in converted functions only."""

import functools
import types
from collections.abc import Iterator

from primsplit import tracing
from primsplit.ir.caching.fingerprint import package_of

Function = types.FunctionType


@functools.lru_cache(maxsize=4096)
def may_ask_for_classes(function: Function) -> bool:
    """Whether a function of a package, or one of the package that it may call, calls `type(x)`."""
    met, pending = {function.__code__}, [function]
    while pending:
        asked = pending.pop()
        if tracing.line_with_type(asked.__code__) is not None:
            return True
        new = [f for f in _called(asked) if f.__code__ not in met]
        met.update(f.__code__ for f in new)
        pending += new
    return False


def _called(function: Function) -> Iterator[Function]:
    """Yield the functions of the same package whose names the function uses: those of its module and its class."""
    names = function.__globals__
    package = package_of(names.get("__name__", ""))
    owner = names.get(function.__qualname__.partition(".")[0])
    holders = [vars(base) for base in owner.__mro__] if isinstance(owner, type) else []
    for name in function.__code__.co_names:
        for holder in (names, *holders):
            held = holder.get(name)
            function_in = held.__func__ if isinstance(held, staticmethod | classmethod) else held
            if type(function_in) is Function and package_of(function_in.__module__ or "") == package:
                yield function_in
