"""Changes by functions written in C are undone after each run but the last."""

import heapq
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps

HELD: list[Any] = []
NUMBERS = np.zeros(3)
NAMES: dict[str, Any] = {}


class Settings:
    count = 0


CHANGES: dict[str, Callable[[], object]] = {
    "a list's method, unbound": lambda: list.append(HELD, 1.0),
    "a dictionary's method, unbound": lambda: dict.__setitem__(NAMES, str(len(NAMES)), 1.0),
    "heappush": lambda: heapq.heappush(HELD, 1.0),
    "setattr": lambda: setattr(Settings, "count", Settings.count + 1),
    "setitem": lambda: operator.setitem(NAMES, str(len(NAMES)), 1.0),
    "iadd": lambda: operator.iadd(HELD, [1.0]),
    "an output behind the operands": lambda: np.add(NUMBERS, 1.0, NUMBERS),
    "an output by name": lambda: np.multiply(NUMBERS + 2.0, 1.5, out=NUMBERS),
    "an output of a function": lambda: np.cumsum(NUMBERS + 1.0, 0, None, NUMBERS),
    "an output of an array's method": lambda: (NUMBERS + 1.0).cumsum(out=NUMBERS),
    "an output of an array's method, by place": lambda: (NUMBERS + 1.0).cumsum(0, None, NUMBERS),
    "an output of a ufunc's method": lambda: np.add.accumulate(NUMBERS + 1.0, out=NUMBERS),
    "an output of a ufunc's method, by place": lambda: np.add.accumulate(NUMBERS + 1.0, 0, None, NUMBERS),
    "at": lambda: np.add.at(NUMBERS, [0, 0], 1.0),
    "put": lambda: np.put(NUMBERS, [0], NUMBERS[0] + 1.0),
    "copyto": lambda: np.copyto(NUMBERS, NUMBERS + 1.0),
    "memory": lambda: memoryview(NUMBERS).__setitem__(0, NUMBERS[0] + 1.0),
    "a shape": lambda: setattr(NUMBERS, "shape", (3, 1) if NUMBERS.ndim == 1 else (1, 3)),
}


def state() -> tuple[Any, ...]:
    return list(HELD), dict(NAMES), Settings.count, NUMBERS.tolist()


@pytest.mark.parametrize("name", CHANGES)
def test_two_paths_change_what_one_call_changes(name: str) -> None:
    def reset() -> None:
        HELD.clear()
        NAMES.clear()
        Settings.count, NUMBERS.shape = 0, (3,)
        NUMBERS[:] = 0.0

    reset()
    CHANGES[name]()
    once = state()
    reset()

    def f(x: Any) -> Any:
        CHANGES[name]()
        found = x[0] * 2 if x[1] > 0 else x[0]
        return found * (1.0 + len(HELD) + len(NAMES) + Settings.count + NUMBERS.sum() + NUMBERS.ndim)

    program = ps.trace(f, ps.spec("float64", [2]))
    assert state() == once
    for x in (np.array([1.5, 1.0]), np.array([1.5, -1.0])):
        reset()
        np.testing.assert_allclose(program(x), f(x), rtol=1e-15)
    reset()


def test_a_key_is_computed_once_for_each_element() -> None:
    asked: list[float] = []

    def noted(value: float) -> float:
        asked.append(value)
        return value

    program = ps.trace(lambda x: x[0] * sorted([3.0, 1.0, 2.0], key=noted)[1] + max([1.0, 2.0], key=noted), [1.0])
    assert float(program([2.0])) == 6.0
    assert asked == [3.0, 1.0, 2.0, 1.0, 2.0]


def test_shuffled_lists_are_those_of_one_call() -> None:
    expected = [1.0, 2.0, 3.0, 4.0]
    np.random.default_rng(3).shuffle(expected)
    generator, held = np.random.default_rng(3), [1.0, 2.0, 3.0, 4.0]

    def f(x: Any) -> Any:
        generator.shuffle(held)
        return (x[0] if x[1] > 0 else 2 * x[0]) * held[0]

    with pytest.warns(UserWarning, match="draws while the function is traced"):
        program = ps.trace(f, ps.spec("float64", [2]))
    assert [float(program(np.array([1.0, s]))) for s in (1.0, -1.0)] == [expected[0], 2 * expected[0]]
    assert held == expected
