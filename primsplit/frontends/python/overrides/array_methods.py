"""Methods of known NumPy arrays with traced arguments, or with results that the function writes to."""

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
"""The methods that may create a new array."""


def method_of_array(method: Any) -> Callable[..., Any]:
    """Return the function to call in place of a NumPy array's method; the method itself if it needs no substitute."""
    call = _form_of(method.__name__)
    return method if call is None else functools.partial(call, method)


def _form_of(name: str) -> Callable[..., Any] | None:
    if name in _COPYING:
        return _copying
    if name in _WRITING:
        return _writing
    return _making if name in _MAKING else None


def _copying(method: Any, *args: Any, **options: Any) -> Any:
    """Return a copy that traced values can be written to; the array itself if NumPy does not copy it."""
    result = method(*args, **options)
    return result if result is method.__self__ else writable(result)


def _writing(method: Any, *args: Any, **options: Any) -> Any:
    if holds_traced([*args, *options.values()]):
        raise not_made(method.__self__)
    return method(*args, **options)


def _making(method: Any, *args: Any, **options: Any) -> Any:
    if holds_traced([*args, *options.values()]):
        return getattr(writable(method.__self__), method.__name__)(*args, **options)
    result = method(*args, **options)
    return result if options.get("out") is not None else noted(result, (method.__self__,))
