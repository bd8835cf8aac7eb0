"""Gauss quadrature with powers of the distances as weights: exact for polynomials of twice its degree."""

import numpy as np
import pytest
import scipy.special as sp

from primsplit.special.quadrature import gauss_jacobi


@pytest.mark.parametrize("at_zero", [0.0, -0.5, 1.5])
@pytest.mark.parametrize("at_one", [0.0, 0.25, -0.75])
@pytest.mark.parametrize("count", [2, 5, 12])
def test_moments_are_beta_functions(count: int, at_zero: float, at_one: float) -> None:
    nodes, weights = np.array(gauss_jacobi(count, at_zero, at_one)).T
    assert np.all((nodes > 0) & (nodes < 1) & (weights > 0))
    for k in range(2 * count):
        np.testing.assert_allclose(weights @ nodes**k, sp.beta(at_zero + k + 1, at_one + 1), rtol=1e-12)


def test_nodes_and_weights_are_scipys() -> None:
    nodes, weights = sp.roots_jacobi(7, 0.5, -0.25)  # of (1 - x)**0.5 (1 + x)**-0.25 on [-1, 1]
    found = np.array(gauss_jacobi(7, -0.25, 0.5)).T
    np.testing.assert_allclose(found[0], (nodes + 1) / 2, rtol=1e-13)
    np.testing.assert_allclose(found[1], weights / 2**1.25, rtol=1e-12)
