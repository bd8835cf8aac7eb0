"""Factors and determinants of complex matrices: NumPy's values, and gradients by both parts."""

import numpy as np
import pytest

import primsplit as ps
from tests.numpy.agreement import check_grads
from tests.numpy.complex.linear_rows import check_row, parts, rows_of


@pytest.mark.parametrize("name", rows_of("factors"))
def test_a_function_of_complex_matrices_is_numpys_with_gradients(name: str) -> None:
    check_row(name)


def test_a_singular_matrix_has_the_determinant_0_and_small_ones_their_cofactors() -> None:
    zero = np.zeros((5, 5))
    det = ps.trace(lambda a, b: parts(np.linalg.det(a + 1j * b)), zero, zero)(zero, zero)
    assert tuple(det) == (0.0, 0.0)
    sign, imaginary, log = ps.trace(lambda a, b: parts(tuple(np.linalg.slogdet(a + 1j * b))), zero, zero)(zero, zero)
    assert (sign, imaginary, log) == (0.0, 0.0, -np.inf)
    singular = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])
    check_grads(lambda a, b: parts(np.linalg.det(a + 1j * b)), singular, 0 * singular, symbolic=False)
