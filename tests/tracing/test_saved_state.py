"""Each saved state gives back what was there when it was made, and can replace what is there now."""

import array
import collections
import random
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from primsplit.tracing import saved_state
from primsplit.tracing.saved_state import Note


class Slotted:
    """An object without a dictionary."""

    __slots__ = ("held",)
    held: Any


class Named:
    """An object with one."""

    total: Any = 1.0


def refilled(owner: Any) -> None:
    """Replace the elements of a container by one other."""
    owner.clear()
    (owner.add if isinstance(owner, set) else owner.append)(7)


CHANGES: dict[str, tuple[Any, Callable[[Any], object]]] = {
    "list": ([1, 2], refilled),
    "set": ({1, 2}, refilled),
    "deque": (collections.deque([1, 2], maxlen=2), refilled),
    "bytearray": (bytearray(b"ab"), refilled),
    "array of Python's": (array.array("d", [1.0, 2.0]), lambda a: a.append(7.0)),
    "dictionary": ({"a": 1}, lambda a: (a.clear(), a.update(b=2))),
    "order of a dictionary": ({"a": 1, "b": 2}, lambda a: a.update(a=a.pop("a"))),
    "ordered dictionary": (collections.OrderedDict(a=1, b=2), lambda a: a.move_to_end("a")),
    "array": (np.ones(2), lambda a: a.fill(7.0)),
    "array of another size": (np.arange(3.0), lambda a: a.resize(5, refcheck=False)),
}


@pytest.mark.parametrize(("owner", "change"), CHANGES.values(), ids=CHANGES)
def test_a_container_gets_its_elements_back(owner: Any, change: Callable[[Any], object]) -> None:
    items = [*owner.items()] if isinstance(owner, dict) else [*owner]
    saved = saved_state.elements_of(owner)
    change(owner)
    assert ([*owner.items()] if isinstance(owner, dict) else [*owner]) != items
    saved.undo()
    assert ([*owner.items()] if isinstance(owner, dict) else [*owner]) == items


def test_a_dictionary_that_did_not_change_is_left_alone() -> None:
    class Watched(dict[str, int]):
        writes = 0

        def __setitem__(self, key: str, value: int) -> None:
            type(self).writes += 1
            super().__setitem__(key, value)

    owner = Watched(a=1)
    keys = iter(owner)
    saved_state.elements_of(owner).undo()
    assert [*keys] == ["a"]  # Python refuses to go on where the dictionary was filled anew
    assert not Watched.writes


def test_an_array_that_lost_the_right_to_be_written_to_is_left_alone() -> None:
    owner = np.zeros(2)
    saved = saved_state.elements_of(owner)
    owner[:] = 1.0
    owner.setflags(write=False)
    saved.undo()
    assert owner.tolist() == [1.0, 1.0]


def test_an_attribute_of_an_object_comes_back_or_goes() -> None:
    owner = Named()
    saved = saved_state.attribute_of(owner, "held")
    owner.held = 1  # type: ignore[attr-defined]
    saved.undo()
    assert not hasattr(owner, "held")
    owner.held = 1  # type: ignore[attr-defined]
    saved = saved_state.attribute_of(owner, "held")
    owner.held = 2  # type: ignore[attr-defined]
    saved.undo()
    assert owner.held == 1  # type: ignore[attr-defined]


def test_an_attribute_of_a_class_comes_back_or_goes() -> None:
    saved, new = saved_state.attribute_of(Named, "total"), saved_state.attribute_of(Named, "new")
    Named.total, Named.new = 2.0, 3.0  # type: ignore[attr-defined]
    saved.undo()
    new.undo()
    assert Named.total == 1.0
    assert not hasattr(Named, "new")
    new.undo()  # there is nothing to delete


def test_a_slot_comes_back_or_is_emptied() -> None:
    owner = Slotted()
    empty = saved_state.Descriptor(owner, Slotted.__dict__["held"])
    empty.undo()  # there is nothing to delete
    owner.held = 1
    saved = saved_state.Descriptor(owner, Slotted.__dict__["held"])
    owner.held = 2
    saved.undo()
    assert owner.held == 1
    empty.undo()
    assert not hasattr(owner, "held")


def test_a_shared_name_comes_back_or_goes() -> None:
    cell = types.CellType()
    empty = saved_state.Cell(cell)
    empty.undo()  # there is nothing to delete
    cell.cell_contents = 1
    saved = saved_state.Cell(cell)
    cell.cell_contents = 2
    saved.undo()
    assert saved_state.contents(cell) == [1]
    empty.undo()
    assert saved_state.contents(cell) == []


def holders() -> list[tuple[Note, Callable[[], Any]]]:
    """Return each kind of state that holds values, with what its owner holds now. All hold the text "old"."""
    listed, queue, table, names = ["old"], collections.deque(["old"]), {"k": "old"}, {"k": "old"}
    slotted, cell = Slotted(), types.CellType("old")
    slotted.held = "old"
    named: Any = type("Named", (), {"a": "old"})
    return [
        (saved_state.elements_of(listed), lambda: listed[0]),
        (saved_state.elements_of(queue), lambda: queue[0]),
        (saved_state.elements_of(table), lambda: table["k"]),
        (saved_state.Name(names, "k"), lambda: names["k"]),
        (saved_state.attribute_of(named, "a"), lambda: named.a),
        (saved_state.Descriptor(slotted, Slotted.__dict__["held"]), lambda: slotted.held),
        (saved_state.Cell(cell), lambda: cell.cell_contents),
    ]


@pytest.mark.parametrize(("saved", "now"), holders(), ids=lambda each: type(each).__name__)
def test_what_is_held_now_is_replaced_where_there_is_something_for_it(saved: Note, now: Callable[[], Any]) -> None:
    saved.renew(lambda value: value)
    assert now() == "old"
    saved.renew(lambda value: "new" if value == "old" else value)
    assert now() == "new"


def test_members_of_a_set_and_numbers_are_not_replaced() -> None:
    for owner in ({"old"}, bytearray(b"o")):
        before = owner.copy()
        saved_state.elements_of(owner).renew(lambda _: "new")
        assert owner == before


@pytest.mark.parametrize("make", [threading.Lock, threading.RLock])
@pytest.mark.parametrize("is_taken", [False, True])
def test_a_lock_is_taken_as_it_was(make: Callable[[], Any], is_taken: bool) -> None:
    lock = make()
    if is_taken:
        lock.acquire()
    saved = saved_state.Lock(lock)
    lock.release() if is_taken else lock.acquire()
    saved.undo()
    saved.undo()  # a second time changes nothing
    assert saved_state.Lock(lock).before is is_taken


GENERATORS: list[tuple[Any, Callable[[Any], Any]]] = [
    (random.Random(1), lambda g: g.random()),
    (np.random.RandomState(1), lambda g: g.random()),
    (np.random.default_rng(1), lambda g: g.random()),
    (np.random.PCG64(1), lambda g: g.random_raw()),
]


@pytest.mark.parametrize(("generator", "draw"), GENERATORS, ids=lambda each: type(each).__name__)
def test_a_generator_draws_the_same_numbers_again(generator: Any, draw: Callable[[Any], Any]) -> None:
    assert saved_state.is_generator(generator)
    saved = saved_state.Generator(generator)
    drawn = [draw(generator) for _ in range(3)]
    saved.undo()
    assert [draw(generator) for _ in range(3)] == drawn


def test_what_has_no_state_is_no_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not saved_state.is_generator(random.SystemRandom())
    assert not saved_state.is_generator(1.0)
    monkeypatch.delitem(sys.modules, "numpy.random")
    assert not saved_state.is_generator(1.0)


def test_a_state_that_holds_no_values_replaces_nothing() -> None:
    lock = threading.Lock()
    saved_state.Lock(lock).renew(lambda _: "new")
    assert not lock.locked()
