"""Tests of `match` patterns that no Python expression states: Python's own answers."""

from typing import Any

import pytest

from primsplit.frontends.python.conversion.matching import is_sequence, part


@pytest.mark.parametrize(
    ("value", "wanted"),
    [([1, 2], True), ((1, 2), True), (range(2), True), ([1], False), ([1, 2, 3], False), ("ab", False), (b"ab", False),
     (bytearray(2), False), ({1: 2, 3: 4}, False), (2, False)],
)  # fmt: skip
def test_a_sequence_pattern_takes_what_pythons_takes(value: Any, wanted: bool) -> None:
    match value:
        case [_, _]:
            is_pythons = True
        case _:
            is_pythons = False
    assert is_sequence(value, 2) is is_pythons is wanted


def test_a_positional_pattern_names_an_attribute_or_is_the_object_of_pythons_classes() -> None:
    class Place:
        __match_args__ = ("row", "column")
        row, column = 3, 4

    assert (part(Place(), Place, 0), part(Place(), Place, 1)) == (3, 4)
    assert part(2.5, float, 0) == 2.5
    match Place():
        case Place(row, column):
            assert (row, column) == (part(Place(), Place, 0), part(Place(), Place, 1))
