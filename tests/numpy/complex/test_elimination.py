"""Determinants of complex matrices: NumPy's values, and gradients by both parts."""

import numpy as np
import pytest

import primsplit as ps
from tests.numpy.agreement import check_grads
from tests.numpy.complex.linear_rows import check_row, parts, rows_of


def test_a_singular_matrix_has_the_determinant_0_and_small_ones_their_cofactors() -> None:
    zero = np.zeros((5, 5))
    det = ps.trace(lambda a, b: parts(np.linalg.det(a + 1j * b)), zero, zero)(zero, zero)
    assert tuple(det) == (0.0, 0.0)
    sign, imaginary, log = ps.trace(lambda a, b: parts(tuple(np.linalg.slogdet(a + 1j * b))), zero, zero)(zero, zero)
    assert (sign, imaginary, log) == (0.0, 0.0, -np.inf)
    singular = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])
    check_grads(lambda a, b: parts(np.linalg.det(a + 1j * b)), singular, 0 * singular, symbolic=False)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", rows_of("elimination"))
def test_a_function_of_complex_matrices_is_numpys_with_gradients(name: str) -> None:
    check_row(name)


def test_the_largest_element_of_a_column_is_taken_for_its_pivot() -> None:
    """Without exchanges of rows the small pivot would leave no digit."""
    a = np.array([[1e-20 + 0j, 1, 2j], [1, 1j, 1], [2, 1, 1 + 1j]])
    found = ps.trace(lambda x, y: parts(np.linalg.det(np.kron(x + 1j * y, np.eye(2)))), a.real, a.imag)(a.real, a.imag)
    np.testing.assert_allclose(found[0] + 1j * found[1], np.linalg.det(a) ** 2, rtol=1e-14)
