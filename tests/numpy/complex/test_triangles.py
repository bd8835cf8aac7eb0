"""Matrices as S T S^-1 with a triangle T, and eigenvectors of length 1 that are substituted back from it."""

import functools
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.numpy.complex.triangles import eigenvectors, lengths, of_complex, of_real
from tests.numpy.matrices import normal

REAL = {
    "all real": np.diag([1.0, 2, 4]) + 0.1 * normal(3, 3),
    "a pair": np.array([[0.5, -2, 0.3], [1.5, 0.2, 0.1], [0.4, 1, 3]]),
    "two pairs": np.kron(np.eye(2), [[0.0, -1], [1, 0]]) + 0.1 * normal(4, 4),
    "one": np.array([[3.0]]),
    "far from 1": 1e150 * normal(3, 3),
}


SIZED = ps.spec("float64", ["N", "N"])


def parted(found: Any) -> Any:
    vectors = eigenvectors(found)
    return (*found.triangle, *found.basis, *found.values, found.scale, found.defect, *vectors, lengths(vectors))


def check_triangle(a: Any, found: Any) -> None:
    """T, S, values and vectors belong to the matrix."""
    t, s, values = (found[i] + 1j * found[i + 1] for i in (0, 2, 4))
    scale, defect, vectors, size = np.squeeze(found[6]), found[7], found[8] + 1j * found[9], found[10]
    assert defect == 0
    np.testing.assert_array_equal(np.tril(t, -1), 0 * t)
    np.testing.assert_allclose(s @ t @ np.linalg.inv(s), a / scale, atol=1e-12)
    np.testing.assert_allclose(values * scale, np.linalg.eigvals(a), rtol=1e-10)
    np.testing.assert_allclose((a / scale) @ vectors, vectors * values, atol=1e-12)
    np.testing.assert_allclose(size, np.ones((1, len(a))), rtol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=0), 1.0, rtol=1e-14)


@functools.cache
def of_reals() -> Any:
    return ps.trace(lambda a: parted(of_real(a)), SIZED)


@functools.cache
def of_pairs() -> Any:
    return ps.trace(lambda x, y: parted(of_complex(x, y)), SIZED, SIZED)


@pytest.mark.parametrize("name", REAL)
def test_a_real_matrix_has_a_complex_triangle(name: str) -> None:
    check_triangle(REAL[name], of_reals()(REAL[name]))


@pytest.mark.parametrize("n", [1, 2, 4])
def test_a_complex_matrix_has_its_triangle(n: int) -> None:
    x, y = normal(n, n), normal(n, n, seed=1)
    check_triangle(x + 1j * y, of_pairs()(x, y))


def test_a_matrix_that_is_not_finite_is_told_by_its_defect() -> None:
    x = np.array([[1.0, np.nan], [0.0, 1.0]])
    assert np.isnan(of_reals()(x)[7]).all()
    assert np.isnan(of_pairs()(x, x)[7]).all()
