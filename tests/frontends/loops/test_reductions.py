"""The derivatives of reductions: one winner of a maximum, every turn of a sum."""

from typing import Any

import numpy as np
import pytest

from primsplit.frontends.loops.notation import parse_notation
from tests.frontends.loops.running import pulled_back


@pytest.mark.parametrize(
    ("text", "arrays", "expected"),
    [
        ("(max) y := x[i]", [2.0, 2.0, 3.0, 3.0], [0, 0, 1, 0]),
        ("(min) y := x[i]", [2.0, 2.0, 3.0, 3.0], [1, 0, 0, 0]),
        ("(*) y := x[i]", [2.0, 3.0, 4.0], [12, 8, 6]),
        ("(*) y := x[i]", [2.0, 0.0, 4.0], [0, 8, 0]),
        ("(*) y := x[i]", [0.0, 3.0, 0.0], [0, 0, 0]),
        ("y := x[mod(i)], i in range(5)", [1.0, 2.0, 3.0], [2, 2, 1]),
        ("y := x[clamp(i)], i in range(5)", [1.0, 2.0, 3.0], [1, 1, 3]),
        ("y := x[pad(i-1)], i in range(5)", [1.0, 2.0, 3.0], [1, 1, 1]),
        ("y := maximum(x[0], x[i])", [3.0, 1.0, 4.0], [2, 0, 1]),
        ("y := sqrt(x[i])*0.0", [0.0, 4.0], [0, 0]),
    ],
)
def test_ties_zeros_and_bent_indices_have_the_documented_gradient(
    text: str, arrays: Any, expected: list[float]
) -> None:
    x = np.array(arrays)
    np.testing.assert_array_equal(pulled_back(parse_notation(text), {"x": x}, {"y": 1.0}, ["x"])["x"], expected)


def test_one_winner_of_several_reduced_loops_has_all() -> None:
    found = pulled_back(parse_notation("(max) y := x[i,j]"), {"x": np.ones((2, 3))}, {"y": 2.0}, ["x"])["x"]
    np.testing.assert_array_equal(found, [[2, 0, 0], [0, 0, 0]])


def test_what_a_maximum_starts_from_wins_a_tie() -> None:
    arrays = {"y": np.array(3.0), "x": np.array([3.0, 3.0])}
    found = pulled_back(parse_notation("y max= x[i]"), arrays, {"y": 1.0}, ["x", "y"])
    assert found["y"] == 1.0
    np.testing.assert_array_equal(found["x"], [0.0, 0.0])
