"""Sparse matrices of SciPy beside traced arrays: every format on either side, by every operator."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse as sp
from scipy.sparse import issparse

import primsplit as ps
from primsplit.testing import check_grads
from tests.frontends.scipy.matrices import BANDS, MATRIX, at_places, check_matrices

random = np.random.default_rng(5)

FEM = scipy.sparse.diags_array([-1.0, 2.0, -1.5], offsets=[-1, 0, 1], shape=(40, 40)).tocsr()

FORMATS = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")


@pytest.mark.parametrize("kind", [f"{f}_{k}" for f in FORMATS for k in ("array", "matrix")])
def test_every_format_is_multiplied(kind: str) -> None:
    a = getattr(scipy.sparse, kind)(FEM)
    x = random.standard_normal(40)
    product = (lambda x: a * x) if kind.endswith("matrix") else (lambda x: a @ x)
    np.testing.assert_allclose(ps.trace(product, x)(x), product(x), rtol=1e-13)
    np.testing.assert_allclose(ps.grad(lambda x: np.sum((a @ x) ** 2))(x), 2 * (FEM.T @ (FEM @ x)), rtol=1e-12)
    check_grads(lambda y: product(np.outer(x, np.sin(y)))[:3], np.array([0.3, -0.8]))


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "times a number": lambda x: (sp.eye_array(6) - x[0] * BANDS + BANDS / x[1]) @ x,
    "a matrix times a number": lambda x: (MATRIX * x[0] - sp.eye(6)) * x + x * MATRIX,
    "times element by element": lambda x: (BANDS.multiply(x) + BANDS * x - at_places(x).multiply(x)).toarray(),
    "`*` of a matrix on either side": lambda x: at_places(x) * x + x * at_places(x) + at_places(x) * MATRIX * x,
    "`*` of an array on either side": lambda x: (x * at_places(x, sp.coo_array) * x).toarray(),
    "questions": lambda x: x * issparse(at_places(x)) * isinstance(MATRIX, sp.csr_matrix) * at_places(x).shape[0],
}


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    check_matrices(FUNCTIONS[name])
