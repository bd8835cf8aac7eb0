"""What objects hold: their attributes, and what Python's own objects without attributes hold besides."""

import array
import collections
import contextvars
import ctypes
import types
import weakref
from collections.abc import Iterator
from typing import Any

from primsplit.ir.dispatching import undispatched

C_DATA: tuple[Any, ...] = (ctypes._SimpleCData, ctypes._Pointer, ctypes.Array, ctypes.Structure, ctypes.Union)
"""The classes of what ctypes has in C's memory."""

HOLDING: tuple[type, ...] = (
    *C_DATA, collections.deque, types.MappingProxyType, type({}.keys()), type({}.values()), type({}.items()), bytearray,
    memoryview, array.array, contextvars.ContextVar, weakref.ref,
)  # fmt: skip
"""Python's own objects without attributes that hold what may change."""


def held_in(value: Any) -> list[Any]:
    """What such an object holds now."""
    if isinstance(value, bytearray | memoryview | array.array):
        return [bytes(value)]
    if isinstance(value, C_DATA):
        kept_alive = value._objects
        return [memoryview(value).tobytes(), kept_alive, getattr(value, "__dict__", None)]
    if isinstance(value, types.MappingProxyType):
        return [*value.keys(), *value.values()]
    if isinstance(value, contextvars.ContextVar):
        return [value.get(None)]
    if isinstance(value, weakref.ref):
        return [value()]
    return list(value)


def attributes(value: Any) -> dict[str, Any] | None:
    """The attributes that an object holds, in its dictionary and its slots; None where it has neither."""
    held = getattr(value, "__dict__", None)
    if held is None and not any(any(_slots(kind)) for kind in type(value).__mro__):
        return None
    return {**members(value), **(held or {})}


def attribute_of(value: Any, name: str) -> Any:
    """An attribute of any object, None where it has none; a `__getattr__` of the user's is not run."""
    return None if hasattr(type(value), "__getattr__") else getattr(value, name, None)


def function_in(member: Any) -> Any:
    """The function of a property, a method, a static or a class method; any other object itself."""
    if isinstance(member, property):
        return undispatched(member.fget)
    is_method = isinstance(member, staticmethod | classmethod | types.MethodType)
    return undispatched(member.__func__ if is_method else member)


def is_written_by_python(code: types.CodeType) -> bool:
    """True for the code of a method that Python wrote, of a dataclass for example."""
    return code.co_filename.startswith("<") and code.co_name.startswith("__") and code.co_name.endswith("__")


def members(value: Any) -> dict[str, Any]:
    """The attributes that an object holds in its slots."""
    slots = [n for kind in type(value).__mro__ for n in _slots(kind)]
    return {n: getattr(value, n) for n in slots if hasattr(value, n)}


def held_by(value: Any) -> list[Any]:
    """The attributes of an object by name and value, as they are now."""
    held = attributes(value) or {}
    return [*held, *held.values()]


def _slots(kind: type) -> Iterator[str]:
    slots = vars(kind).get("__slots__", ())
    for name in (slots,) if isinstance(slots, str) else slots:
        if name not in {"__dict__", "__weakref__"}:
            private = name.startswith("__") and not name.endswith("__")
            yield f"_{kind.__name__.lstrip('_')}{name}" if private else name
