"""Triangular systems of batches by substitution."""

import numpy as np
import pytest
import scipy.linalg

import primsplit as ps
from primsplit.numpy.dense.substitution import substituted
from tests.numpy.matrices import normal, regular


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("n", [1, 4, 9])
def test_a_solution_is_scipys(n: int, lower: bool, unit: bool) -> None:
    t, b = regular(3, n, n), normal(3, n, 2, seed=1)
    found = ps.trace(lambda t, b: substituted(t, b, lower=lower, unit=unit), t, b)(t, b)
    for one, matrix, right in zip(found, t, b, strict=True):
        wanted = scipy.linalg.solve_triangular(matrix, right, lower=lower, unit_diagonal=unit)
        np.testing.assert_allclose(one, wanted, rtol=1e-10, atol=1e-11)
