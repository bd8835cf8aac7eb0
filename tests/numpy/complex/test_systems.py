"""Systems of complex equations: NumPy's values, and gradients by both parts."""

import pytest

from tests.numpy.complex.linear_rows import check_row, rows_of


@pytest.mark.sweep(16)
@pytest.mark.parametrize("name", rows_of("systems"))
def test_a_function_of_complex_matrices_is_numpys_with_gradients(name: str) -> None:
    check_row(name)
