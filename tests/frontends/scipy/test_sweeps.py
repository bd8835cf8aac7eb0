"""Sweeps of a known matrix of few diagonals solve with it and with its transpose."""

import numpy as np
import pytest
import scipy.sparse

from primsplit.frontends.scipy.sweeps import numbers_a_row, swept
from tests.numpy.matrices import normal

WIDTHS = [(0, 0), (1, 1), (0, 2), (2, 0), (3, 5)]


@pytest.mark.parametrize("widths", WIDTHS)
def test_they_solve_with_the_matrix_and_its_transpose(widths: tuple[int, int]) -> None:
    below, above = widths
    diagonals = normal(below + above + 1, 50)
    diagonals[above] += 3.0 * (1 + below + above)
    matrix, b = scipy.sparse.dia_array((diagonals, range(above, -below - 1, -1)), shape=(50, 50)), normal(50)
    sweeps = swept(diagonals, below, above)
    assert sweeps is not None
    np.testing.assert_allclose(matrix @ sweeps.solve_known(b), b, atol=1e-13)
    np.testing.assert_allclose(matrix.T @ sweeps.solve_transposed(b), b, atol=1e-13)


def test_a_singular_matrix_has_none() -> None:
    assert swept(np.zeros((3, 40)), 1, 1) is None


@pytest.mark.parametrize("widths", WIDTHS)
def test_the_numbers_of_a_row_are_those_of_a_long_matrix(widths: tuple[int, int]) -> None:
    diagonals = np.ones((sum(widths) + 1, 6000))
    diagonals[widths[1]] = 20.0
    sweeps = swept(diagonals, *widths)
    assert sweeps is not None
    held = (sweeps.forward.size + sweeps.backward.size) / 6000
    assert held == pytest.approx(numbers_a_row(*widths), rel=0.02)
