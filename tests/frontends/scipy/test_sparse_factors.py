"""scipy.sparse.linalg's factors and functions of sparse matrices: SciPy's values, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sparse_linalg

import primsplit as ps
from tests.frontends.scipy.matrices import MATRIX, at_places, check_matrices, dominant

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "factors": lambda x: (
        sparse_linalg.splu(dominant(x).tocsc()).solve(x, "T") + sparse_linalg.factorized(dominant(x))(x)
    ),
    "factors of a known matrix": lambda x: (
        sparse_linalg.splu(MATRIX.tocsc()).solve(x)
        + sparse_linalg.factorized(MATRIX.tocsc())(x[:, None])[:, 0]
        + sparse_linalg.splu(A=MATRIX.tocsc()).solve(np.ones(6))
    ),
    "a triangular system": lambda x: sparse_linalg.spsolve_triangular(sp.tril(dominant(x), format="csr"), x),
    "an inverse": lambda x: sparse_linalg.inv(sp.csc_array(dominant(x))) @ x,
    "exponentials": lambda x: sparse_linalg.expm(0.1 * dominant(x)) @ x + sparse_linalg.expm_multiply(at_places(x), x),
    "norms": lambda x: x * sparse_linalg.norm(dominant(x)) + sparse_linalg.norm(dominant(x), axis=1),
}


def test_a_factor_that_was_made_outside_says_what_takes_a_traced_array() -> None:
    factor = sparse_linalg.splu(sp.csc_matrix(2 * np.eye(3)))

    def f(x: Any) -> Any:
        return np.sum(factor.solve(x) ** 2)

    with pytest.raises(ps.PrimsplitError, match="compiled function cannot take a traced array") as raised:
        ps.grad(f)(np.ones(3))
    assert "factor.solve(x)" in str(raised.value)
    assert "spsolve" in str(raised.value)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    check_matrices(FUNCTIONS[name])
