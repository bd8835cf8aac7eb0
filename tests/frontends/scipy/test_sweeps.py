"""Sweeps of a known matrix of few diagonals solve with it and with its transpose."""

from dataclasses import replace

import numpy as np
import pytest

from primsplit.frontends.scipy.sweeps import numbers_a_row, rows_of, swept
from tests.numpy.matrices import normal

WIDTHS = [(0, 0), (1, 1), (0, 2), (2, 0), (3, 5)]


@pytest.mark.parametrize("widths", WIDTHS)
@pytest.mark.parametrize("ordered", [False, True])
def test_they_solve_with_the_matrix_and_its_transpose(widths: tuple[int, int], ordered: bool) -> None:
    below, above = widths
    diagonals = normal(below + above + 1, 50)
    diagonals[above] += 3.0 * (1 + below + above)
    matrix, b = rows_of(diagonals, above, 0, 50, 0, 50), normal(50)
    sweeps = swept(diagonals, below, above)
    assert sweeps is not None
    if ordered:
        order = np.random.default_rng(1).permutation(50)
        sweeps = replace(sweeps, order=order)
        matrix = matrix[np.argsort(order)][:, np.argsort(order)]
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
