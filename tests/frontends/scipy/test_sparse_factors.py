"""scipy.sparse.linalg's factors and functions of sparse matrices: SciPy's values, and gradients."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sparse_linalg
import scipy.spatial

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


def test_a_compiled_method_that_is_not_served_is_refused_at_its_line() -> None:
    tree = scipy.spatial.cKDTree(np.eye(2))

    def f(x: Any) -> Any:
        return np.sum(x) * tree.count_neighbors(x, 1.0)

    with pytest.raises(ps.PrimsplitError, match="compiled function cannot take a traced array") as raised:
        ps.grad(f)(np.ones(2))
    assert "tree.count_neighbors(x, 1.0)" in str(raised.value)


SYSTEM = (sp.random(12, 12, 0.3, random_state=1) + sp.diags(np.arange(1.0, 13.0))).tocsc()
FACTORS: dict[str, Any] = {
    "SuperLU.solve": sparse_linalg.splu(SYSTEM).solve,
    "factorized": sparse_linalg.factorized(SYSTEM),
}


@pytest.mark.parametrize("name", FACTORS)
def test_factors_from_outside_solve_for_a_traced_right_side(name: str) -> None:
    solve, b = FACTORS[name], np.linspace(-1.0, 1.0, 12)
    inverse = np.linalg.inv(SYSTEM.toarray())
    np.testing.assert_allclose(ps.grad(lambda b: np.sum(solve(b) ** 2))(b), 2 * inverse.T @ (inverse @ b), rtol=1e-9)
    columns = np.stack([b, b**2], axis=1)
    np.testing.assert_allclose(ps.trace(lambda c: solve(c), columns)(columns), solve(columns), atol=1e-14)


@pytest.mark.parametrize("trans", ["N", "T"])
def test_factors_from_outside_solve_with_the_transpose(trans: str) -> None:
    factors, b = sparse_linalg.splu(SYSTEM), np.linspace(-1.0, 1.0, 12)
    found = ps.trace(lambda b: factors.solve(b, trans), b)
    np.testing.assert_allclose(found(b), factors.solve(b, trans), atol=1e-14)


def test_a_file_of_factors_from_outside_grows_with_their_diagonals(tmp_path: Path) -> None:
    count = 1000
    beside = np.ones(count - 1)
    factors = sparse_linalg.splu(sp.diags([beside, np.full(count, 4.0), beside], [-1, 0, 1], format="csc"))
    ps.trace(lambda b: factors.solve(b), np.ones(count)).save(tmp_path / "f.onnx")
    assert (tmp_path / "f.onnx").stat().st_size < 64 * 8 * count


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    check_matrices(FUNCTIONS[name])
