"""Find the expression under which a function of the user's holds an array: `w`, `MODEL.layers[0].w`, `params['w1']`."""

import re
from collections import deque
from collections.abc import Collection, Iterator
from itertools import islice
from types import FrameType, FunctionType, ModuleType
from typing import Any

import numpy as np

DEEPEST = 4
"""The most attributes and items in an expression."""
MOST = 64
"""The most objects that are looked into for one array, and the most items of one that are looked at."""
NO_HOLDERS = (str, bytes, int, float, complex, np.ndarray, np.generic, FunctionType, ModuleType)
"""Types of objects that are not looked into."""


def path_to(array: object, frame: FrameType) -> str:
    """Return the shortest expression of a frame that is this array; "" if there is none.

    It begins at a variable of the function, or at a global one that it reads, and goes through attributes that the
    function reads and through items of dicts, lists and tuples. No code of the user's runs.
    """
    read = frame.f_code.co_names
    roots = [*frame.f_locals.items(), *((name, frame.f_globals.get(name)) for name in read)]
    waiting = deque((name, held, 0) for name, held in roots if name.isidentifier())
    seen: set[int] = set()
    while waiting:
        path, held, depth = waiting.popleft()
        if held is array:
            return path
        if isinstance(held, np.ndarray) and _is_transpose(array, held):
            return f"{path}.T"
        if depth < DEEPEST and len(seen) < MOST and not isinstance(held, NO_HOLDERS) and id(held) not in seen:
            seen.add(id(held))
            waiting.extend((path + step, part, depth + 1) for step, part in islice(_parts(held, read), MOST))
    return ""


def _is_transpose(array: object, held: np.ndarray[Any, Any]) -> bool:
    """Whether an array is the transpose of another one: the same memory with its axes the other way round."""
    if type(array) is not np.ndarray or array.base is None or type(held) is not np.ndarray or held.ndim < 2:
        return False
    if array.base is not held and array.base is not held.base:
        return False
    is_turned = array.shape == held.shape[::-1] and array.strides == held.strides[::-1]
    return is_turned and array.dtype == held.dtype and array.ctypes.data == held.ctypes.data


def name_of_path(path: str) -> str:
    """Return a variable's name for an expression: `w` of `self.w`, `w1` of `params['w1']`, `layers_0_w`, `TABLE_T`."""
    words = re.findall(r"\w+", path)
    if len(words) > 1 and path.endswith(".T"):
        return f"{name_of_path(path.removesuffix('.T'))}_T"
    numbered = (i - 1 for i, word in enumerate(words) if i and word.isdecimal())
    return "_".join(words[next(numbered, len(words) - 1) :]) if words else ""


def _parts(held: Any, read: Collection[str]) -> Iterator[tuple[str, Any]]:
    """Yield the items of an object, or its attributes that are read, each with the end of its expression."""
    if isinstance(held, dict):
        yield from ((f"[{key!r}]", part) for key, part in dict.items(held) if isinstance(key, str | int))
    elif isinstance(held, list):
        yield from ((f"[{i}]", part) for i, part in enumerate(list.__iter__(held)))
    elif isinstance(held, tuple):
        yield from ((f"[{i}]", part) for i, part in enumerate(tuple.__iter__(held)))
    else:
        try:
            own = object.__getattribute__(held, "__dict__")
        except AttributeError:
            return
        yield from ((f".{name}", own[name]) for name in read if name in own)
