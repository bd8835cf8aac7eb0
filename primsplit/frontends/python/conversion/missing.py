"""Stands for the value of a name that may be unassigned."""

from typing import Any

from primsplit.frontends.python.conversion.either import Either, settled
from primsplit.tracing.branching.paths import NotJoined


class NotAssigned:
    """The placeholder in a name that a side leaves unassigned, or assigns a value that no If can output.

    `at` is the place of the statement, `why` the reason that an error states when the name is read.
    """

    def __init__(self, at: tuple[str, int], why: str = "a name that it assigns on one side only is read later") -> None:
        self.at, self.why = at, why

    def __bool__(self) -> bool:
        raise NotJoined(self.at, self.why)

    def __eq__(self, other: object) -> bool:
        raise NotJoined(self.at, self.why)

    __hash__ = object.__hash__


def read(value: Any) -> Any:
    """Return the value of a name that is read. Raises NotJoined if it may be unassigned, or one of several things."""
    value = settled(told(value))
    if type(value) is Either:
        raise value.refusal()
    return value


def told(value: Any) -> Any:
    """Return the value of a name, which may be an `Either`. Raises NotJoined if it may be unassigned."""
    if is_missing(value):
        raise NotJoined(value.at, value.why)
    return value


def is_missing(value: Any) -> bool:
    """Whether a value is the placeholder of an unassigned name."""
    return type(value) is NotAssigned
