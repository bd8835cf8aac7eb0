"""Writes of one side to lists, dictionaries and objects: noted, undone after the side, and told."""

from collections.abc import Iterator

import numpy as np
import pytest

from primsplit import tracing
from primsplit.frontends.python.conversion.journal import Change, Journal
from primsplit.ir.errors import PrimsplitError
from primsplit.tracing.branching.paths import NotJoined

AT = ("model.py", 5)


class Tank:
    """Plain attributes."""

    def __init__(self) -> None:
        self.level, self.spilled = 1.0, [0.0]


@pytest.fixture
def noted() -> Iterator[Journal]:
    with tracing.fresh_stack(), tracing.recording():
        yield Journal(AT, lambda _: True, lambda _: [])


def test_writes_to_lists_dictionaries_and_objects_are_undone_and_told(noted: Journal) -> None:
    numbers, table, tank = [1.0, 2.0], {"a": 1, "b": 2}, Tank()
    for owner in (numbers, table):
        noted.note(owner)
    noted.note(tank, "level")
    numbers[1], table["c"], tank.level = 5.0, 3, 0.25
    numbers.append(6.0)
    noted.undo()
    assert (numbers, table, tank.level) == ([1.0, 2.0], {"a": 1, "b": 2}, 1.0)
    after = {id(c.owner): c.after for c in noted.changes}
    assert after[id(numbers)] == {0: 1.0, 1: 5.0, 2: 6.0}
    assert after[id(table)] == {"a": 1, "b": 2, "c": 3}
    assert after[id(tank)]["level"] == 0.25


def test_what_is_noted_twice_is_undone_to_its_first_content(noted: Journal) -> None:
    numbers = [1.0]
    noted.note(numbers)
    numbers[0] = 2.0
    noted.note(numbers)
    numbers[0] = 3.0
    noted.undo()
    assert numbers == [1.0]


def test_a_change_tells_the_values_that_are_other_objects() -> None:
    same = [0.0]
    change = Change([], {0: same, 1: [2.0], 2: "kept"}, {0: same, 1: [2.0], 2: "kept", 3: "more"})
    assert [k for k, _ in change.values()] == [1, 3]


def test_what_the_side_made_itself_is_no_change(noted: Journal) -> None:
    noted.note([1.0])
    noted.undo()
    assert noted.changes == []


def test_writes_to_known_arrays_and_to_what_is_no_container_are_refused(noted: Journal) -> None:
    with pytest.raises(PrimsplitError, match="NumPy array is written to in one branch"):
        noted.note(np.zeros(3))
    with pytest.raises(NotJoined, match="writes to what is no traced array, list"):
        noted.note({1, 2})
