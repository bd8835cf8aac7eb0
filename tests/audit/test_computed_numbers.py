"""Single numbers that went into a program are found, with their variables and origins."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.audit.computed_numbers import computed_numbers
from primsplit.audit.frozen import array_digest, frozen_values

X = np.ones(3)
GAIN = 1.25


def of(function: Any) -> list[tuple[str, str, float]]:
    program = ps.trace(function, X)
    found = computed_numbers(program, frozen_values(program, function))
    return [(f.name, f.origin, float(f.value)) for f in found]


def drawn() -> float:
    return float(np.random.default_rng(7).normal())


def test_a_drawn_number_has_its_variable_and_its_origin() -> None:
    def f(x: Any) -> Any:
        rng = np.random.default_rng(7)
        level = float(rng.normal())
        return x * level

    assert of(f) == [("level", "draw", drawn())]


def test_a_draw_is_followed_through_variables() -> None:
    def f(x: Any) -> Any:
        level = np.random.default_rng(7).normal()
        double = 2 * level
        return np.sum(x * double)

    assert of(f) == [("double", "draw", 2 * drawn())]


def test_the_numbers_of_tuples_and_of_loops_have_names() -> None:
    def f(x: Any) -> Any:
        for a, b in ((0.5, 0.25),):
            x = x * a + b
        for step in np.linspace(0.125, 0.75, 2) ** 2:
            x = np.tanh(x * step)
        return x

    found = [("0.5", "literal", 0.5), ("0.25", "literal", 0.25)]
    assert of(f) == [*found, ("step", "computed", 0.015625), ("step", "computed", 0.5625)]


def test_a_draw_in_the_line_itself_is_told() -> None:
    def f(x: Any) -> Any:
        return x * np.random.default_rng(7).normal()

    assert of(f) == [("", "draw", drawn())]


@pytest.mark.filterwarnings("ignore")
def test_a_number_of_a_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "rate.txt"
    path.write_text("0.375")

    def f(x: Any) -> Any:
        rate = float(np.loadtxt(path))
        return x * rate

    assert of(f) == [("rate", "file", 0.375)]


def test_a_computed_number_is_told_and_literals_and_globals_are_told_elsewhere() -> None:
    def f(x: Any) -> Any:
        inner = GAIN * 2
        return np.sum(2 * np.pi * x) + np.sum(3.5 * x) + np.sum(GAIN * x), np.sum(x - inner)

    assert of(f) == [("2 * np.pi", "computed", 2 * np.pi), ("inner", "computed", 2.5)]


def test_a_variable_that_comes_of_an_argument_is_not_named() -> None:
    def f(x: Any) -> Any:
        scale = np.sum(x)
        return x * scale * (1 / 3)

    assert of(f) == [("1 / 3", "computed", 1 / 3)]


def test_the_numbers_of_a_rule_are_not_told() -> None:
    def f(x: Any) -> Any:
        return ps.grad(lambda at: np.sum(np.tanh(at)))(x)

    assert of(f) == []


STAGES = ((0.2,), (0.075, 0.225))


def test_the_numbers_of_a_table_are_told_with_it() -> None:
    def f(x: Any) -> Any:
        for row in STAGES:
            for a in row:
                x = x + a * x
        return x

    assert of(f) == []


@pytest.mark.parametrize("use", [np.multiply, np.maximum, lambda x, mask: np.where(x > 0.5, mask, 1.0)])
def test_an_array_that_was_computed_of_a_draw_is_told(use: Any) -> None:
    def f(x: Any) -> Any:
        mask = np.random.default_rng(7).random(3).astype(np.float64)
        mask = mask.copy() - 0.25
        return use(x, mask)

    program = ps.trace(f, X)
    known = frozen_values(program, f)
    (row,) = computed_numbers(program, known) or known
    assert row.digest == array_digest(np.random.default_rng(7).random(3) - 0.25)
    assert row.origin == ("draw" if row.name == "mask" else "computed")


@pytest.mark.filterwarnings("ignore")
def test_draws_are_first() -> None:
    def f(x: Any) -> Any:
        part = x * (1 / 7)
        return part + random.Random(3).random() * x

    assert [origin for _, origin, _ in of(f)] == ["draw", "computed"]
