"""Sparse matrices of traced elements, and systems with sparse matrices: SciPy's values and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sparse_linalg
from scipy.sparse import coo_matrix, issparse
from scipy.sparse.linalg import spsolve

import primsplit as ps
from primsplit.ir.errors import ShapeError, UnsupportedFunction
from primsplit.testing import check_grads

X = np.array([0.5, 1.25, -0.75, 1.5, 2.0, -1.0])
BANDS = sp.diags_array([-1.0, 2.5, -0.5], offsets=[-1, 0, 1], shape=(6, 6)).tocsr()
MATRIX = sp.csr_matrix(BANDS)
ROWS, COLUMNS = np.array([0, 1, 2, 3, 4, 5, 0, 1]), np.array([1, 2, 3, 4, 5, 0, 1, 2])
STARTS, WITHIN = [0, 2, 3, 3, 6], [0, 2, 1, 3, 2, 1]


def at_places(x: Any, form: Callable[..., Any] = sp.csr_matrix) -> Any:
    return form((x, (ROWS[:6], COLUMNS[:6])), shape=(6, 6))


def truss(x: Any) -> Any:
    """Springs in a row: element matrices added where elements meet, one end held."""
    elements = (x**2)[:, None, None] * np.array([[1.0, -1.0], [-1.0, 1.0]])
    ends = np.stack([np.arange(6), np.arange(1, 7)], axis=1)
    rows, columns = np.repeat(ends, 2, axis=1).ravel(), np.tile(ends, 2).ravel()
    stiffness = coo_matrix((elements.ravel(), (rows, columns)), shape=(7, 7)).tocsc()
    return spsolve(stiffness[1:, 1:], np.arange(1.0, 7.0))


def implicit_step(x: Any) -> Any:
    return spsolve(sp.eye(6) - 0.1 * x[0] ** 2 * MATRIX, x)


def dominant(x: Any) -> Any:
    return sp.csc_matrix(at_places(x) + 4 * sp.eye(6))


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "places that are floats": lambda x: coo_matrix((x, (ROWS[:6] * 1.0, COLUMNS[:6] * 1.0)), (6, 6)) @ x,
    "elements of one place are added": lambda x: coo_matrix((np.append(x, x[:2]), (ROWS, COLUMNS))) @ x,
    "rows one after the other": lambda x: sp.csr_matrix((x, WITHIN, STARTS)).T.toarray(),
    "columns one after the other": lambda x: sp.csc_array((x, WITHIN, STARTS), shape=(5, 4)).toarray(),
    "of an array": lambda x: sp.csr_array(np.outer(x, x), dtype=np.float32).dot(x),
    "diags": lambda x: sp.diags([x[:5], 2.0, x[1:] ** 2], [-1, 0, 1], shape=(6, 6)) * x,
    "diags of a shape": lambda x: sp.diags([x[:4], x[:1]], [1, 0], shape=(4, 6)).toarray(),
    "diags_array": lambda x: sp.diags_array(x, offsets=-1).tocsr()[1:, :-1] @ x,
    "times a number": lambda x: (sp.eye_array(6) - x[0] * BANDS + BANDS / x[1]) @ x,
    "a matrix times a number": lambda x: (MATRIX * x[0] - sp.eye(6)) * x + x * MATRIX,
    "times element by element": lambda x: (BANDS.multiply(x) + BANDS * x - at_places(x).multiply(x)).toarray(),
    "`*` of a matrix on either side": lambda x: at_places(x) * x + x * at_places(x) + at_places(x) * MATRIX * x,
    "`*` of an array on either side": lambda x: (x * at_places(x, sp.coo_array) * x).toarray(),
    "sums and products of matrices": lambda x: (
        at_places(x) @ at_places(x).T + 2 * at_places(x) - MATRIX @ at_places(x) / x[0] - (MATRIX - at_places(-x))
    ).toarray(),
    "parts": lambda x: at_places(x)[1:, [0, 3]].toarray() * at_places(x)[0, 1] + at_places(x).diagonal(1)[0],
    "sums of rows": lambda x: np.asarray(at_places(x).sum(axis=1)).ravel() + at_places(x).sum(),
    "Kronecker's products": lambda x: (
        sp.kron(sp.eye(2), at_places(x)) @ np.tile(x, 2)
        + sp.kron(sp.diags(x[:2]), MATRIX, format="csr") @ np.tile(x, 2)
    ),
    "Kronecker's sum": lambda x: sp.kronsum(sp.diags(x[:2]), sp.eye(3) * x[2]) @ x,
    "one below the other": lambda x: sp.vstack([at_places(x), sp.eye(6), MATRIX]) @ x,
    "side by side": lambda x: x @ sp.hstack([BANDS, sp.csr_array(np.outer(x, x))]),
    "blocks": lambda x: spsolve(
        sp.bmat([[at_places(x) + 4 * sp.eye(6), None], [-MATRIX, sp.diags(3 + x)]], format="csc"), np.arange(12.0)
    ),
    "newer blocks": lambda x: sp.block_array([[at_places(x, sp.coo_array)], [BANDS]]) @ x,
    "blocks of a diagonal": lambda x: sp.block_diag((at_places(x)[:2], x[None, :3], 2.0)) @ np.arange(10.0),
    "triangles": lambda x: sp.tril(at_places(x) + MATRIX, -1) @ x + sp.triu(at_places(x) - MATRIX).T @ x,
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
    "questions": lambda x: x * issparse(at_places(x)) * isinstance(MATRIX, sp.csr_matrix) * at_places(x).shape[0],
    "a truss": truss,
    "an implicit step": implicit_step,
    "a known matrix": lambda x: spsolve(MATRIX, x) + spsolve(MATRIX, x[:, None]),
    "several right sides": lambda x: spsolve(BANDS, np.stack([x, x * x], axis=1)),
    "an iteration": lambda x: sum(
        getattr(sparse_linalg, n)(BANDS, x, rtol=1e-13)[0] for n in ("gmres", "bicgstab", "lgmres")
    ),
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    f = FUNCTIONS[name]
    found, wanted = ps.trace(f, X)(X), f(X)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-6 if name == "of an array" else 1e-11, atol=1e-12)
    if name != "of an array":
        modes = ("reverse", "forward")
        check_grads(lambda x: np.sum(np.sin(f(x))), X, modes=modes, symbolic=False, value_tolerance=1e-10, step=1e-3)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", ["bicg", "bicgstab", "cg", "cgs", "gmres", "lgmres", "minres", "qmr"])
def test_an_iteration_has_its_derivatives_at_every_size(name: str) -> None:
    def f(x: Any) -> Any:
        matrix = sp.csr_array(np.outer(x, x) / 9 + np.diag(4 + x * x))
        return getattr(sparse_linalg, name)(matrix, x, rtol=1e-13)[0]

    check_grads(f, X[:3], value_tolerance=1e-10)


def test_a_batch_of_matrices_is_each_examples_own() -> None:
    xs = np.stack([X, X**2, X + 3])
    np.testing.assert_allclose(ps.vmap(lambda x: truss(x))(xs), [truss(x) for x in xs], rtol=1e-11)


def test_one_file_serves_every_size() -> None:
    def f(x: Any) -> Any:
        n, places = x.shape[0], np.arange(x.shape[0])
        chain = sp.csr_matrix((x, (places, places[::-1])), shape=(n, n)) + sp.diags([x[1:], 3.0], [1, 0], shape=(n, n))
        return spsolve(chain + sp.diags(x), x)

    made = ps.trace(f, ps.spec("float64", ["N"]))
    for n in (1, 2, 5):
        np.testing.assert_allclose(made(X[:n]), f(X[:n]), rtol=1e-12)


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


def test_what_has_no_form_is_told_at_the_users_line() -> None:
    for function in (
        lambda x: at_places(x).eliminate_zeros(),
        lambda x: sp.bsr_matrix((x.reshape(6, 1, 1), COLUMNS[:6], np.arange(7))).toarray(),
        lambda x: sparse_linalg.cg(BANDS, x, callback=print)[0],
    ):
        with pytest.raises(UnsupportedFunction) as caught:
            ps.trace(function, X)
        assert caught.value.place is not None
        assert caught.value.place.filename == __file__
    with pytest.raises(ShapeError, match="1 diagonals have 2 offsets"):
        ps.trace(lambda x: sp.diags([x], [0, 1]) @ x, X)


def test_a_factor_that_was_made_outside_says_what_takes_a_traced_array() -> None:
    factor = sparse_linalg.splu(sp.csc_matrix(2 * np.eye(3)))

    def f(x: Any) -> Any:
        return np.sum(factor.solve(x) ** 2)

    with pytest.raises(ps.PrimsplitError, match="compiled function cannot take a traced array") as raised:
        ps.grad(f)(np.ones(3))
    assert "factor.solve(x)" in str(raised.value)
    assert "spsolve" in str(raised.value)


def test_an_iteration_takes_a_matrix_that_is_traced() -> None:
    square = np.array([[4.0, 1.0, 0.3], [1.0, 3.0, 0.2], [0.3, 0.2, 2.0]])

    def solved(a: Any, x: Any) -> Any:
        return sparse_linalg.cg(a @ a.T, x, rtol=1e-14)[0] + sparse_linalg.gmres(a, x, rtol=1e-14)[0]

    check_grads(solved, square, np.array([1.0, -0.4, 0.7]), value_tolerance=1e-10)
