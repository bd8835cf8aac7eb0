"""scipy.sparse.linalg's solutions of linear systems: SciPy's values, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sparse_linalg
from scipy.sparse import coo_matrix
from scipy.sparse.linalg import spsolve

import primsplit as ps
from primsplit.testing import check_grads
from tests.frontends.scipy.matrices import BANDS, MATRIX, X, at_places, check_matrices


def truss(x: Any) -> Any:
    """Springs in a row: element matrices added where elements meet, one end held."""
    elements = (x**2)[:, None, None] * np.array([[1.0, -1.0], [-1.0, 1.0]])
    ends = np.stack([np.arange(6), np.arange(1, 7)], axis=1)
    rows, columns = np.repeat(ends, 2, axis=1).ravel(), np.tile(ends, 2).ravel()
    stiffness = coo_matrix((elements.ravel(), (rows, columns)), shape=(7, 7)).tocsc()
    return spsolve(stiffness[1:, 1:], np.arange(1.0, 7.0))


def implicit_step(x: Any) -> Any:
    return spsolve(sp.eye(6) - 0.1 * x[0] ** 2 * MATRIX, x)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "blocks": lambda x: spsolve(
        sp.bmat([[at_places(x) + 4 * sp.eye(6), None], [-MATRIX, sp.diags(3 + x)]], format="csc"), np.arange(12.0)
    ),
    "a truss": truss,
    "an implicit step": implicit_step,
    "a known matrix": lambda x: spsolve(MATRIX, x) + spsolve(MATRIX, x[:, None]),
    "several right sides": lambda x: spsolve(BANDS, np.stack([x, x * x], axis=1)),
    "an iteration": lambda x: sum(
        getattr(sparse_linalg, n)(BANDS, x, rtol=1e-13)[0] for n in ("gmres", "bicgstab", "lgmres")
    ),
}


@pytest.mark.sweep(8)
@pytest.mark.parametrize("name", ["bicg", "bicgstab", "cg", "cgs", "gmres", "lgmres", "minres", "qmr"])
def test_an_iteration_has_its_derivatives_at_every_size(name: str) -> None:
    def f(x: Any) -> Any:
        matrix = sp.csr_array(np.outer(x, x) / 9 + np.diag(4 + x * x))
        return getattr(sparse_linalg, name)(matrix, x, rtol=1e-13)[0]

    check_grads(f, X[:3], value_tolerance=1e-10)


def test_a_batch_of_matrices_is_each_examples_own() -> None:
    xs = np.stack([X, X**2, X + 3])
    np.testing.assert_allclose(ps.vmap(lambda x: truss(x))(xs), [truss(x) for x in xs], rtol=1e-11)


def test_an_iteration_takes_a_matrix_that_is_traced() -> None:
    square = np.array([[4.0, 1.0, 0.3], [1.0, 3.0, 0.2], [0.3, 0.2, 2.0]])

    def solved(a: Any, x: Any) -> Any:
        return sparse_linalg.cg(a @ a.T, x, rtol=1e-14)[0] + sparse_linalg.gmres(a, x, rtol=1e-14)[0]

    check_grads(solved, square, np.array([1.0, -0.4, 0.7]), value_tolerance=1e-10)


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    check_matrices(FUNCTIONS[name])
