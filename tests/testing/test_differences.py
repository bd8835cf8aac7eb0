"""Central differences in float64."""

from typing import Any

import numpy as np
import pytest

from primsplit.testing import directional_derivative
from primsplit.testing.differences import agreement, derivatives, directions, pairing


def test_a_difference_of_a_polynomial_is_exact() -> None:
    found = directional_derivative(lambda a: float(a[0] ** 4), [np.array(2.0)], [np.array(1.0)], 1e-2)
    assert found == pytest.approx(32.0, rel=1e-12)


X, Y = np.array([0.5, -2.0]), np.array([[1.5]])


def test_derivatives_of_several_results_along_a_direction_are_those_of_algebra() -> None:
    """Of x0 x1 and of y x along (dx, dy)."""
    dx, dy = np.array([1.0, -0.5]), np.array([[2.0]])
    found = derivatives(lambda a: [a[0][0] * a[0][1], a[1] * a[0]], [X, Y], [dx, dy], 1e-2)
    np.testing.assert_allclose(found[0], dx[0] * X[1] + X[0] * dx[1], rtol=1e-12)
    np.testing.assert_allclose(found[1], dy * X + Y * dx, rtol=1e-12)


def test_few_directions_are_those_of_the_coordinates_and_many_are_drawn() -> None:
    few = directions([X, Y], np.random.default_rng(0))
    assert len(few) == 3
    np.testing.assert_allclose([np.concatenate([d.ravel() for d in each]) for each in few], np.diag([0.1, 0.2, 0.15]))
    assert directions([np.zeros((0, 2))], np.random.default_rng(0)) == []
    many = directions([np.ones(30)], np.random.default_rng(0), most=10)
    assert len(many) == 5
    assert all(np.all(np.abs(d) <= 0.1) and np.any(d) for (d,) in many)


def test_the_inner_product_of_lists_is_the_sum_of_their_parts() -> None:
    assert pairing([X, Y.astype(np.float32)], [X, Y]) == 0.25 + 4.0 + 2.25


def agree(found: float, function: Any = np.sin) -> str:
    return agreement(
        lambda a: [function(a[0])], [X], [np.array([1.0, 0.0])], [np.ones(2)],
        found=found, scale=1.0, tolerance=1e-6, largest=1e-2,
    )  # fmt: skip


def test_a_derivative_agrees_at_two_neighbouring_steps_or_the_differences_are_told() -> None:
    assert agree(np.cos(0.5)) == ""
    assert "by central differences 0.877582" in agree(np.cos(0.5) + 1e-4)
    assert "by central differences" in agree(1.0, lambda x: np.where(x > 0.5, x, 0.0))
