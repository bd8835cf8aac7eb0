"""Notes the writes of functions in C, such as `setattr(a, "n", 1)`, `heappush(a, 1)`; `print` prints a text once."""

import functools
import io
import math
import operator
import random
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from primsplit.frontends.python.overrides.arrays import place_of_out
from primsplit.frontends.python.overrides.plain_arrays import noted
from primsplit.numpy.indexing import rows_shuffled
from primsplit.tracing.array import Array
from primsplit.tracing.saved_state import CONTAINERS
from primsplit.tracing.undo_log import may_print, note, note_attribute, note_method

_ATTRIBUTES: tuple[Any, ...] = (
    setattr, delattr, object.__setattr__, object.__delattr__, type.__setattr__, type.__delattr__,
)  # fmt: skip
_ELEMENTS: tuple[Any, ...] = (
    operator.setitem, operator.delitem, operator.iadd, operator.iconcat, operator.imul, operator.isub, operator.ior,
    operator.iand, operator.ixor, operator.itruediv, operator.ifloordiv, operator.imod, operator.ipow,
    operator.imatmul, operator.ilshift, operator.irshift, random.shuffle,
)  # fmt: skip
_DESCRIPTORS = (types.MethodDescriptorType, types.WrapperDescriptorType)
_OF_LISTS = frozenset({"heapq", "_heapq", "bisect", "_bisect"})


def changing_first(called: Any) -> Callable[..., Any] | None:
    """Return a function that notes the first argument before the call; None if the call changes no argument."""
    if type(called) in _DESCRIPTORS and issubclass(called.__objclass__, CONTAINERS):
        return functools.partial(_with_owner, called)
    return _CHANGING.get(id(called))


def _with_owner(called: Any, owner: Any, *args: Any, **options: Any) -> Any:
    note_method(owner, called.__name__)
    return called(owner, *args, **options)


def _with_attribute(called: Any, owner: Any, name: Any, *value: Any) -> Any:
    if isinstance(name, str):
        note_attribute(owner, name)
    return called(owner, name, *value)


def _with_container(called: Any, owner: Any, *args: Any) -> Any:
    note(owner)
    return called(owner, *args)


def _printed(*values: Any, file: Any = None, flush: bool = False, **options: Any) -> None:
    """Print the text if no earlier run of the function has printed it."""
    text = io.StringIO()
    print(*values, file=text, **options)
    if may_print((id(file), text.getvalue())):
        print(text.getvalue(), end="", file=file, flush=flush)


_CHANGING: Mapping[int, Callable[..., Any]] = {
    **{id(each): functools.partial(_with_attribute, each) for each in _ATTRIBUTES},
    **{id(each): functools.partial(_with_container, each) for each in _ELEMENTS},
    id(print): _printed,
}
"""The substitutes that note the first argument, by the `id` of a function, which lives as long as Python."""


def note_arguments(called: Any, args: Sequence[Any], options: Mapping[str, Any]) -> None:
    """Note the arguments that a library's function writes to."""
    called = getattr(called, "original", called)
    if args and (getattr(called, "__module__", None) in _OF_LISTS or getattr(called, "__name__", "") == "shuffle"):
        note(args[0])
    _note_all(options.get("out"))
    place = place_of_out(called) if type(called).__hash__ is not None else math.inf
    if len(args) > place:
        _note_all(args[int(place) :] if type(called) is np.ufunc else args[int(place)])


def _note_all(out: Any) -> None:
    """Note the array, or the tuple of arrays, that `out` is."""
    for each in out if isinstance(out, tuple) else (out,):
        note(each)


def noting_outputs(method: Any, call: Callable[..., Any]) -> Callable[..., Any]:
    """Return `call`, which stands for a method of a ufunc or an array, as a function that notes the output before."""
    if method.__name__ == "at":
        return functools.partial(_with_container, call)
    first = _BEFORE_OUT.get(method.__name__, 1)

    def noting(*args: Any, **options: Any) -> Any:
        _note_all(options.get("out"))
        _note_all(tuple(each for each in args[first:] if type(each) is np.ndarray))
        return call(*args, **options)

    return noting


_BEFORE_OUT = {"accumulate": 3, "clip": 2, "outer": 2, "reduce": 3, "reduceat": 4}
"""The number of arguments of a method that may be arrays beside the output. Other methods have one."""


def of_generator(method: Any) -> Callable[..., Any]:
    """Return a method of a random generator that notes the arguments which it may write to, and its new arrays."""

    def call(*args: Any, **options: Any) -> Any:
        for each in (*args, *options.values()):
            note(each)
        if method.__name__ == "shuffle" and any(isinstance(a, Array) and a.ndim > 1 for a in args):
            raise rows_shuffled()
        return noted(method(*args, **options), (args, options))

    return call
