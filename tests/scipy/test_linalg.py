"""scipy.linalg's mirrors: SciPy's values on traced arrays and on NumPy arrays, and gradients."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg

from primsplit.scipy.linalg import cho_factor, cho_solve, solve_triangular
from primsplit.testing import check_grads

RANDOM = np.random.default_rng(0)
FULL = RANDOM.standard_normal((4, 4)) + 4 * np.eye(4)
RIGHT = RANDOM.standard_normal((4, 3))


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("trans", [0, 1])
@pytest.mark.parametrize("unit", [False, True])
def test_solve_triangular_reads_one_triangle(lower: bool, trans: int, unit: bool) -> None:
    options: dict[str, Any] = {"lower": lower, "trans": trans, "unit_diagonal": unit}
    np.testing.assert_allclose(
        solve_triangular(FULL, RIGHT, **options), scipy.linalg.solve_triangular(FULL, RIGHT, **options), rtol=1e-12
    )
    check_grads(lambda a, b: solve_triangular(a, b, **options), FULL, RIGHT, value_tolerance=1e-10)


def test_solve_triangular_takes_a_vector() -> None:
    check_grads(lambda a, b: solve_triangular(a, b, lower=True), FULL, RIGHT[:, 0], value_tolerance=1e-10)


@pytest.mark.parametrize("lower", [False, True])
def test_cho_solve_solves_by_the_factor(lower: bool) -> None:
    a = FULL @ FULL.T
    expected = scipy.linalg.cho_solve(scipy.linalg.cho_factor(a, lower), RIGHT)
    np.testing.assert_allclose(cho_solve(cho_factor(a, lower), RIGHT), expected, rtol=1e-10)
    check_grads(lambda a, b: cho_solve(cho_factor(a, lower), b), a, RIGHT, value_tolerance=1e-10)
