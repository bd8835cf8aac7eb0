"""Map a traced array's methods to NumPy's functions, and list the functions whose result is an array and no number."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import MethodType
from typing import Any, Generic, TypeVar

import numpy as np

from primsplit import tracing
from primsplit.tracing.call_stack import frame_out

KEEPING = frozenset({
    np.conjugate, np.reshape, np.squeeze, np.transpose, "astype", "copy", "reshape", "transpose", "view"
})  # fmt: skip
"""Functions and methods that turn a number into a number, and an array without axes into an array."""

ARRAYS = frozenset({
    np.array, np.asanyarray, np.asarray, np.ascontiguousarray, np.asfortranarray, np.astype, np.broadcast_arrays,
    np.broadcast_to, np.conjugate, np.copy, np.cov, np.empty_like, np.full_like, np.moveaxis, np.ones_like,
    np.piecewise, np.real, np.real_if_close, np.reshape, np.resize, np.roll, np.select, np.squeeze, np.swapaxes,
    np.tensordot, np.transpose, np.where, np.zeros_like, "astype", "copy", "reshape", "transpose", "view",
})  # fmt: skip
"""Functions and methods whose result without axes is an array; of all others it is a number."""

METHODS: dict[str, Any] = {
    "all": np.all, "any": np.any, "argmax": np.argmax, "argmin": np.argmin, "argpartition": np.argpartition,
    "argsort": np.argsort, "astype": "astype", "choose": np.choose, "clip": np.clip, "compress": "compress",
    "conj": np.conjugate, "conjugate": np.conjugate, "copy": "copy", "cumprod": np.cumprod, "cumsum": np.cumsum,
    "diagonal": np.diagonal, "dot": np.dot, "fill": "fill", "flatten": "flatten", "max": np.max, "mean": np.mean,
    "min": np.min, "nonzero": np.nonzero, "partition": "partition_in_place", "prod": np.prod, "put": np.put,
    "ravel": np.ravel, "repeat": np.repeat, "reshape": "reshape", "round": np.round, "searchsorted": np.searchsorted,
    "sort": "sort_in_place", "squeeze": np.squeeze, "std": np.std, "sum": np.sum, "swapaxes": np.swapaxes,
    "take": np.take, "trace": np.trace, "transpose": "transpose", "var": np.var, "view": "view",
}  # fmt: skip


_Result = TypeVar("_Result")


class ArrayMethod(Generic[_Result]):
    """A method of arrays that numbers lack: `hasattr(x[0], "__len__")` is False."""

    def __init__(self, function: Callable[[Any], _Result]) -> None:
        self.function = function

    def __get__(self, array: Any, owner: type) -> Callable[[], _Result]:
        # Python looks the method up in the same way for `iter(x)`, which would go on with x[0] and find no element.
        if array.is_number() and tracing.is_attribute_asked(frame_out(1)):
            raise AttributeError(f"a number has no {self.function.__name__}")
        return MethodType(self.function, array)


def called(implementation: Callable[..., Any], function: Any, args: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Call the implementation of a function, whose first argument may be passed by NumPy's name: `np.pad(array=x)`."""
    if not args and (first := _first_name(function)) in options:
        return implementation(options[first], **{n: v for n, v in options.items() if n != first})
    return implementation(*args, **options)


@functools.lru_cache(4096)
def _first_name(function: Any) -> str:
    """Return the name of the first parameter; "" if it has none."""
    try:
        first = next(iter(inspect.signature(function).parameters.values()))
    except (ValueError, TypeError, StopIteration):
        return ""
    return first.name if first.kind is first.POSITIONAL_OR_KEYWORD else ""
