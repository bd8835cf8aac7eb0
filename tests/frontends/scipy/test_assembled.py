"""Sparse matrices of traced elements, and systems with sparse matrices: SciPy's values and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sparse_linalg
from scipy.sparse import coo_matrix
from scipy.sparse.linalg import spsolve

import primsplit as ps
from primsplit.ir.errors import ShapeError, UnsupportedFunction
from tests.frontends.scipy.matrices import BANDS, COLUMNS, MATRIX, ROWS, X, at_places, check_matrices

STARTS, WITHIN = [0, 2, 3, 3, 6], [0, 2, 1, 3, 2, 1]


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "places that are floats": lambda x: coo_matrix((x, (ROWS[:6] * 1.0, COLUMNS[:6] * 1.0)), (6, 6)) @ x,
    "elements of one place are added": lambda x: coo_matrix((np.append(x, x[:2]), (ROWS, COLUMNS))) @ x,
    "rows one after the other": lambda x: sp.csr_matrix((x, WITHIN, STARTS)).T.toarray(),
    "columns one after the other": lambda x: sp.csc_array((x, WITHIN, STARTS), shape=(5, 4)).toarray(),
    "of an array": lambda x: sp.csr_array(np.outer(x, x), dtype=np.float32).dot(x),
    "diags": lambda x: sp.diags([x[:5], 2.0, x[1:] ** 2], [-1, 0, 1], shape=(6, 6)) * x,
    "diags of a shape": lambda x: sp.diags([x[:4], x[:1]], [1, 0], shape=(4, 6)).toarray(),
    "diags_array": lambda x: sp.diags_array(x, offsets=-1).tocsr()[1:, :-1] @ x,
    "sums and products of matrices": lambda x: (
        at_places(x) @ at_places(x).T + 2 * at_places(x) - MATRIX @ at_places(x) / x[0] - (MATRIX - at_places(-x))
    ).toarray(),
    "parts": lambda x: at_places(x)[1:, [0, 3]].toarray() * at_places(x)[0, 1] + at_places(x).diagonal(1)[0],
    "sums of rows": lambda x: np.asarray(at_places(x).sum(axis=1)).ravel() + at_places(x).sum(),
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    f = FUNCTIONS[name]
    if name == "of an array":
        np.testing.assert_allclose(ps.trace(f, X)(X), f(X), rtol=1e-6)
    else:
        check_matrices(f)


def test_one_file_serves_every_size() -> None:
    def f(x: Any) -> Any:
        n, places = x.shape[0], np.arange(x.shape[0])
        chain = sp.csr_matrix((x, (places, places[::-1])), shape=(n, n)) + sp.diags([x[1:], 3.0], [1, 0], shape=(n, n))
        return spsolve(chain + sp.diags(x), x)

    made = ps.trace(f, ps.spec("float64", ["N"]))
    for n in (1, 2, 5):
        np.testing.assert_allclose(made(X[:n]), f(X[:n]), rtol=1e-12)


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
