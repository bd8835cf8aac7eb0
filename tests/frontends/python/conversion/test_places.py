"""Branches whose sides write to arrays that objects, lists and other names hold, joined into one If each."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import walk
from primsplit.tracing.branching import exploring, paths
from tests.numpy.agreement import check_grads

FIVE = np.array([0.61, -0.34, 0.92, 0.27, -0.71])


class Cells:
    def __init__(self, state):
        self.state, self.rate = state, 0.5

    def step(self, value):
        if value > 0:
            self.state[0] = value * self.rate
        else:
            self.state[1] += value

    def put(self, place, value):
        self.state[place] = value


def steps_of_an_object(x):
    cells, total = Cells(np.zeros(3)), 0.0
    for value in x:
        cells.step(value)
        if value > 0.5:
            cells.state *= 0.9
        total = total + np.sum(cells.state * x[:3])
        if total > 2:
            break
    return total


def another_array_or_written(x):
    cells, total = Cells(x[:3] * 1.0), 0.1
    for value in x:
        if value > 0:
            cells.put(1, value)
            if total > 0.3:
                cells.state[0] = total
            elif value > 0.5:
                cells.state = cells.state * 0.9
        total = total + cells.state[0] + cells.state[1] * 2
    return total


def in_a_dictionary(x):
    held, total = {"grid": np.outer(x[:2], x[2:5]), "last": x[0]}, 0.0
    for value in x:
        if value > 0:
            row = held["grid"][1]
            row[0] = value
            held["last"] += value
        elif value < -0.5:
            held["grid"] = held["grid"] * 0.5
        total = total + np.sum(held["grid"]) * held["last"]
    return total


def under_two_names(x):
    cells, total = Cells(x[:3] * 1.0), 0.0
    same, pair = cells.state, (cells.state, 1.0)
    for value in x:
        if value > 0:
            same[0] = value
        else:
            cells.put(2, pair[0][0] * value)
        total = total + np.sum(same * cells.state) + pair[0][2]
    return total


def seen_in_a_view(x):
    cells, total = Cells(x[:3] * 1.0), 0.0
    view = cells.state[1:]
    for value in x:
        if value > 0:
            cells.put(1, value)
        total = total + view[0] * value
    return total


def held_after_it_was_written(x):
    cells, kept, total = Cells(x[:3] * 1.0), Cells(x[3:] * 1.0), 0.0
    for value in x:
        if value > 0:
            cells.put(1, value)
            kept.state = cells.state.copy()
        kept.state[0] += 0.1
        total = total + kept.state[0] * value + cells.state[1]
    return total


def counted_in_known_numbers(x):
    counts = np.zeros(6).reshape(3, 2)
    for value in x:
        if value > 0:
            counts[0, 1] += 1.0
        else:
            counts[2] -= 2.0
    return np.sum(counts @ x[:2])


def known_numbers_seen_in_a_view(x):
    marks = np.arange(6.0)
    some = marks[1:3]
    for value in x:
        if value > 0:
            some[0] = 5.0
        else:
            marks[2] = -1.0
    return np.sum(marks[:5] * x) + np.sum(some * x[3:])


def known_numbers_or_made(x):
    marks = np.arange(6.0)
    some = marks[1:3]
    for value in x:
        some = some if value > 0 else np.sin(some) * x[0]
    some[0] += x[1]
    return np.sum(marks[:5] * x) + np.sum(some)


LEVEL = np.full(2, 0.5)


def known_numbers_of_the_module(x):
    rates, level = np.zeros(2), LEVEL
    rates[0] = x[0]
    for value in x:
        if value > 0:
            level = np.cos(level) + rates
    return np.sum(level * x[:2])


def by_elements_in_a_row(x):
    table = x[:4].reshape(2, 2) * 1.0
    row = table.flat
    for value in x:
        if value > 0:
            row[1] = value * row[0]
        else:
            table[1] += value
        few = row[:2]
        few *= 3.0
    return np.sum(table * x[:2]) + np.sum(few)


JOINED = [
    steps_of_an_object, another_array_or_written, in_a_dictionary, under_two_names, seen_in_a_view,
    held_after_it_was_written, counted_in_known_numbers, known_numbers_seen_in_a_view, known_numbers_or_made,
    known_numbers_of_the_module, by_elements_in_a_row,
]  # fmt: skip


@pytest.fixture(autouse=True)
def _few_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five numbers are 32 paths, which are more than are followed."""
    monkeypatch.setattr(paths, "MOST", 17)
    for module in (paths, exploring):
        monkeypatch.setattr(module, "FEW", 4)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("function", JOINED)
def test_arrays_that_a_side_writes_to_are_what_they_are_in_python(function: Callable[..., Any]) -> None:
    check_grads(function, FIVE, symbolic=False, order=1)
    for x in (-FIVE, FIVE[::-1].copy(), FIVE * 2.5):
        np.testing.assert_allclose(ps.trace(function, FIVE)(x), function(x), rtol=1e-12)


def two_objects_with_one_array(x):
    cells, other, total = Cells(x[:3] * 1.0), Cells(x[3:] * 1.0), 0.0
    for value in x:
        if value > 0:
            other.state = cells.state
        cells.put(0, value)
        total = total + other.state[0]
    return total


def seen_in_a_view_of_the_side(x):
    cells, total = Cells(x[:3] * 1.0), 0.0
    view = cells.state[1:]
    for value in x:
        if value > 0:
            cells.put(1, value)
            total = total + view[0] * value
    return total


def perhaps_a_copy(x):
    cells, total = Cells(np.outer(x[:2], x[2:5])), 0.0
    for value in x:
        if value > 0:
            cells.state.T.reshape(6)[0] = value
        total = total + np.sum(cells.state) * value
    return total


def one_row_or_another_of_known_numbers(x):
    marks = np.arange(6.0).reshape(3, 2)
    row = marks[0]
    for value in x:
        if value > 0:
            row = marks[1]
    row[0] = x[0]
    return np.sum(marks * np.outer(x[:3], x[3:]))


REFUSED = [
    two_objects_with_one_array, seen_in_a_view_of_the_side, perhaps_a_copy, one_row_or_another_of_known_numbers,
]  # fmt: skip


@pytest.mark.parametrize("function", REFUSED)
def test_arrays_that_others_show_are_right_or_refused(function: Callable[..., Any]) -> None:
    for x in (FIVE, -FIVE):
        try:
            traced = ps.trace(function, x)
        except ps.PrimsplitError:
            continue
        np.testing.assert_allclose(traced(x), function(x), rtol=1e-12)


def test_one_of_more_arrays_than_are_followed_is_not_written_to() -> None:
    def written(x):
        marks = np.arange(6.0).reshape(3, 2)[:2]
        row = marks[0]
        for value in x:
            if value > 0:
                row = marks[1]
        row[0] = x[0]
        return np.sum(marks[:, 0]) * x[1]

    x = np.tile(FIVE, 13)
    with pytest.raises(ps.PrimsplitError, match="one of several arrays"):
        ps.trace(written, x)


def test_a_step_costs_the_same_however_many_arrays_there_were_before() -> None:
    def settling(steps: int) -> Callable[[Any], Any]:
        def run(a: Any) -> Any:
            x = a
            for _ in range(steps):
                new = 0.5 * (x @ a) + 1.0
                if abs(new - x).max() < 1e-9:
                    break
                x = new
            return np.sum(x)

        return run

    start = 0.3 * np.eye(2)
    programs = {n: ps.trace(settling(n), start) for n in (13, 20, 34)}
    for n, program in programs.items():
        np.testing.assert_allclose(program(start), settling(n)(start), rtol=1e-12)
    few, more, many = (len(list(walk(program.block))) for program in programs.values())
    assert many - more < 2.1 * (more - few)
    check_grads(settling(13), start)
