"""Tests by `is`, by class and by pattern of values from joined branches, in this file and others."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import ConcretizationError
from primsplit.tracing.branching import exploring, paths
from tests.frontends.python.conversion import told_elsewhere

rng = np.random.default_rng(5)


def with_few_paths(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.setattr(paths, "MOST", 17)
    for module in (paths, exploring):
        monkeypatch.setattr(module, "FEW", 16)
    return ps.value_and_grad(function)


def compare(both: Callable[..., Any], function: Callable[..., Any]) -> None:
    for x in rng.normal(size=(20, 12)):
        value, gradient = both(x)
        np.testing.assert_allclose(value, function(x), rtol=1e-12)
        steps = 1e-6 * np.eye(12)
        slopes = [(function(x + h) - function(x - h)) / 2e-6 for h in steps]
        np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-6)


def compared_with_true_elsewhere(x):
    total = 0.0
    for k, value in enumerate(x):
        is_up = bool(value > 0.2 or x[k - 1] > 1)
        total += told_elsewhere.signed(is_up, value * k)
    return total


def compared_with_true_here(x):
    total = 0.0
    for value in x:
        is_up = False
        if value > 0.2:
            is_up = True
        total += value**2 if is_up is True else -value
    return total


def kept_by_an_object(x):
    switch, total = told_elsewhere.Switch(False), 0.0
    for value in x:
        if value > 0.2:
            switch.is_on = True
        elif value < -0.5:
            switch.is_on = False
        total += switch.sign * value
    return total


def of_the_class_of_both_sides(x):
    total = 0.0
    for value in x:
        is_up, count = False, 1
        if value > 0.2:
            is_up, count = True, 2
        total += told_elsewhere.of_a_boolean(is_up) * value + (2 if isinstance(is_up, bool) else 5) * count
        total += value**2 * told_elsewhere.of_a_whole_number(count) * (1 if type(count) is int else 7)
    return total


def of_truth_values_that_are_computed_with(x):
    is_high, is_low, is_odd, total = False, True, False, 0.0
    for k, value in enumerate(x):
        is_high |= bool(value > 1.5)
        is_low &= bool(value < 1.2)
        is_odd ^= not value > 0
        is_up, is_left = False, False
        if value > 0:
            is_up = True
        if x[k - 1] > value:
            is_left = True
        total += (is_up + is_left) * value - (-is_up) * value**2 + (1.0 if is_odd is True else value)
    return total + (x[0] if is_high is True else x[1]) * (2 if is_low is not False else 3)


FOLLOWED = [
    of_truth_values_that_are_computed_with, compared_with_true_elsewhere, compared_with_true_here, kept_by_an_object,
    of_the_class_of_both_sides,
]  # fmt: skip


@pytest.mark.sweep(2)
@pytest.mark.parametrize("function", FOLLOWED)
def test_what_both_sides_have_in_common_is_told(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    compare(with_few_paths(function, monkeypatch), function)


def asking(ask: Callable[..., Any], one: Any, other: Any) -> Callable[..., Any]:
    """A function that asks of what it was given on one side of a branch or on the other."""

    def asks(x):
        total = 0.0
        for value in x:
            held = one
            if value > 0.2:
                held = other
            total += ask(held) * value
        return total

    return asks


ANSWERS = {
    "isinstance": (told_elsewhere.of_a_whole_number, 1, 2.5),
    "type": (lambda value: 2.0 if type(value) is int else 3.0, 1, 2.5),
    "class": (told_elsewhere.of_class, 1, 2.5),
    "attribute": (told_elsewhere.of_attribute, 1, 2.5),
    "pattern": (told_elsewhere.matched, True, 2.5),
    "object": (lambda value: told_elsewhere.is_the(value, ANSWERS["object"][1]), np.ones(2), np.zeros(2)),
}


@pytest.mark.parametrize("asked", ANSWERS)
def test_what_the_sides_answer_otherwise_is_refused(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function = asking(*ANSWERS[asked])
    with pytest.raises(ConcretizationError, match=r"without end|depends on the run"):
        with_few_paths(function, monkeypatch)(rng.normal(size=12))


def test_functions_without_a_source_are_not_given_what_they_tell_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[str, Any] = {}
    exec("def signed(is_up, value): return value if is_up is True else -value", names)
    function = asking(lambda is_up: names["signed"](is_up, 2.0), False, True)
    with pytest.raises(ConcretizationError, match="without end"):
        with_few_paths(function, monkeypatch)(rng.normal(size=12))


def of_numbers_and_texts(x):
    mode, count, total = "idle", 0, 0.0
    for value in x:
        way = "up" if value > 0.3 else "down" if value < -0.3 else None
        match mode, way:
            case "idle", "up":
                mode, count = "run", 1
            case "run", "up" | None:
                count += 1
                total += value * count
            case ("run", "down") if count > 1:
                mode = "cool"
            case _, None:
                mode = "idle"
            case _:
                total -= value
        match count:
            case 0:
                total += x[0]
            case 1 | 2:
                total -= x[1] * value
            case n if n > 4:
                total += n * x[2]
    return total


def of_tuples(x):
    total = 0.0
    for value in x:
        pair = (1, value)
        if value > 0.2:
            pair = (2, value * 2)
        match pair:
            case (1, v):
                total += v
            case [2, v] if v > 1:
                total -= v**2
            case (_, _, _):
                total = 100.0
            case _:
                total += 0.5
    return total


@dataclass
class Circle:
    radius: Any


@dataclass
class Rectangle:
    width: Any
    height: Any


def of_objects(x):
    total, shapes = 0.0, [Circle(x[0]), Rectangle(x[1], x[2]), Rectangle(0, x[5])]
    for value in x[3:]:
        radius = 0.0
        if value > 0.2:
            radius = value
        for shape in shapes:
            match shape:
                case Circle(r) if r > 1:
                    total += r
                case Circle(radius=0):
                    total += 1
                case Circle(r):
                    total += r**2
                case Rectangle(0, height):
                    total += height + radius
                case Rectangle(width, height=h) if width > h:
                    total += width * h
                case _:
                    total -= 1
        shapes = [Circle(radius), *shapes[:2]]
    return total


def leaves_loops(x):
    total = 0.0
    for value in x:
        match value:
            case _ if value > 1.2:
                break
            case _ if value < -0.2:
                continue
            case v:
                total += v**2
        total *= 1.1
    return total


@pytest.mark.parametrize("function", [of_numbers_and_texts, of_tuples, of_objects, leaves_loops])
def test_patterns_are_branches(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    compare(with_few_paths(function, monkeypatch), function)


def named_by_a_failed_guard(x):
    total, last = 0.0, 0.0
    for value in x:
        match value:
            case last if value > 1:
                total += 1.0
            case _:
                total += value
        total += last
    return total


def of_a_mapping(x):
    total = 0.0
    for value in x:
        table = {"up": 1, "value": value}
        if value > 0.2:
            table["up"] = 2
        match table:
            case {"up": 1, **rest}:
                total += rest["value"]
            case {"up": 2}:
                total -= 1.0
    return total


@pytest.mark.parametrize("function", [named_by_a_failed_guard, of_a_mapping])
def test_other_patterns_are_right_or_refused(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    both = with_few_paths(function, monkeypatch)
    for x in rng.normal(size=(5, 12)):
        try:
            value, _ = both(x)
        except ConcretizationError:
            return
        np.testing.assert_allclose(value, function(x), rtol=1e-12)


def of_a_quotient(x: Any) -> Any:
    number = 2.0
    if x[0] > 0.2:
        number = 3
    number = number // 2
    return 1.0 if isinstance(number, int) else 2.0


def of_a_sum(x: Any) -> Any:
    number = 2.0
    if x[0] > 0.2:
        number = True
    number = number + 1 if x[1] > 0.5 else -number
    return 1.0 if type(number) is float else 2.0


def of_an_element(x: Any) -> Any:
    number = 1
    if x[0] > 0.2:
        number = x[1]
    return 1.0 if isinstance(number // 2, int) else 2.0


@pytest.mark.parametrize("function", [of_a_quotient, of_a_sum, of_an_element], ids=lambda f: f.__name__)
def test_what_is_made_of_a_number_of_one_class_or_another_is_of_either(
    function: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exploring, "FEW", 1)  # so that its branches are joined
    program = ps.trace(function, np.ones(2))
    for x in np.array([[0.5, 0.7], [0.5, -0.7], [-0.5, 0.7], [-0.5, 0.3]]):
        assert program(x) == function(x)
