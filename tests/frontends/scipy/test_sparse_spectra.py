"""scipy.sparse.linalg's few eigenvalues and singular values: SciPy's values, and gradients."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sparse_linalg

import primsplit as ps
from primsplit.testing import check_grads
from tests.frontends.scipy.matrices import X


@pytest.mark.sweep(5)
@pytest.mark.parametrize("which", ["LM", "SM", "LA", "SA", "BE"])
def test_a_few_eigenvalues_are_scipys(which: Any) -> None:
    def f(x: Any) -> Any:
        matrix = sp.diags([x[1:], np.arange(x.shape[0]) - 2.2, x[1:]], [-1, 0, 1])
        values, vectors = sparse_linalg.eigsh(matrix, k=3, which=which)
        alone = sparse_linalg.eigsh(matrix.toarray(), 3, which=which, return_eigenvectors=False)
        return values, vectors**2, alone

    check_grads(f, X, value_tolerance=1e-10, resize=(5,))
    with pytest.raises(ps.PrimsplitError):
        ps.trace(f, ps.spec("float64", ["N"]))(X[:3])


def test_eigenvalues_near_a_number_and_of_a_pair_of_matrices_are_scipys() -> None:
    def f(x: Any) -> Any:
        matrix = sp.csr_array(np.outer(x, x) + np.diag(np.arange(6.0)))
        near = sparse_linalg.eigsh(matrix, 2, sigma=2.3, return_eigenvectors=False)
        return near, sparse_linalg.eigsh(matrix, 2, sp.diags_array(2 + x), which="SA")[0]

    check_grads(f, X, symbolic=False, value_tolerance=1e-10)


def test_a_few_singular_values_are_scipys() -> None:
    def f(x: Any) -> Any:
        matrix = sp.csr_matrix(np.outer(x, x)[:, 1:] + np.eye(6, 5) * np.arange(1.0, 6.0))
        u, s, vh = sparse_linalg.svds(matrix, k=2)
        return u**2, s, vh**2, sparse_linalg.svds(matrix, 2, which="SM", return_singular_vectors=False)

    check_grads(f, X, symbolic=False, value_tolerance=1e-10)
