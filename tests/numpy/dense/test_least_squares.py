"""Least squares of any rank: derivatives where the rank stays."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps

RANDOM = np.random.default_rng(5)

SHAPES = [(6, 3, 2), (3, 5, 2), (4, 4, 3), (5, 3, 3), (4, 4, 0), (1, 3, 1), (150, 3, 2)]


def system(rows: int, columns: int, rank: int) -> tuple[Any, Any, Any]:
    return tuple(RANDOM.standard_normal(shape) for shape in ((rows, rank), (rank, columns), (rows,)))


@pytest.mark.sweep(3)
@pytest.mark.parametrize("shape", SHAPES[:3], ids=str)
def test_derivatives_keep_the_rank(shape: tuple[int, int, int]) -> None:
    """By differences along factors, which keep it."""
    left, right, b = system(*shape)
    weights = np.arange(1.0, right.shape[1] + 1)

    def function(left: Any, right: Any, b: Any) -> Any:
        return np.sum(np.linalg.lstsq(left @ right, b, rcond=None)[0] * weights)

    point, step = (left, right, b), 1e-6
    moves = [RANDOM.standard_normal(p.shape) for p in point]
    ahead, behind = ([p + s * step * m for p, m in zip(point, moves, strict=True)] for s in (1, -1))
    wanted = (function(*ahead) - function(*behind)) / (2 * step)
    gradient = ps.grad(function, wrt=(0, 1, 2))
    slopes = gradient(*point)
    np.testing.assert_allclose(sum(np.sum(g * m) for g, m in zip(slopes, moves, strict=True)), wanted, rtol=1e-6)
    np.testing.assert_allclose(ps.jvp(function, point, tuple(moves))[1], wanted, rtol=1e-6)
    curvature = ps.jvp(ps.grad(function), point, tuple(moves))[1]
    difference = (gradient(*ahead)[0] - gradient(*behind)[0]) / (2 * step)
    np.testing.assert_allclose(curvature, difference, rtol=1e-4, atol=1e-5)


def test_the_gradient_in_the_right_side_is_the_pseudo_inverses() -> None:
    dummies = np.column_stack([np.ones(6), np.kron(np.eye(2), np.ones((3, 1)))])
    found = ps.grad(lambda b, a: np.sum(np.linalg.lstsq(a, b, rcond=None)[0] ** 2))(np.ones(6), dummies)
    inverse = np.linalg.pinv(dummies)
    np.testing.assert_allclose(found, 2 * inverse.T @ inverse @ np.ones(6))
