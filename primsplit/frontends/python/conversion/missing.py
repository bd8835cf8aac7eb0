"""Stands for the value of a name that has none."""

from typing import Any

from primsplit.frontends.python.conversion.either import Either, settled
from primsplit.tracing.branching.paths import NotJoined


class NotAssigned:
    """What a name holds that a side of the statement at `at` leaves without a value, or with one that no If gives."""

    def __init__(self, at: tuple[str, int], why: str = "a name that it assigns on one side only is read later") -> None:
        self.at, self.why = at, why

    def __bool__(self) -> bool:
        raise NotJoined(self.at, self.why)

    def __eq__(self, other: object) -> bool:
        raise NotJoined(self.at, self.why)

    __hash__ = object.__hash__


def read(value: Any) -> Any:
    """The value of a name that is read. Raises NotJoined where it may have none, or is one of several things."""
    value = settled(told(value))
    if type(value) is Either:
        raise value.refusal()
    return value


def told(value: Any) -> Any:
    """The value of a name that is read to be told from others. Raises NotJoined where it may have none."""
    if is_missing(value):
        raise NotJoined(value.at, value.why)
    return value


def is_missing(value: Any) -> bool:
    """True for what a name holds that has no value."""
    return type(value) is NotAssigned
