"""Large Toeplitz matrices: products and solutions as SciPy's, derivatives, and files that grow with the size."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import primsplit as ps
from primsplit.frontends.scipy.toeplitz import Inverse, inverse_of, of_toeplitz
from tests.numpy.matrices import normal

Array = np.ndarray[Any, Any]


def decaying(n: int) -> tuple[Array, Array]:
    away = np.arange(n)
    return 3.0 * 0.7**away, np.where(away, -1.0, 3.0) / (1.0 + away) ** 1.5


@pytest.mark.parametrize("sizes", [(200, 300), (300, 200)])
def test_a_large_product_is_that_of_the_matrix(sizes: tuple[int, int]) -> None:
    (column, _), (_, row) = map(decaying, sizes)
    matrix = scipy.linalg.toeplitz(column, row)
    for x in (normal(sizes[1]), normal(sizes[1], 2)):
        program = ps.trace(lambda x: scipy.linalg.matmul_toeplitz((column, row), x), x)
        np.testing.assert_allclose(program(x), matrix @ x, atol=1e-13)
        assert len(program.to_onnx().SerializeToString()) < column.size * row.size * 8 / 4


def test_a_product_has_derivatives_by_the_matrix_too() -> None:
    column, row = decaying(200)
    x, weights = normal(200), normal(200, seed=1)
    slopes = ps.grad(lambda c, r, x: np.sum(scipy.linalg.matmul_toeplitz((c, r), x) * weights), wrt=["c", "r", "x"])
    by_column, by_row, by_x = slopes(column, row, x)
    along = np.correlate(weights, x, "full")  # the sums of weights[i] x[j] for each i - j
    np.testing.assert_allclose(by_column, along[199:], atol=1e-12)
    np.testing.assert_allclose(by_row, np.r_[0.0, along[198::-1]], atol=1e-12)
    np.testing.assert_allclose(by_x, scipy.linalg.toeplitz(column, row).T @ weights, atol=1e-12)


def gaussian(n: int) -> tuple[Array, Array]:
    """A matrix whose condition is 1e6."""
    column = np.exp(-0.5 * (np.arange(n) / 2.0) ** 2)
    column[0] += 5e-6
    return column, column


def shifted(n: int) -> tuple[Array, Array]:
    """A matrix whose largest numbers are beside the diagonal."""
    column, row = 0.3 * normal(n, seed=3) / np.sqrt(n), 0.3 * normal(n, seed=4) / np.sqrt(n)
    column[0] = row[0] = 0.5
    column[1] = 2.0
    return column, row


@pytest.mark.parametrize("made", [decaying, gaussian, shifted])
def test_a_known_system_is_solved_as_accurately_as_by_scipy(made: Any) -> None:
    n = 300
    column, row = made(n)
    matrix = scipy.linalg.toeplitz(column, row)
    smooth = matrix @ np.cos(np.arange(n) / 9)
    program = ps.trace(lambda b: scipy.linalg.solve_toeplitz((column, row), b), normal(n))
    for b in (normal(n), np.ones(n), smooth):
        scipys = scipy.linalg.solve_toeplitz((column, row), b)
        found, least = (np.max(np.abs(matrix @ x - b)) for x in (program(b), scipys))
        assert found <= 8 * least + 2e-15 * (np.max(np.sum(np.abs(matrix), axis=1)) * np.max(np.abs(scipys)) + 1)


@pytest.mark.parametrize("made", [decaying, gaussian])
def test_a_solution_has_the_gradient_of_the_transpose_and_a_small_file(made: Any) -> None:
    n = 500
    column, row = made(n)
    b, weights = normal(n, 2), normal(n, 2, seed=1)
    program = ps.split(lambda b: scipy.linalg.solve_toeplitz((column, row), b), b).joint()
    transposed = np.linalg.solve(scipy.linalg.toeplitz(column, row).T, weights)
    np.testing.assert_allclose(program(b, weights)[1], transposed, rtol=1e-6, atol=1e-9 * np.max(np.abs(transposed)))
    assert len(program.to_onnx().SerializeToString()) < n * n * 8 / 2


def test_the_inverse_is_that_of_the_matrix_and_corrects_solutions() -> None:
    column, row = decaying(150)
    matrix, b = scipy.linalg.toeplitz(column, row), normal(150)
    found = of_toeplitz(column, row)
    assert isinstance(found, Inverse)
    np.testing.assert_allclose(matrix @ found.solve_known(b), b, atol=1e-13)
    np.testing.assert_allclose(matrix.T @ found.transposed().solve_known(b), b, atol=1e-13)
    rough = Inverse(150, found.matrix, found.left * (1 + 1e-7), found.right, corrections=1)
    np.testing.assert_allclose(matrix @ ps.trace(rough.solve, b[:, None])(b[:, None])[:, 0], b, atol=1e-12)


def test_few_diagonals_are_swept() -> None:
    column = np.r_[4.0, 1.0, np.zeros(298)]
    assert not isinstance(of_toeplitz(column, column), Inverse | None)


def test_a_matrix_with_a_singular_minor_has_no_such_inverse() -> None:
    column = np.r_[0.0, 1.0, 0.5, np.zeros(197)]
    assert inverse_of(column, column) is None
