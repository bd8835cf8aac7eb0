"""Whether a fingerprint provably stands: never where it has changed, and where it has not, for what is usual."""

import functools
import random
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from primsplit.ir.caching.fingerprint import Same, fingerprint, watched_fingerprint

WEIGHTS = np.ones(3)
LARGE = np.arange(12000.0).reshape(100, 120)
LAYERS = [np.ones(2), {"scale": 2.0}]
library = types.ModuleType("library_of_the_test")
library.scale = 2.0  # type: ignore[attr-defined]


class Held:
    factor = 1.0

    def __init__(self, **named: Any) -> None:
        self.__dict__.update(named)

    def loss(self, x: Any) -> Any:
        return x * self.factor


class Slotted:
    __slots__ = ("a", "b")


class Depending:
    """An object of primsplit, as a fingerprint sees it."""

    def __init__(self, part: Any) -> None:
        self.part = part

    def depends_on(self) -> tuple[Any, ...]:
        return Same(self.part), self.part


def reading_globals(x: Any) -> Any:
    return np.sum(x * WEIGHTS) * len(LAYERS) * library.scale  # type: ignore[attr-defined]


def closed_over(*cells: Any) -> Callable[..., Any]:
    def function(x: Any) -> Any:
        return x, cells

    return function


def empty_cell() -> Callable[..., Any]:
    def function(x: Any) -> Any:
        return x * later

    if not function:
        later = 1.0
    return function


def with_default(x: Any, scale: float = 2.0, *, shift: float = 1.0) -> Any:
    return x * scale + shift


SETTLED: list[tuple[str, Callable[[], Any]]] = [
    ("no more than arguments", lambda: lambda x: x * 2.0),
    ("globals", lambda: reading_globals),
    ("numbers, texts, None", lambda: closed_over(1.0, "a", None, np.float64(3.0))),
    ("small arrays", lambda: closed_over(np.arange(5.0), np.array([np.nan]), np.array("text"))),
    ("a large array", lambda: closed_over(np.arange(2.0**17))),
    ("other layouts", lambda: closed_over(LARGE.T, LARGE[:, ::2], LARGE[::-1], LARGE.astype(np.float32)[:, 1:])),
    ("arrays without elements", lambda: closed_over(np.zeros((0, 3)), np.zeros((3, 0)).T, np.array(2.0))),
    ("containers", lambda: closed_over([1, [2.0]], {"a": (1, {2})}, frozenset({1}))),
    ("an object", lambda: closed_over(Held(a=1.0, b=[WEIGHTS]))),
    ("a method", lambda: Held(a=1.0).loss),
    ("an object with slots", lambda: closed_over(Slotted())),
    ("a partial", lambda: functools.partial(with_default, scale=3.0)),
    ("defaults", lambda: with_default),
    ("an object of primsplit", lambda: Depending(closed_over(1.0))),
    ("a cell that is still empty", empty_cell),
    ("a class", lambda: closed_over(Held)),
]


@pytest.mark.parametrize("make", [m for _, m in SETTLED], ids=[name for name, _ in SETTLED])
def test_what_nobody_touches_stands(make: Callable[[], Any]) -> None:
    value = make()
    found, unchanged = watched_fingerprint(value)
    assert found == fingerprint(value)
    assert unchanged


def test_objects_in_arrays_and_records_are_read_at_each_call() -> None:
    for array in (np.array([None, 1], object), np.array((1.0,), [("a", "f8")])[()]):
        assert not watched_fingerprint(closed_over(1.0, array, [2.0]))[1]


def test_more_bytes_than_are_to_be_kept_are_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("primsplit.ir.caching.unchanged.KEPT", 80)
    assert watched_fingerprint(closed_over(np.ones(5), np.ones(5)))[1]
    assert not watched_fingerprint(closed_over(np.ones(5), np.ones(6)))[1]


def test_one_copy_stands_for_equal_arrays() -> None:
    arrays = [np.ones((100, 20)), np.ones((100, 20)), np.ones((100, 20), order="F")]
    found = [watched_fingerprint(closed_over(a))[1] for a in arrays]
    assert all(found)
    copies = [u.arrays[0].copy for u in found]
    assert copies[0] is copies[1]
    assert copies[0] is not copies[2]


def test_nothing_is_kept_of_what_does_not_stand() -> None:
    _, unchanged = watched_fingerprint(closed_over(np.ones(3), np.array([None, 1], object), np.ones(4)))
    assert [*unchanged.arrays, *unchanged.attributes, *unchanged.contents, *unchanged.entries] == []


def moved_dictionary() -> tuple[Any, Callable[[], Any]]:
    held = {"a": 1.0, "b": 2.0}
    return closed_over(held), lambda: held.update(a=held.pop("a"))


def emptied_cell() -> tuple[Any, Callable[[], Any]]:
    scale = 2.0

    def function(x: Any) -> Any:
        return x * scale

    def change() -> None:
        nonlocal scale
        del scale

    return function, change


def shadowed_builtin() -> tuple[Any, Callable[[], Any]]:
    room: dict[str, Any] = {}
    exec("def function(x): return len(x)", room)  # a function with globals of its own
    return room["function"], lambda: room.update(len=lambda x: 7.0)


def imported_later() -> tuple[Any, Callable[[], Any]]:
    room: dict[str, Any] = {}
    exec("def function(x):\n import module_of_later\n return x", room)
    return room["function"], lambda: sys.modules.update(module_of_later=types.ModuleType("module_of_later"))


def written_through_a_view() -> tuple[Any, Callable[[], Any]]:
    """An array that nobody may write to, but for who has a view of it from before."""
    array = np.zeros((300, 300))
    view = array[150:]
    array.flags.writeable = False
    return closed_over(array), lambda: view.fill(1e-300)


def read_only_again() -> tuple[Any, Callable[[], Any]]:
    array = np.zeros(2**15)
    array.flags.writeable = False

    def change() -> None:
        array.flags.writeable = True
        array[-1] = -0.0
        array.flags.writeable = False

    return closed_over(array), change


def change_of(value: Any, change: Callable[[Any], Any]) -> tuple[Any, Callable[[], Any]]:
    return closed_over(value), lambda: change(value)


CHANGES: list[tuple[str, Callable[[], tuple[Any, Callable[[], Any]]]]] = [
    ("the order of a dictionary", moved_dictionary),
    ("a cell that is emptied", emptied_cell),
    ("a builtin that gets a global in front of it", shadowed_builtin),
    ("a module that is there later", imported_later),
    ("an element", lambda: change_of(np.zeros(3), lambda a: a.fill(1.0))),
    ("the sign of a zero", lambda: change_of(np.zeros(3), lambda a: a.fill(-0.0))),
    ("a shape", lambda: change_of(np.zeros(4), lambda a: setattr(a, "shape", (2, 2)))),
    ("a dtype", lambda: change_of(np.zeros(4), lambda a: setattr(a, "dtype", np.int64))),
    ("the last of many elements", lambda: change_of(np.zeros(2**17), lambda a: a.put(-1, np.nan))),
    ("an element of a transposed array", lambda: change_of(np.zeros((200, 90)).T, lambda a: a[:, 7].fill(1.0))),
    ("an element of every second", lambda: change_of(np.zeros(2**15)[::2], lambda a: a.put(5, 1.0))),
    ("a large array's shape", lambda: change_of(np.zeros((64, 256)), lambda a: setattr(a, "shape", (256, 64)))),
    ("an array written through a view", written_through_a_view),
    ("an array that is read-only again", read_only_again),
    ("a list's length", lambda: change_of([1.0], lambda a: a.append(2.0))),
    ("a set", lambda: change_of({1.0}, lambda a: a.add(2.0))),
    ("an object's attribute", lambda: change_of(Held(a=1.0), lambda h: setattr(h, "a", 2.0))),
    ("an object's dictionary", lambda: change_of(Held(a=1.0), lambda h: setattr(h, "__dict__", {"a": 2.0}))),
    ("an object's class", lambda: change_of(Held(a=1.0), lambda h: setattr(h, "__class__", type("Other", (), {})))),
    ("a slot", lambda: change_of(Slotted(), lambda s: setattr(s, "b", 2.0))),
    ("a function's code", lambda: change_of(lambda x: x, lambda f: setattr(f, "__code__", with_default.__code__))),
    ("a function's attribute", lambda: change_of(lambda x: x, lambda f: setattr(f, "scale", 2.0))),
    ("what an object of primsplit is made of", lambda: change_of(Depending(1.0), lambda d: setattr(d, "part", 2.0))),
]


@pytest.mark.parametrize("make", [m for _, m in CHANGES], ids=[name for name, _ in CHANGES])
def test_a_change_is_seen(make: Callable[[], tuple[Any, Callable[[], Any]]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "module_of_later", None)
    monkeypatch.delitem(sys.modules, "module_of_later")
    value, change = make()
    before, unchanged = watched_fingerprint(value)
    assert unchanged
    change()
    assert fingerprint(value) != before
    assert not unchanged


# Graphs of objects at random, changed at random.


def drawn(choose: random.Random, depth: int) -> Any:
    """A value that a function may hold."""
    kind = choose.randrange(10 if depth else 4)
    inside = [drawn(choose, depth - 1) for _ in range(choose.randrange(3))] if depth else []
    made: list[Callable[[], Any]] = [
        lambda: choose.randrange(3),
        lambda: float(choose.randrange(3)),
        lambda: np.array([float(choose.randrange(3))] * 3),
        lambda: choose.choice("ab"),
        lambda: inside,
        lambda: dict(zip("abc", inside, strict=False)),
        lambda: tuple(inside),
        lambda: Held(**dict(zip("abc", inside, strict=False))),
        lambda: closed_over(*inside),
        lambda: functools.partial(with_default, inside),
    ]
    return made[kind]()


def parts(value: Any) -> Iterator[Any]:
    """The value and what it holds, at any depth."""
    yield value
    held: Any = ()
    if isinstance(value, list | tuple):
        held = value
    elif isinstance(value, dict):
        held = value.values()
    elif isinstance(value, Held):
        held = vars(value).values()
    elif isinstance(value, functools.partial):
        held = value.args
    elif isinstance(value, types.FunctionType) and value.__closure__:
        held = [c.cell_contents for c in value.__closure__]
    for part in held:
        yield from parts(part)


def touch(choose: random.Random, value: Any) -> None:
    """Change an object in place, or write over it what it has already."""
    new = drawn(choose, 1)
    if isinstance(value, list):
        value[choose.randrange(len(value) + 1) :] = [new]
    elif isinstance(value, dict):
        value[choose.choice("abc")] = new
    elif isinstance(value, Held):
        setattr(value, choose.choice("abc"), new)
    elif isinstance(value, np.ndarray):
        value[choose.randrange(3)] = float(choose.randrange(3))
    elif isinstance(value, types.FunctionType) and value.__closure__:
        value.__closure__[0].cell_contents = (new,)


@pytest.mark.parametrize("seed", range(4))
def test_what_stands_has_the_same_fingerprint(seed: int) -> None:
    choose = random.Random(seed)
    stood = 0
    for _ in range(300):
        value = closed_over(drawn(choose, 3), drawn(choose, 3))
        before, unchanged = watched_fingerprint(value)
        touch(choose, choose.choice(list(parts(value))))
        is_same = fingerprint(value) == before
        assert is_same or not unchanged
        stood += bool(unchanged)
    assert stood > 20
