"""Ranges of values whose elements are moved, counted or constant."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from tests.audit.intervals.sound import assert_program_sound, walk_of

X = np.linspace(-1, 2, 12).reshape(3, 4)
PROGRAMS: dict[str, Any] = {
    "pieces": lambda x: np.concatenate([x[:, :2].T, x[:2, 1:]], axis=0) * np.pad(x, 1)[1:3, 1:3].sum(),
    "places": lambda x: x[np.argmax(x, axis=0), np.arange(4)] + np.sort(x, axis=0)[1],
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_values_and_gradients_of_a_program_stay_in_their_ranges(name: str, dtype: str) -> None:
    assert_program_sound(PROGRAMS[name], X.astype(dtype), -1.0, 2.0)


def test_padding_adds_its_zero() -> None:
    block, walk = walk_of(lambda x: np.pad(x, 1), ps.spec("float64", [3]), ranges=[(2, 3)])
    assert walk.range(block.results[0]).ends == (0.0, 3.0)


def test_each_element_of_a_known_array_keeps_its_place() -> None:
    table = np.arange(6.0).reshape(2, 3)
    block, walk = walk_of(lambda x: x + table.T[1:2], ps.spec("float64", [2]), ranges=[(0, 0)])
    np.testing.assert_array_equal(walk.range(block.results[0]).low, [[1.0, 4.0]])


def test_a_place_is_less_than_the_size_of_its_axis() -> None:
    block, walk = walk_of(lambda x: np.argmax(x, axis=1), ps.spec("float64", ["N", 4]), ranges=[(0, 1)])
    assert walk.range(block.results[0]).ends == (0.0, 3.0)
