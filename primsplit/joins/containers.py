"""Lists and dictionaries of numbers that a joined statement writes to: a copy for each side, and then their choice."""

from collections.abc import Callable, Sequence
from typing import Any

from primsplit.array import Array
from primsplit.joins.harmless import is_reached


def is_container(value: Any) -> bool:
    """True for a list or dictionary."""
    return type(value) is list or type(value) is dict


def values_of(container: Any) -> list[Any]:
    """What the container holds."""
    return [*container.values()] if type(container) is dict else [*container]


def is_shared(container: Any, others: Sequence[Any]) -> bool:
    """True where what else the statement reads may show the container."""
    return any(is_reached(container, other) for other in others)


def chosen(container: Any, sides: Sequence[Any], found: Any, is_same: Callable[[Any, Any], bool]) -> str | None:
    """Give a container the values that it has after the statement; why that may not be, where it may not.

    `sides` are its copies after each side, `found` the values that the If gives.
    """
    keys = list(_keys(container))
    if any(list(_keys(side)) != keys for side in sides):
        return "it gives a list or dictionary another length"
    for key in keys:
        first, *others = [side[key] for side in sides]
        if all(is_same(first, other) for other in others):
            container[key] = first
        elif found is None or any(type(v) is Array and not v.is_number() for v in (first, *others)):
            return "it writes what is no number into a list or dictionary"
        else:
            container[key] = found[key]
    return None


def _keys(container: Any) -> Any:
    return container.keys() if type(container) is dict else range(len(container))
