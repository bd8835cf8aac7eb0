"""Joins frozen dataclasses, which are values like tuples, field by field."""

import dataclasses
import types
from collections.abc import Iterator
from typing import Any

from primsplit.frontends.python.conversion.journal import open_at
from primsplit.tracing.branching.paths import NotJoined


def is_record(value: Any) -> bool:
    """Whether a value is a frozen dataclass that holds its fields, and nothing else."""
    kind = type(value)
    is_frozen = dataclasses.is_dataclass(kind) and vars(kind).get("__dataclass_params__", _NEVER).frozen
    return is_frozen and {*getattr(value, "__dict__", ())} <= {f.name for f in dataclasses.fields(kind)}


_NEVER = types.SimpleNamespace(frozen=False)


def fields_of(record: Any) -> list[Any]:
    """Return the values of the fields of a frozen dataclass."""
    return [getattr(record, field.name) for field in dataclasses.fields(record)]


def only_holds(kind: Any) -> bool:
    """Whether a class is a dataclass whose construction stores its arguments, and does nothing else."""
    if not isinstance(kind, type) or not dataclasses.is_dataclass(kind) or type(kind) is not type:
        return False
    methods = {name: getattr(kind, name) for name in ("__init__", "__setattr__")}
    is_pythons = all(f is object.__setattr__ or f.__code__.co_filename.startswith("<") for f in methods.values())
    factories: Iterator[Any] = (f.default_factory for f in dataclasses.fields(kind))
    is_plain = kind.__new__ is object.__new__ and not hasattr(kind, "__post_init__")
    return is_pythons and is_plain and all(m in {dataclasses.MISSING, list, dict} for m in factories)


def replacing(function: Any) -> Any:
    """Return the function to call in place of `replace`.

    On a side, `dataclasses.replace` raises NotJoined for a class that is not `only_holds`.
    """
    return _replaced if function is dataclasses.replace else function


def _replaced(record: Any, /, **changes: Any) -> Any:
    at = open_at()
    if at is not None and not only_holds(type(record)):
        raise NotJoined(at, "it makes a dataclass that does more than to hold its fields")
    return dataclasses.replace(record, **changes)
