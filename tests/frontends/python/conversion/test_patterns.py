"""`match` statements as branches, and patterns that are right or refused."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from primsplit.ir.errors import ConcretizationError
from tests.frontends.python.conversion.following import compare, with_few_paths

rng = np.random.default_rng(5)


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
