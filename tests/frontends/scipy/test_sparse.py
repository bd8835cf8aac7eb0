"""Sparse matrices times traced arrays: SciPy's values, and gradients, for every format and either side."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import primsplit as ps
from primsplit.ir.errors import ShapeError
from primsplit.testing import check_grads

random = np.random.default_rng(5)
FEM = scipy.sparse.diags_array([-1.0, 2.0, -1.5], offsets=[-1, 0, 1], shape=(40, 40)).tocsr()
UNEVEN = scipy.sparse.csr_array(np.outer(np.arange(30) == 3, np.ones(30)) + np.eye(30) * 0.5)
FULL = scipy.sparse.csr_array(random.standard_normal((4, 6)))
WIDE = scipy.sparse.random_array((25, 60), density=0.04, rng=random).tocsr()
NOTHING = scipy.sparse.csr_array((5, 12))
MATRICES = {"bands": FEM, "a long row": UNEVEN, "a full one": FULL, "a wide one": WIDE, "none but zeros": NOTHING}


@pytest.mark.parametrize("name", MATRICES)
def test_products_on_either_side_are_scipys_with_gradients(name: str) -> None:
    a = MATRICES[name]
    x, several, left = (0.5 + random.random(s) for s in (a.shape[1], (a.shape[1], 2), a.shape[0]))

    def f(x: Any, several: Any, left: Any) -> Any:
        return a @ x, np.sin(a @ several), left @ a, a.T @ left, a.dot(x)

    for found, wanted in zip(ps.trace(f, x, several, left)(x, several, left), f(x, several, left), strict=True):
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-14)
    check_grads(lambda x, y: np.sum(np.sin(a @ x)) + np.sum((y @ a) ** 3), x, left, order=2, symbolic=False)


def test_the_gradient_of_a_banded_product_scatters_nothing() -> None:
    made = ps.split(lambda x: np.sum((FEM @ x) ** 2), ps.spec("float64", [40])).joint().to_onnx()
    assert not {n.op_type for n in made.graph.node} & {"ScatterND", "ScatterElements"}


@pytest.mark.parametrize("columns", [0, 1, 3])
def test_one_file_serves_any_number_of_columns(columns: int) -> None:
    x = random.standard_normal((40, columns))
    program = ps.trace(lambda x: FEM @ x, ps.spec("float64", [40, "N"]))
    np.testing.assert_allclose(program(x), FEM @ x, rtol=1e-13)


def test_dtypes_are_promoted_as_in_scipy() -> None:
    for dtype in (np.float32, np.int64):
        a, x = FEM.astype(dtype), np.arange(40, dtype=np.float32)
        found = ps.trace(lambda x, a=a: a @ x, x)(x)
        assert found.dtype == (a @ x).dtype
        np.testing.assert_allclose(found, a @ x, rtol=1e-6)


def test_sizes_that_do_not_fit_are_told_at_the_users_line() -> None:
    with pytest.raises(ShapeError, match="sparse matrix of shape") as caught:
        ps.trace(lambda x: FEM @ x, np.ones(7))
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__


def test_a_batch_of_products_is_each_examples_own() -> None:
    x = random.standard_normal((3, 40))
    np.testing.assert_allclose(ps.vmap(lambda x: FEM @ x)(x), (FEM @ x.T).T, rtol=1e-13)
