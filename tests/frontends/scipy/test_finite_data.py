"""Functions of scipy.linalg fail for NaN and infinity in what they check, and for nothing else."""

from typing import Any

import numpy as np
import pytest
from scipy import linalg

import primsplit as ps
from primsplit.ir.errors import RunError

MATRIX = np.array([[4.0, 1.0], [1.0, 3.0]])
MISSING = np.array([[4.0, np.nan], [1.0, 3.0]])


def test_without_the_check_missing_numbers_pass_as_in_scipy() -> None:
    def inverse(a: Any, *, check_finite: bool) -> Any:
        return linalg.inv(a, check_finite=check_finite)

    program = ps.trace(lambda a: inverse(a, check_finite=False), MATRIX)
    assert np.isnan(program(MISSING)).any()
    with pytest.raises(RunError, match="must not contain infs or NaNs"):
        ps.trace(lambda a: inverse(a, check_finite=True), MATRIX)(MISSING)
    by_place = ps.trace(lambda a: linalg.inv(a, False, False), MATRIX)
    assert np.isnan(by_place(MISSING)).any()


@pytest.mark.parametrize("missing", [np.nan, np.inf, complex(0.0, np.nan)])
def test_complex_matrices_and_known_sides_are_checked(missing: Any) -> None:
    side = np.ones(2, complex)
    program = ps.trace(lambda a: linalg.solve(a, side), MATRIX + 0j)
    np.testing.assert_allclose(program(MATRIX + 0j), linalg.solve(MATRIX, side), rtol=1e-12)
    with pytest.raises(RunError, match="must not contain infs or NaNs"):
        program(np.array([[4.0, missing], [1.0, 3.0]], complex))
    with pytest.raises(ValueError, match="must not contain infs or NaNs"):
        ps.trace(lambda a: linalg.solve(a, np.array([1.0, np.nan])), MATRIX)


def test_the_functions_own_except_and_the_gradient_are_those_of_scipy() -> None:
    def logarithm(a: Any) -> Any:
        try:
            return np.log(linalg.det(a))
        except ValueError:
            return np.sum(a[0, 0] ** 2)

    gradient = ps.grad(logarithm)
    np.testing.assert_allclose(gradient(MATRIX), np.linalg.inv(MATRIX).T, rtol=1e-12)
    np.testing.assert_array_equal(gradient(MISSING), [[8.0, 0.0], [0.0, 0.0]])


def test_a_function_that_checks_nothing_answers() -> None:
    assert np.isnan(ps.trace(linalg.expm, MATRIX)(MISSING)).any()
