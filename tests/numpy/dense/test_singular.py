"""Singular values and vectors: NumPy's, with small ones right, and pseudo-inverses."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.numpy.dense.singular import reduced_svd, singular_values
from tests.numpy.matrices import normal


@pytest.mark.sweep(9)
@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (3, 5), (6, 6)])
@pytest.mark.parametrize("is_known", [True, False])
def test_factors_are_orthonormal_and_give_the_matrix(shape: tuple[int, int], is_known: bool) -> None:
    a = normal(*shape)
    u, s, vh = ps.trace(reduced_svd, ps.spec("float64", shape if is_known else ["M", "N"]))(a)
    k = min(shape)
    np.testing.assert_allclose(s, np.linalg.svd(a)[1], rtol=1e-13)
    np.testing.assert_allclose(u.T @ u, np.eye(k), atol=1e-13)
    np.testing.assert_allclose(vh @ vh.T, np.eye(k), atol=1e-13)
    np.testing.assert_allclose((u * s) @ vh, a, atol=1e-13)


def test_values_of_graded_rows_keep_their_digits() -> None:
    q = np.linalg.qr(normal(4, 4))[0]
    grades = np.array([1.0, 1e-5, 1e-10, 1e-15])
    a = grades[:, None] * q
    np.testing.assert_allclose(ps.trace(singular_values, a)(a), grades, rtol=1e-12)
