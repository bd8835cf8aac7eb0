"""Tests of `match` patterns that no Python expression states."""

from collections.abc import Sequence
from typing import Any

from primsplit.frontends.python.conversion.holders import held, reached
from primsplit.frontends.python.conversion.identity import given_at
from primsplit.tracing.branching.paths import NotJoined


def matched(value: Any) -> Any:
    """What is matched with patterns. Raises NotJoined where a joined statement gave it, or a part of it."""
    for each in reached([value], held):
        if (at := given_at(each)) is not None:
            raise NotJoined(at, "what it gives a name is matched with a pattern")
    return value


def is_sequence(value: Any, length: int) -> bool:
    """True for what a pattern of so many parts takes."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray) and len(value) == length


_ONE = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


def part(value: Any, kind: Any, place: int) -> Any:
    """The part of an object that a pattern of its class has at a place; of Python's own, the whole."""
    return value if kind in _ONE else getattr(value, kind.__match_args__[place])
