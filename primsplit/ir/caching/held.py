"""List what objects hold: attributes, slots, and the contents of Python's own objects that have neither."""

import array
import collections
import contextvars
import ctypes
import types
import weakref
from collections.abc import Iterator
from typing import Any

C_DATA: tuple[Any, ...] = (ctypes._SimpleCData, ctypes._Pointer, ctypes.Array, ctypes.Structure, ctypes.Union)
"""The classes of the ctypes objects whose data lie in C's memory."""

HOLDING: tuple[type, ...] = (
    *C_DATA, collections.deque, types.MappingProxyType, type({}.keys()), type({}.values()), type({}.items()), bytearray,
    memoryview, array.array, contextvars.ContextVar, weakref.ref,
)  # fmt: skip
"""Classes of Python's own objects that have no attributes and whose contents may change."""


def held_in(value: Any) -> list[Any]:
    """Return what an instance of a class in HOLDING holds now."""
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
    """Return the attributes that an object holds, in its dictionary and its slots; None if it has neither."""
    held = getattr(value, "__dict__", None)
    if held is None and not any(any(_slots(kind)) for kind in type(value).__mro__):
        return None
    return {**members(value), **(held or {})}


def attribute_of(value: Any, name: str) -> Any:
    """Return an attribute of any object, None if there is none, without running a `__getattr__` of the user's."""
    return None if hasattr(type(value), "__getattr__") else getattr(value, name, None)


def function_in(member: Any) -> Any:
    """Return the function of a property, a method, a static or a class method; any other object itself."""
    if isinstance(member, property):
        return member.fget
    is_method = isinstance(member, staticmethod | classmethod | types.MethodType)
    return member.__func__ if is_method else member


def content(cell: types.CellType) -> Any:
    """Return what a cell holds; None for one that holds nothing."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def is_written_by_python(code: types.CodeType) -> bool:
    """Whether Python itself generated the code of a method, as for a dataclass."""
    return code.co_filename.startswith("<") and code.co_name.startswith("__") and code.co_name.endswith("__")


def members(value: Any) -> dict[str, Any]:
    """Return the attributes that an object holds in its slots."""
    slots = [n for kind in type(value).__mro__ for n in _slots(kind)]
    return {n: getattr(value, n) for n in slots if hasattr(value, n)}


def held_by(value: Any) -> list[Any]:
    """Return the names of an object's attributes, then their values, as they are now."""
    held = attributes(value) or {}
    return [*held, *held.values()]


def is_all_in_dict(value: Any) -> bool:
    """Whether an object holds its attributes in a dictionary alone, which no code of the user's looks up."""
    kinds = type(value).__mro__[:-1]
    is_plain = not any("__getattribute__" in vars(kind) or any(_slots(kind)) for kind in kinds)
    return is_plain and type(getattr(value, "__dict__", None)) is dict


def _slots(kind: type) -> Iterator[str]:
    slots = vars(kind).get("__slots__", ())
    for name in (slots,) if isinstance(slots, str) else slots:
        if name not in {"__dict__", "__weakref__"}:
            private = name.startswith("__") and not name.endswith("__")
            yield f"_{kind.__name__.lstrip('_')}{name}" if private else name
