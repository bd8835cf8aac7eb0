"""Functions that tell Python's own values from traced ones: joined branches need them written anew, in any file."""

import dis
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

from primsplit.caching.fingerprint import objects_read
from primsplit.tracing import is_library


def functions_that_tell(run: Callable[..., Any]) -> list[types.FunctionType]:
    """The user's functions, among those that this one reads, that ask which object or of what class something is."""
    read = [f for value in objects_read(run) for f in _functions_of(value)]
    return [
        f for f in {id(f): f for f in read}.values() if not is_library(f.__code__.co_filename) and _tells(f.__code__)
    ]


def _functions_of(value: Any) -> Iterator[types.FunctionType]:
    members = vars(value).values() if isinstance(value, type) else (value,)
    for member in members:
        inner = getattr(member, "fget", None) or getattr(member, "__func__", member)
        if isinstance(inner, types.FunctionType):
            yield inner


_ASKING = frozenset({"isinstance", "hasattr", "type", "__class__"})


@functools.lru_cache(maxsize=4096)
def _tells(code: types.CodeType) -> bool:
    """True where the code compares by `is`, matches patterns or asks for classes."""
    if _is_pythons(code):
        return False
    if not _ASKING.isdisjoint(code.co_names):
        return True
    if any(_asks(each.opname) for each in dis.get_instructions(code)):
        return True
    return any(_tells(const) for const in code.co_consts if isinstance(const, types.CodeType))


def _asks(name: str) -> bool:
    return name == "IS_OP" or name.startswith("MATCH_") or name.endswith(("_NONE", "_NOT_NONE"))


def _is_pythons(code: types.CodeType) -> bool:
    """True for a method that Python made, of a dataclass for example."""
    return code.co_filename.startswith("<") and code.co_name.startswith("__") and code.co_name.endswith("__")
