"""A branch that gives a value or its negative is a product with a sign: it has no plausible slope where they meet."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.transforms.idioms.opposite_branches import recognize_opposite_branches


def root_in_both(x: Any) -> Any:
    return np.hypot(x, 2 * x) if x > 0 else -np.hypot(x, 2 * x)


def root_before(x: Any) -> Any:
    root = np.sqrt(x * x)
    return -root if x <= 0 else root


def size(x: Any) -> Any:
    return np.abs(x) if x >= 0 else -np.abs(x)


def negative_size(x: Any) -> Any:
    size = np.abs(x)
    return -size if x > 0 else size


def argument(x: Any) -> Any:
    return x if x > 0 else -x


@pytest.mark.parametrize(
    ("function", "expected"),
    [(root_in_both, np.nan), (root_before, np.nan), (size, np.nan), (negative_size, np.nan), (argument, -1)],
)
def test_the_slope_where_a_value_and_its_negative_meet(function: Callable[[Any], Any], expected: float) -> None:
    np.testing.assert_array_equal(ps.grad(function)(0.0), expected)
    np.testing.assert_array_equal(ps.jvp(function, (0.0,), (1.0,))[1], expected)
    for at in (0.5, -1.5):
        assert ps.trace(function, at)(at) == function(np.float64(at))
        h = 1e-6
        slope = (function(at + h) - function(at - h)) / (2 * h)
        np.testing.assert_allclose(ps.grad(function)(at), slope, rtol=1e-8)
        np.testing.assert_allclose(ps.jvp(function, (at,), (1.0,))[1], slope, rtol=1e-8)


def test_one_of_several_results_may_be_opposite() -> None:
    def function(x: Any, y: Any) -> Any:
        if x < 0:
            a, b = -np.hypot(x, x), y
        else:
            a, b = np.hypot(x, x), 3 * y
        return a + b

    np.testing.assert_array_equal(ps.grad(function, (0, 1))(0.0, 2.0), [np.nan, 3])
    np.testing.assert_allclose(ps.grad(function, (0, 1))(-0.5, 2.0), [np.sqrt(2), 1])


@pytest.mark.parametrize(
    "function", [lambda x: x * x if x > 0 else x, lambda x: np.sin(x) if x > 1 else -np.sin(x), lambda x: -x]
)
def test_other_branches_stay(function: Callable[[Any], Any]) -> None:
    block = ps.trace(function, 0.5).block
    assert recognize_opposite_branches(block) is block
