"""Calls that are like an earlier one run on what they are given, whatever their leaves are."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RunError

POINT: dict[str, Any] = {"a": np.array([1.0, 2.0]), "b": (3.0, np.float64(0.5))}


def of_leaves(params: Any, x: Any, power: int) -> Any:
    return np.sum(params["a"] * x) ** power * params["b"][0] + params["b"][1]


def test_arrays_numbers_and_static_arguments_are_read_anew_by_every_call() -> None:
    slope = ps.grad(of_leaves, wrt=(0, 1))
    for scale in (1.0, 2.0, 3.0):
        params = {"a": POINT["a"] * scale, "b": (3.0 * scale, np.float64(0.5))}
        found, by_x = slope(params, 2.0, 2)
        total = np.sum(params["a"]) * 2.0
        np.testing.assert_allclose(found["a"], np.full(2, 2.0 * total * 3.0 * scale * 2.0))
        np.testing.assert_allclose([found["b"][0], found["b"][1]], [total**2, 1.0])
        np.testing.assert_allclose(by_x, 2.0 * total * 3.0 * scale * np.sum(params["a"]))


def test_an_array_among_numbers_is_read_anew_by_every_call() -> None:
    scaled = ps.value_and_grad(lambda x, k: np.sum(x) * k)
    for k in (2.0, 3.0, np.float64(4.0), 5.0):
        value, slope = scaled(np.ones(3), k)
        assert (float(value), slope.tolist()) == (3.0 * k, [float(k)] * 3)


def test_a_failing_run_tells_the_users_line_at_every_call() -> None:
    taken = ps.value_and_grad(lambda x, i: np.sum(np.take(x, i)))
    at = np.array([0, 1])
    assert float(taken(np.ones(3), at)[0]) == 2.0
    for _ in range(2):
        with pytest.raises((IndexError, RunError), match=r"out of (data )?bounds|test_running"):
            taken(np.ones(3), at + 7)
    assert float(taken(np.ones(3), at)[0]) == 2.0


def test_a_cell_that_is_emptied_and_filled_is_noticed() -> None:
    scale = 2.0

    def scaled(x: Any) -> Any:
        return np.sum(x) * scale

    slope = ps.grad(scaled)
    assert slope(np.ones(1)).tolist() == [2.0]
    del scale
    with pytest.raises(NameError):
        slope(np.ones(1))
    scale = 3.0
    assert slope(np.ones(1)).tolist() == [3.0]
