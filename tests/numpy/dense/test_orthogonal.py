"""The orthogonal polar factor: nearest to the matrix, with a derivative where values are equal too."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import primsplit as ps
from primsplit.numpy.dense.orthogonal import orthogonal_factor
from tests.numpy.matrices import normal, regular


@pytest.mark.parametrize("shape", [(3, 3), (5, 5), (4, 2)])
def test_it_is_the_factor_of_scipys_polar_decomposition(shape: tuple[int, int]) -> None:
    a = normal(*shape) + 2 * np.eye(*shape)
    np.testing.assert_allclose(ps.trace(orthogonal_factor, a)(a), scipy.linalg.polar(a)[0], atol=1e-13)


@pytest.mark.parametrize("a", [regular(3, 3), np.eye(3) * 2.0])
def test_the_derivative_is_that_of_differences_also_where_singular_values_are_equal(a: Any) -> None:
    def by_differences(direction: np.ndarray) -> np.ndarray:
        ends = [scipy.linalg.polar(a + s * 1e-6 * direction)[0] for s in (1, -1)]
        return (ends[0] - ends[1]) / 2e-6

    weights, direction = normal(3, 3, seed=3), normal(3, 3, seed=4)
    slope = ps.grad(lambda a: np.sum(weights * orthogonal_factor(a)))(a)
    np.testing.assert_allclose((slope * direction).sum(), (weights * by_differences(direction)).sum(), rtol=1e-6)
