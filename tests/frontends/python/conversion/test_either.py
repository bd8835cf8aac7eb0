"""Attributes and elements that are None or a text after one side of a branch, and something else after the other."""

import enum
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import ConcretizationError
from primsplit.tracing.branching import exploring, paths
from tests.frontends.python.conversion import told_elsewhere

rng = np.random.default_rng(8)


class Latch:
    def __init__(self, held=None):
        self.held = held
        self.before = None

    def feed(self, value):
        self.before = self.held
        if self.held is None and value > 0.5:
            self.held = value
        elif self.held is not None and value < -0.5:
            self.held = None


def an_attribute(x):
    latch, total = Latch(), 0.0
    for value in x:
        latch.feed(value)
        if latch.held is not None:
            total += latch.held * value
        if latch.before is not None and latch.held is None:
            total -= latch.before
    return total


def elements_of_a_list(x):
    slots, total = [None, None, None], 0.0
    for k, value in enumerate(x):
        if slots[k % 3] is None:
            slots[k % 3] = value if value > 0.3 else None
        elif value < -0.3:
            slots[k % 3] = None
        for held in slots:
            total += held * value if held is not None else 0.1
    first, second, _ = slots
    return total + (first if first is not None else 2.0) + (1.0 if second is None else second**2)


class Machine:
    def __init__(self):
        self.mode, self.count, self.energy = "idle", 0, 0.0

    def step(self, value):
        if self.mode == "idle":
            if value > 0.2:
                self.mode, self.count = "run", 0
        elif self.mode == "run":
            self.count += 1
            self.energy += value * self.count
            if value < -0.4 or self.count > 3:
                self.mode = "cool"
        else:
            self.energy *= 0.5
            self.mode = "idle" if value > 0 else self.mode


def a_text(x):
    machine = Machine()
    for value in x:
        machine.step(value)
    return machine.energy + machine.count * x[1] + (x[0] if machine.mode in ("run", "cool") else 3 * x[2])


def of_a_dictionary(x):
    held, total = {"last": None}, 0.0
    for value in x:
        if value > 0.3:
            held["last"] = (value, 2.0)
        elif value < -0.3:
            held["last"] = None
        last = held.get("last")
        if last is None:
            total += value
        else:
            weight, other = last
            total -= weight * other * value
    return total


def matched(x):
    latch, total = Latch(), 0.0
    for value in x:
        latch.feed(value)
        match latch:
            case Latch(held=None):
                total += 1.0
            case Latch(held=held):
                total += held**2
    return total


class Gear(enum.Enum):
    LOW = 1
    HIGH = 2


RATIOS = {Gear.LOW: (1.5, 2), Gear.HIGH: (0.5, 3)}


def keys_of_dictionaries(x):
    gear, mode, total = Gear.LOW, None, 0.0
    gains = {"up": 1.5, "down": x[0]}
    for value in x:
        way = "up" if value > 0.3 else "down"
        if value > 0.5:
            gear, mode = Gear.HIGH, "fast"
        elif value < -0.5:
            gear, mode = Gear.LOW, None
        ratio, power = RATIOS[gear]
        total += gains[way] * value + ratio * value**2 + power + {None: 0.5, "fast": value}[mode]
        total += {"a": value, "b": 2.0}["a" if value > 1 else "b"]
    return total


def a_key_that_is_not_there(x):
    way, total = "up", 0.0
    for value in x:
        if value > 3.5:
            way = "sideways"
        elif value > 0:
            way = "down"
        total += {"up": value, "down": 2.0}[way]
    return total


def a_key_that_is_counted(x):
    counts = {"up": 0, "down": 0}
    for value in x:
        counts["up" if value > 0 else "down"] += 1
    return counts["up"] * x[0] - counts["down"] * x[1]


def compare(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, *, may_be_refused: bool = False) -> None:
    """The function where few paths are too many, with its gradient."""
    monkeypatch.setattr(paths, "MOST", 17)
    for module in (paths, exploring):
        monkeypatch.setattr(module, "FEW", 16)
    both = ps.value_and_grad(function)
    for x in rng.normal(size=(20, 12)):
        try:
            value, gradient = both(x)
        except ConcretizationError:
            if may_be_refused:
                return
            raise
        np.testing.assert_allclose(value, function(x), rtol=1e-12)
        steps = 1e-6 * np.eye(12)
        slopes = [(function(x + h) - function(x - h)) / 2e-6 for h in steps]
        np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-6)


PLACES = [an_attribute, elements_of_a_list, a_text, of_a_dictionary, matched, keys_of_dictionaries]


@pytest.mark.sweep(2)
@pytest.mark.parametrize("function", PLACES)
def test_what_a_place_holds_depends_on_the_branches(function: Callable[..., Any], monkeypatch) -> None:
    compare(function, monkeypatch)


def asking(ask: Callable[..., Any], held: Any) -> Callable[..., Any]:
    """A function that asks an object, whose attribute is this, None or a text, in each step."""

    def asks(x):
        latch, total = Latch(), 0.0
        for value in x:
            if value > 0.5:
                latch.held = value if held is None else held
            elif value < -0.5:
                latch.held = "down" if held is not None else None
            total += ask(latch) * value
        return total

    return asks


ASKED = {
    "elsewhere": (told_elsewhere.is_held, None),
    "class": (lambda latch: 2.0 if isinstance(latch.held, float) else 1.0, None),
    "class elsewhere": (told_elsewhere.holds_a_text, "up"),
    "getattr": (lambda latch: 2.0 if getattr(latch, "held", 0) is None else 1.0, None),
    "vars": (lambda latch: 2.0 if vars(latch)["held"] is None else 1.0, None),
    "member": (lambda latch: 2.0 if None in [latch.held, 1.0] else 1.0, None),
    "text": (lambda latch: len(f"{latch.held}"), "up"),
    "length": (lambda latch: len(latch.held or ""), "up"),
    "hash": (lambda latch: 1.0 if hash(latch.held) == hash("up") else 2.0, "up"),
    "all": (lambda latch: 1.0 if all(h is None for h in [latch.held]) else 2.0, None),
}


@pytest.mark.parametrize("asked", ASKED)
def test_other_uses_are_right_or_refused(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(asking(*ASKED[asked]), monkeypatch, may_be_refused=True)


@pytest.mark.parametrize("function", [a_key_that_is_not_there, a_key_that_is_counted])
def test_other_keys_are_right_or_refused(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    compare(function, monkeypatch, may_be_refused=True)
