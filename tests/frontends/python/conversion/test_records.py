"""Frozen dataclasses as values: which hold their fields alone."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from primsplit.frontends.python.conversion.records import fields_of, is_record, only_holds, replacing


@dataclass(frozen=True)
class Point:
    """Holds its fields, and nothing else."""

    x: float
    y: Any = field(default_factory=list)


@dataclass(frozen=True)
class Checked:
    """Does more when it is made."""

    x: float

    def __post_init__(self) -> None:
        assert self.x >= 0


@dataclass
class Open:
    """May be written to."""

    x: float


@dataclass
class Numbered:
    """Makes a number of its own."""

    x: float
    number: float = field(default_factory=iter([1.0]).__next__)


class Plain:
    """No dataclass."""


def test_a_record_is_a_frozen_dataclass_that_holds_its_fields_alone() -> None:
    with_more = Point(1.0)
    object.__setattr__(with_more, "seen", 1)
    assert [is_record(v) for v in (Point(1.0), Checked(1.0), Open(1.0), with_more, Plain(), Point)] == [
        True, True, False, False, False, False,
    ]  # fmt: skip
    assert fields_of(Point(1.0, (2, 3))) == [1.0, (2, 3)]


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [(Point, True), (Open, True), (Checked, False), (Numbered, False), (Plain, False), (Point(1.0), False)],
)
def test_only_a_dataclass_without_code_of_its_own_merely_holds_its_arguments(kind: Any, wanted: bool) -> None:
    assert only_holds(kind) is wanted


def test_replacing_outside_of_a_side_is_pythons() -> None:
    assert replacing(replace)(Checked(1.0), x=2.0) == Checked(2.0)
    assert replacing(len) is len
