"""A function that is run several times while it is traced begins each run with what the first run began with."""

import collections
import heapq
import math
import operator
import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import FrozenNumberWarning, PrimsplitError

COUNTS: dict[str, Any] = {"n": 0, "held": [1.0]}
LISTED: list[float] = []
HEAP: list[float] = []
MEMBERS: set[str] = set()
LAST: collections.deque[float] = collections.deque(maxlen=2)
OFTEN: collections.Counter[str] = collections.Counter()
ORDERED: collections.OrderedDict[str, float] = collections.OrderedDict()
TABLE = np.zeros(3)
LOCK, REENTRANT = threading.Lock(), threading.RLock()
NUMPYS, PYTHONS = np.random.default_rng(7), random.Random(7)
NUMBER = 0


class Counter:
    total = 0
    __slots__ = ("__hidden", "count", "steps")

    def __init__(self) -> None:
        self.count, self.__hidden, self.steps = 0, 0, [1.0]

    def bump(self) -> int:
        self.count += 1
        self.__hidden += 1
        type(self).total += 1
        return self.count + self.__hidden + self.total


class Settings:
    def __init__(self) -> None:
        self.scale = 1.0

    @property
    def doubled(self) -> float:
        return 2.0 * self.scale

    @doubled.setter
    def doubled(self, value: float) -> None:
        self.scale = value / 2.0


class Stack(list[float]):
    def push(self, value: float) -> int:
        super().append(value)
        return len(self)


COUNTER, SETTINGS, STACK = Counter(), Settings(), Stack()


def global_name() -> float:
    global NUMBER  # noqa: PLW0603
    NUMBER = NUMBER + 1
    return NUMBER


def attributes() -> float:
    setattr(SETTINGS, "scale", SETTINGS.scale + 1.0)  # noqa: B010
    SETTINGS.doubled = SETTINGS.doubled + 2.0
    return SETTINGS.scale


def in_place_of_an_attribute() -> float:
    COUNTER.steps += [1.0]
    return len(COUNTER.steps)


def in_place_of_an_element() -> float:
    COUNTS["held"] += [1.0]
    return len(COUNTS["held"])


def in_place_of_a_name() -> float:
    held = COUNTS["held"]
    held += [1.0]
    return len(held)


def element() -> float:
    COUNTS["n"] += 1
    return COUNTS["n"]


def deleted() -> float:
    COUNTS["new"] = COUNTS.pop("n", 0) + 1
    del COUNTS["held"][0]
    return COUNTS["new"] + len(COUNTS["held"])


def array_elements() -> float:
    TABLE[0] += 1.0
    np.add.at(TABLE, [0, 0], 1.0)
    np.copyto(TABLE[1:], 2.0 + TABLE[1])
    return float(TABLE.sum())


def containers() -> float:
    LISTED.append(1.0)
    list.append(LISTED, 2.0)
    heapq.heappush(HEAP, 1.0)
    MEMBERS.add(str(len(MEMBERS)))
    LAST.append(len(LAST) + 1.0)
    OFTEN["a"] += 1
    OFTEN.update("ab")
    ORDERED["x"] = ORDERED.get("x", 0.0) + 1.0
    operator.setitem(ORDERED, "y", 1.0)
    return len(LISTED) + len(HEAP) + len(MEMBERS) + sum(LAST) + OFTEN["a"] + ORDERED["x"] + STACK.push(1.0)


def handed_methods() -> float:
    [*map(LISTED.append, (1.0, 2.0))]
    return len(LISTED)


def locks() -> float:
    LOCK.acquire()
    REENTRANT.acquire()
    return 1.0


@pytest.fixture(autouse=True)
def as_at_first() -> None:
    global NUMBER
    COUNTS.clear()
    COUNTS.update(n=0, held=[1.0, 2.0, 3.0])
    NUMBER, TABLE[:] = 0, 0.0
    for held in (LISTED, HEAP, MEMBERS, LAST, OFTEN, ORDERED, STACK):
        held.clear()
    COUNTER.__init__()  # type: ignore[misc]
    Counter.total, SETTINGS.scale = 0, 1.0


EFFECTS: list[Callable[[], float]] = [
    global_name, attributes, in_place_of_an_attribute, in_place_of_an_element, in_place_of_a_name, element, deleted,
    array_elements, containers, handed_methods, COUNTER.bump,
]  # fmt: skip
X = np.array([0.5, 2.0])


@pytest.mark.parametrize("effect", EFFECTS, ids=lambda f: f.__name__)
def test_each_path_and_the_last_run_have_the_effects_of_one_call(effect: Callable[[], float]) -> None:
    expected = effect()
    as_at_first.__wrapped__()  # type: ignore[attr-defined]

    def f(x: Any) -> Any:
        count = effect()
        y = math.sin(x[0])
        if x[1] > 0:
            return count * y
        return 3 * count * y

    program = ps.trace(f, ps.spec("float64", [2]))
    for x, factor in ((X, 1), (-X, 3)):
        np.testing.assert_allclose(program(x), factor * expected * np.sin(x[0]), rtol=1e-15)
    following = effect()
    as_at_first.__wrapped__()  # type: ignore[attr-defined]
    effect()
    assert following == effect()


def test_what_is_reset_at_the_end_is_counted_from_the_start() -> None:
    def f(x: Any) -> Any:
        COUNTS["n"] += 1
        y = math.sin(x[0])
        result = COUNTS["n"] * y
        COUNTS["n"] = 0
        return result

    np.testing.assert_allclose(ps.trace(f, X)(X), math.sin(X[0]))


def test_a_name_of_a_function_around_is_that_of_one_call() -> None:
    count = 0

    def f(x: Any) -> Any:
        nonlocal count
        if x[0] > 0:
            count = count + 1
        return x[0] * (count + 1)

    program = ps.trace(f, X)
    assert [float(program(x)) for x in (X, -X)] == [1.0, -0.5]


def test_a_refused_trace_leaves_nothing() -> None:
    def f(x: Any) -> Any:
        LISTED.append(1.0)
        LOCK.acquire()
        return memoryview(x)

    with pytest.raises(PrimsplitError):
        ps.trace(f, X)
    assert not LISTED
    assert not LOCK.locked()


def test_locks_are_taken_once() -> None:
    def f(x: Any) -> Any:
        locks()
        found = x[0] * 2 if x[0] > 0 else x[0] * 3
        LOCK.release()
        REENTRANT.release()
        return found

    program = ps.trace(f, X)
    assert [float(program(x)) for x in (X, -X)] == [1.0, -1.5]
    assert not LOCK.locked()


@pytest.mark.filterwarnings("ignore::primsplit.ir.errors.FrozenNumberWarning")
def test_each_path_has_the_same_random_numbers() -> None:
    first = np.random.default_rng(7).normal() + random.Random(7).gauss(0.0, 1.0)

    def f(x: Any) -> Any:
        drawn = NUMPYS.normal() + PYTHONS.gauss(0.0, 1.0)
        return x[0] * drawn if x[0] > 0 else 2 * x[0] * drawn

    program = ps.trace(f, X)
    np.testing.assert_allclose([program(x) for x in (X, -X)], [0.5 * first, -1.0 * first], rtol=1e-15)


def test_a_draw_on_one_path_alone_warns() -> None:
    generator = np.random.default_rng(1)
    with pytest.warns(FrozenNumberWarning):
        ps.trace(lambda x: x[0] * generator.normal() if x[0] > 0 else x[0], X)


def test_each_text_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        for _ in range(2):
            print("begin", end=";")
        if x[0] > 0:
            print("above", end=";")
            y = np.sin(x[0])
        else:
            print("below", end=";")
            y = np.cos(x[0])
        print("end", end=";")
        return y * (2.0 if x[1] > 0 else 3.0)

    ps.trace(f, ps.spec("float64", [2]))
    assert sorted(capsys.readouterr().out.split(";")[:-1]) == ["above", "begin", "begin", "below", "end"]
