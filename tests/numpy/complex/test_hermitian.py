"""Eigenvalues and eigenvectors of Hermitian matrices: NumPy's values, and gradients by both parts."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from tests.numpy.complex.linear_rows import X, Y, check_row, rows_of


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", rows_of("hermitian"))
def test_a_function_of_complex_matrices_is_numpys_with_gradients(name: str) -> None:
    check_row(name)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("size", [1, 2, 5, 24])
def test_eigenvalues_are_right_and_eigenvectors_orthonormal_also_where_values_are_equal(size: int, dtype: Any) -> None:
    random = np.random.default_rng(size)
    basis = np.linalg.qr(random.standard_normal((size, size)) + 1j * random.standard_normal((size, size)))[0]
    values = np.repeat([-1.0, 0.5, 2.0, 1e-3], 6)[:size]
    matrix = ((basis * values) @ basis.conj().T).astype(dtype)

    def f(a: Any, b: Any) -> Any:
        values, vectors = np.linalg.eigh(a + 1j * b)
        return values, vectors.real, vectors.imag

    found, u, v = ps.trace(f, matrix.real, matrix.imag)(matrix.real, matrix.imag)
    units = 20 * np.finfo(dtype).eps
    assert u.dtype == matrix.real.dtype
    np.testing.assert_allclose(found, np.sort(values), atol=size * units)
    vectors = u + 1j * v
    np.testing.assert_allclose(vectors.conj().T @ vectors, np.eye(size), atol=size * units)
    np.testing.assert_allclose((vectors * found) @ vectors.conj().T, matrix, atol=size * units)
    largest = vectors[np.argmax(abs(vectors), axis=0), np.arange(size)]
    np.testing.assert_allclose(largest.imag, 0, atol=units)
    assert (largest.real > 0).all()


def test_the_sum_of_powers_of_equal_eigenvalues_has_its_gradient() -> None:
    basis = np.linalg.qr(X + 1j * Y)[0]
    matrix = (basis * np.array([1.0, 1.0, 1.0, 2.0])) @ basis.conj().T

    def f(a: Any, b: Any) -> Any:
        return np.sum(np.linalg.eigvalsh(a + 1j * b) ** 3)

    found = ps.grad(lambda a, b: f((a + a.T) / 2, (b - b.T) / 2), wrt=(0, 1))(matrix.real, matrix.imag)
    wanted = 3 * matrix @ matrix
    np.testing.assert_allclose(found[0], wanted.real, atol=1e-10)
    np.testing.assert_allclose(found[1], wanted.imag, atol=1e-10)
