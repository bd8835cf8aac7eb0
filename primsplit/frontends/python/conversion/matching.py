"""Tests of `match` patterns that no Python expression states."""

from collections.abc import Sequence
from typing import Any

from primsplit.frontends.python.conversion.holders import held, reached
from primsplit.frontends.python.conversion.identity import given_at
from primsplit.tracing.branching.paths import NotJoined


def matched(value: Any) -> Any:
    """Return the subject of a `match`. Raises NotJoined if a joined statement returned it, or a part of it."""
    for each in reached([value], held):
        if (at := given_at(each)) is not None:
            raise NotJoined(at, "what it gives a name is matched with a pattern")
    return value


def is_sequence(value: Any, length: int) -> bool:
    """Whether a value matches a sequence pattern with this number of parts."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray) and len(value) == length


_ONE = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


def part(value: Any, kind: Any, place: int) -> Any:
    """Return the part of an object for a positional pattern of its class; for Python's own classes, the object."""
    return value if kind in _ONE else getattr(value, kind.__match_args__[place])
