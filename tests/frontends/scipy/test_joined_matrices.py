"""Sparse matrices joined from others: SciPy's values where some elements are traced, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.frontends.scipy.matrices import BANDS, MATRIX, at_places, check_matrices

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "Kronecker's products": lambda x: (
        sp.kron(sp.eye(2), at_places(x)) @ np.tile(x, 2)
        + sp.kron(sp.diags(x[:2]), MATRIX, format="csr") @ np.tile(x, 2)
    ),
    "Kronecker's sum": lambda x: sp.kronsum(sp.diags(x[:2]), sp.eye(3) * x[2]) @ x,
    "one below the other": lambda x: sp.vstack([at_places(x), sp.eye(6), MATRIX]) @ x,
    "side by side": lambda x: x @ sp.hstack([BANDS, sp.csr_array(np.outer(x, x))]),
    "newer blocks": lambda x: sp.block_array([[at_places(x, sp.coo_array)], [BANDS]]) @ x,
    "blocks of a diagonal": lambda x: sp.block_diag((at_places(x)[:2], x[None, :3], 2.0)) @ np.arange(10.0),
    "triangles": lambda x: sp.tril(at_places(x) + MATRIX, -1) @ x + sp.triu(at_places(x) - MATRIX).T @ x,
}


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    check_matrices(FUNCTIONS[name])
