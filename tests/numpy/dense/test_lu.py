"""Gaussian elimination: as accurate as LAPACK's, for singular matrices and large batches too."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import primsplit as ps
from primsplit.numpy.failing import nan_where_singular
from tests.numpy.matrices import normal

Array = np.ndarray[Any, Any]


def graded(n: int) -> Array:
    left, right = np.linalg.qr(normal(n, n))[0], np.linalg.qr(normal(n, n, seed=1))[0]
    return left * 10.0 ** -np.linspace(0, 14, n) @ right


HARD = {
    "normal": lambda n: normal(n, n),
    "Hilbert": scipy.linalg.hilbert,
    "singular values that fall": graded,
    "rows of other sizes": lambda n: normal(n, n) * 10.0 ** np.linspace(-12, 12, n)[:, None],
    "columns of other sizes": lambda n: normal(n, n) * 10.0 ** np.linspace(-12, 12, n),
    "growth of pivots": lambda n: np.eye(n) - np.tril(np.ones((n, n)), -1) + np.eye(n)[:, -1:] * np.ones(n),
    "needs pivots": lambda n: np.fliplr(np.eye(n)) + 1e-20 * normal(n, n),
}


def backward_error(a: Array, x: Array, b: Array) -> Any:
    """In units of rounding."""
    size = np.max(np.sum(np.abs(a), axis=1)) * np.max(np.abs(x)) + np.max(np.abs(b))
    return np.max(np.abs(a @ x - b)) / size / np.finfo(a.dtype).eps


@pytest.mark.sweep(18)
@pytest.mark.parametrize("is_symbolic", [False, True])
@pytest.mark.parametrize("n", [12, 33, 64, 100])
@pytest.mark.parametrize("name", HARD)
def test_hard_systems_are_solved_as_accurately_as_by_lapack(name: str, n: int, is_symbolic: bool) -> None:
    a, b = HARD[name](n), normal(n, 2, seed=3)
    size = "N" if is_symbolic else n
    specs = ps.spec("float64", [size, size]), ps.spec("float64", [size, 2])
    found = ps.trace(nan_where_singular.solve, *specs)(a, b)
    assert backward_error(a, found, b) <= 2 * backward_error(a, np.linalg.solve(a, b), b) + 1


@pytest.mark.parametrize("size", [40, "N"])
def test_factors_of_singular_matrices_are_factors(size: int | str) -> None:
    """Columns of zeros, within a panel and across two, leave a zero on the diagonal of U."""
    a = np.random.default_rng(0).integers(-2, 3, (40, 40)).astype(float)
    a[:, 3] = 0.0
    a[:, 20] = a[:, 5] + a[:, 7]
    a[17] = a[2]
    p, left, right = ps.trace(scipy.linalg.lu, ps.spec("float64", [size, size]))(a)
    np.testing.assert_array_equal(np.sort(np.argmax(p, axis=0)), np.arange(40))
    np.testing.assert_allclose(p @ left @ right, a, atol=1e-12)
    assert right[3, 3] == 0.0
    assert np.max(np.abs(left)) <= 1.0


@pytest.mark.parametrize("size", [5, 70, "N"])
def test_a_matrix_that_holds_nan_has_no_solution_of_numbers(size: int | str) -> None:
    n = 70 if size == "N" else size
    program = ps.trace(nan_where_singular.solve, ps.spec("float64", [size, size]), ps.spec("float64", [size]))
    for place in [(0, 0), (n - 1, 0), (1, n - 1), (n - 1, n - 1), (n // 2, n // 3)]:
        a = normal(n, n)
        a[place] = np.nan
        assert np.isnan(program(a, np.ones(n))).any(), place


def test_larger_batches_are_factored_by_panels() -> None:
    a = normal(2, 40, 40)
    a[1, :, 2] = 0.0
    np.testing.assert_allclose(ps.trace(np.linalg.det, a)(a), np.linalg.det(a), rtol=1e-10)
    b = a @ np.swapaxes(a, 1, 2) + np.eye(40)
    np.testing.assert_allclose(ps.trace(np.linalg.cholesky, b)(b), np.linalg.cholesky(b), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(ps.trace(np.linalg.inv, b)(b), np.linalg.inv(b), rtol=1e-8, atol=1e-9)
