"""Branches whose sides write to arrays that objects, lists and other names hold, joined into one If each."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.branching import exploring, paths
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


JOINED = [
    steps_of_an_object, another_array_or_written, in_a_dictionary, under_two_names, seen_in_a_view,
    held_after_it_was_written,
]  # fmt: skip


@pytest.fixture(autouse=True)
def _few_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five numbers are 32 paths, which are more than are followed."""
    monkeypatch.setattr(paths, "MOST", 17)
    for module in (paths, exploring):
        monkeypatch.setattr(module, "FEW", 4)


@pytest.mark.parametrize("function", JOINED)
def test_arrays_that_a_side_writes_to_are_what_they_are_in_python(function: Callable[..., Any]) -> None:
    check_grads(function, FIVE, symbolic=False)
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


@pytest.mark.parametrize("function", [two_objects_with_one_array, seen_in_a_view_of_the_side, perhaps_a_copy])
def test_arrays_that_others_show_are_right_or_refused(function: Callable[..., Any]) -> None:
    for x in (FIVE, -FIVE):
        try:
            traced = ps.trace(function, x)
        except ps.PrimsplitError:
            continue
        np.testing.assert_allclose(traced(x), function(x), rtol=1e-12)
