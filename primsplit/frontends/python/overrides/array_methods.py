"""Methods of known NumPy arrays that are called with traced arguments, or whose results people write to."""

import functools
from collections.abc import Callable
from typing import Any

from primsplit.frontends.python.overrides.plain_arrays import not_made, noted, writable
from primsplit.tracing.asarray import holds_traced

_COPYING = frozenset({"copy", "astype"})
_WRITING = frozenset({"fill", "itemset", "put", "setfield"})
_MAKING = frozenset({
    "all", "any", "argmax", "argmin", "argsort", "choose", "clip", "compress", "conj", "conjugate", "cumprod", "cumsum",
    "dot", "flatten", "max", "mean", "min", "nonzero", "prod", "ravel", "repeat", "reshape", "round", "searchsorted",
    "std", "sum", "take", "trace", "var",
})  # fmt: skip
"""The methods that may make a new array."""


def method_of_array(method: Any) -> Callable[..., Any]:
    """What is called in place of a method of a NumPy array: the method itself if there is nothing to change."""
    call = _form_of(method.__name__)
    return method if call is None else functools.partial(call, method)


def _form_of(name: str) -> Callable[..., Any] | None:
    if name in _COPYING:
        return _copying
    if name in _WRITING:
        return _writing
    return _making if name in _MAKING else None


def _copying(method: Any, *args: Any, **options: Any) -> Any:
    """A copy, which traced values can be written to; the array itself where NumPy makes none."""
    found = method(*args, **options)
    return found if found is method.__self__ else writable(found)


def _writing(method: Any, *args: Any, **options: Any) -> Any:
    if holds_traced([*args, *options.values()]):
        raise not_made(method.__self__)
    return method(*args, **options)


def _making(method: Any, *args: Any, **options: Any) -> Any:
    if holds_traced([*args, *options.values()]):
        return getattr(writable(method.__self__), method.__name__)(*args, **options)
    found = method(*args, **options)
    return found if options.get("out") is not None else noted(found, (method.__self__,))
