"""scipy.linalg's eigenvalues of matrices that need not be symmetric: those of the matrix, and what is refused."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction


def spectrum(values: Any) -> Any:
    return values[np.lexsort((values.imag, values.real))]


def test_eigenvalues_are_complex_and_solve_the_equation_of_the_matrix() -> None:
    turned = np.array([[1.0, -2.0], [3.0, 1.5]])
    for matrix in (turned, np.diag([3.0, -1.0])):
        values, vectors = ps.trace(lambda a: scipy.linalg.eig(a), matrix)(matrix)
        assert values.dtype == np.complex128
        np.testing.assert_allclose(spectrum(values), spectrum(scipy.linalg.eigvals(matrix)), rtol=1e-12)
        np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-12)
        alone = ps.trace(lambda a: scipy.linalg.eigvals(a), matrix)(matrix)
        np.testing.assert_allclose(spectrum(alone), spectrum(values), rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "cure"),
    [({"b": np.eye(2)}, "linalg.solve"), ({"left": True}, "inv"), ({"homogeneous_eigvals": True}, "Leave it out")],
)
def test_what_has_no_form_is_refused_with_what_to_write(options: dict[str, Any], cure: str) -> None:
    with pytest.raises(UnsupportedFunction) as raised:
        ps.trace(lambda a: scipy.linalg.eig(a, **options)[0], np.eye(2))
    assert cure in str(raised.value)
