"""Eigenvalues and eigenvectors of symmetric matrices by Jacobi's method."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.numpy.dense.symmetric import eigenpairs, eigenvalues
from tests.numpy.matrices import symmetric


@pytest.mark.parametrize("n", [1, 2, 3, 7, 12])
@pytest.mark.parametrize("is_known", [True, False])
def test_pairs_are_lapacks_in_rising_order(n: int, is_known: bool) -> None:
    a = symmetric(n, n)
    values, vectors = ps.trace(eigenpairs, ps.spec("float64", [n, n] if is_known else ["N", "N"]))(a)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(a), atol=1e-12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n), atol=1e-12)
    np.testing.assert_allclose(a @ vectors, vectors * values, atol=1e-12)


def test_the_slope_of_a_value_is_the_square_of_its_vector() -> None:
    a = symmetric(4, 4)
    slope = ps.grad(lambda a: np.linalg.eigvalsh((a + a.T) / 2)[1])(a)
    vector = np.linalg.eigh(a)[1][:, 1]
    np.testing.assert_allclose(slope, np.outer(vector, vector), atol=1e-12)
    np.testing.assert_allclose(ps.trace(eigenvalues, a)(a), np.linalg.eigvalsh(a), atol=1e-12)
