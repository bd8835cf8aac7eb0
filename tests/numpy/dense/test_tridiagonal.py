"""Tridiagonal systems, with exchanges of rows where a pivot is small."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.numpy.dense.tridiagonal import solve_tridiagonal
from tests.numpy.matrices import normal


@pytest.mark.parametrize("n", [1, 2, 3, 20])
@pytest.mark.parametrize("shift", [4.0, 0.0])
def test_the_solution_is_that_of_the_whole_matrix(n: int, shift: float) -> None:
    below, diagonal, above = normal(n - 1, seed=1), normal(n, seed=2) + shift, normal(n - 1, seed=3)
    b = normal(n, 2, seed=4)
    whole = np.diag(diagonal) + np.diag(above, 1) + np.diag(below, -1)
    found = ps.trace(solve_tridiagonal, below, diagonal, above, b)(below, diagonal, above, b)
    np.testing.assert_allclose(whole @ found, b, atol=1e-11)
    np.testing.assert_allclose(found, np.linalg.solve(whole, b), rtol=1e-9)


def test_a_pivot_of_zero_is_exchanged() -> None:
    below, diagonal, above, b = np.ones(2), np.zeros(3), np.array([2.0, 3.0]), np.array([[2.0], [7.0], [2.0]])
    diagonal[2] = 1.0
    whole = np.diag(diagonal) + np.diag(above, 1) + np.diag(below, -1)
    found = ps.trace(solve_tridiagonal, below, diagonal, above, b)(below, diagonal, above, b)
    np.testing.assert_allclose(found, np.linalg.solve(whole, b), rtol=1e-14)
