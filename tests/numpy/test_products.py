"""NumPy's products: values against plain NumPy, gradients to order 2 against central differences, symbolic sizes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import PrimsplitError, RunError, ShapeError
from tests.numpy.agreement import check_grads
from tests.versions import is_since

Shapes = list[tuple[int, ...]]


def arrays(shapes: Shapes, seed: int = 0) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [random.standard_normal(s) for s in shapes]


PRODUCTS: list[tuple[str, Callable[..., Any], Shapes]] = [
    ("matmul of matrices", np.matmul, [(3, 4), (4, 5)]),
    ("matmul of matrix and vector", np.matmul, [(3, 4), (4,)]),
    ("matmul of vector and matrix", np.matmul, [(3,), (3, 4)]),
    ("matmul of vectors", np.matmul, [(4,), (4,)]),
    ("matmul of batches", np.matmul, [(2, 3, 4), (2, 4, 5)]),
    ("matmul of batches that broadcast", np.matmul, [(2, 1, 3, 4), (6, 4, 5)]),
    ("matmul of batch and matrix", np.matmul, [(2, 3, 4), (4, 5)]),
    ("matmul of matrix and batch", np.matmul, [(3, 4), (2, 4, 5)]),
    ("matmul of vector and batch", np.matmul, [(4,), (2, 4, 5)]),
    ("matmul of batch and vector", np.matmul, [(2, 3, 4), (4,)]),
    ("matmul along other axes", lambda a, b: np.matmul(a, b, axes=[(0, 1), (1, 0), (1, 0)]), [(3, 4), (5, 4)]),
    ("dot of three axes", np.dot, [(2, 3, 4), (5, 4, 6)]),
    ("dot with a number", lambda a: np.dot(a, 2.0), [(3, 4)]),
    ("dot with a list", lambda a: np.dot(a, [1.0, 2.0, 3.0, 4.0]), [(3, 4)]),
    ("vdot", np.vdot, [(3, 4), (4, 3)]),
    ("inner", np.inner, [(2, 3, 4), (5, 4)]),
    ("outer", np.outer, [(3, 4), (5,)]),
    ("tensordot over two axes", lambda a, b: np.tensordot(a, b, 2), [(2, 3, 4), (3, 4, 5)]),
    ("tensordot over none", lambda a, b: np.tensordot(a, b, 0), [(3, 4), (2,)]),
    ("tensordot over listed axes", lambda a, b: np.tensordot(a, b, ([0, 2], [2, 0])), [(2, 3, 4), (4, 3, 2)]),
    ("kron", np.kron, [(3, 4), (2, 3)]),
    ("kron of unlike ranks", np.kron, [(4,), (2, 3)]),
    ("multi_dot", lambda *f: np.linalg.multi_dot(f), [(4,), (4, 3), (3, 5), (5,)]),
    ("vecdot", np.vecdot, [(2, 3), (2, 3)]),
    ("vecdot along an axis", lambda a, b: np.vecdot(a, b, axis=0), [(2, 3), (2, 3)]),
    *([("matvec", np.matvec, [(2, 3, 4), (2, 4)])] if is_since("numpy", "2.2") else []),
    *([("vecmat", np.vecmat, [(2, 3), (2, 3, 4)])] if is_since("numpy", "2.2") else []),
    ("linalg.matmul", np.linalg.matmul, [(3, 4), (4, 5)]),
    ("linalg.outer", np.linalg.outer, [(3,), (4,)]),
    ("linalg.vecdot", np.linalg.vecdot, [(2, 3), (2, 3)]),
]


@pytest.mark.parametrize(("function", "shapes"), [row[1:] for row in PRODUCTS], ids=[row[0] for row in PRODUCTS])
def test_a_product_and_its_gradients_are_numpys(function: Callable[..., Any], shapes: Shapes) -> None:
    check_grads(function, *arrays(shapes), resize=(1, 0))


EQUATIONS: list[tuple[str, Shapes]] = [
    ("ij,jk->ik", [(3, 4), (4, 5)]),
    ("ij,jk", [(3, 4), (4, 5)]),
    ("ij,kj->ki", [(3, 4), (5, 4)]),
    ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
    ("...ij,...jk", [(2, 3, 4), (4, 5)]),
    ("...i,...i", [(2, 3), (3,)]),
    ("i,i", [(4,), (4,)]),
    ("ij,ij->i", [(3, 4), (3, 4)]),
    ("i,j->ji", [(3,), (4,)]),
    ("ijk->ki", [(2, 3, 4)]),
    ("ij->", [(3, 4)]),
    ("ij,j->ij", [(3, 4), (4,)]),
    ("ij,jk,kl->il", [(3, 4), (4, 5), (5, 2)]),
    ("i,ij,j", [(3,), (3, 4), (4,)]),
    ("bi,bj,bk->bijk", [(2, 3), (2, 4), (2, 5)]),
    ("ij,k->ik", [(3, 4), (5,)]),
    ("ijk,ijl->kl", [(2, 3, 4), (2, 3, 5)]),
    ("ij,jk->ik", [(2, 1), (3, 4)]),
    ("ii", [(3, 3)]),
    ("iij->ji", [(3, 3, 2)]),
    ("ii,i->i", [(3, 3), (3,)]),
]


@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS)
def test_an_einsum_and_its_gradients_are_numpys(equation: str, shapes: Shapes) -> None:
    check_grads(lambda *operands: np.einsum(equation, *operands), *arrays(shapes))


def test_an_einsum_may_be_written_with_lists_of_labels() -> None:
    check_grads(lambda a, b: np.einsum(a, [0, 1], b, [1, 2], [2, 0]), *arrays([(3, 4), (4, 5)]))


def test_an_einsum_has_no_einsum_in_it() -> None:
    program = ps.trace(lambda a, b: np.einsum("bij,bjk->bik", a, b), *arrays([(2, 3, 4), (2, 4, 5)]))
    assert [op.kind for op in program.block.ops] == ["MatMul"]


CROSSES: list[tuple[Callable[..., Any], Shapes]] = [
    (np.cross, [(4, 3), (4, 3)]),
    (lambda a, b: np.cross(a, b, axis=0), [(3, 4), (3, 1)]),
    (lambda a, b: np.cross(a, b, axisc=0), [(4, 3), (4, 3)]),
    (np.linalg.cross, [(2, 3), (2, 3)]),
]


@pytest.mark.parametrize(("function", "shapes"), CROSSES)
def test_a_cross_product_and_its_gradients_are_numpys(function: Callable[..., Any], shapes: Shapes) -> None:
    check_grads(function, *arrays(shapes), symbolic=False)


@pytest.mark.sweep(12)
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("sizes", [(7, 4), (3, 6), (3, 5)])
def test_a_convolution_and_its_gradients_are_numpys(mode: str, sizes: tuple[int, int]) -> None:
    point = arrays([(n,) for n in sizes])
    check_grads(lambda a, v: np.convolve(a, v, mode), *point)
    check_grads(lambda a, v: np.correlate(a, v, mode), *point, symbolic=mode != "same")


INTEGERS = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("function", [np.matmul, lambda a, b: np.einsum("ij,jk->ik", a, b)])
def test_integer_products_keep_their_dtype_and_wrap_like_numpys(function: Callable[..., Any], dtype: str) -> None:
    random = np.random.default_rng(0)
    a, b = (random.integers(0, 2 if dtype == "bool" else 100, s).astype(dtype) for s in [(3, 4), (4, 2)])
    found, expected = ps.trace(function, a, b)(a, b), function(a, b)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize("inner", [0, 1, 4])
def test_a_symbolic_matmul_runs_at_sizes_zero_and_one(rows: int, inner: int) -> None:
    specs = ps.spec("float64", ["N", "K"]), ps.spec("float64", ["K", 2])
    a, b, dy = arrays([(rows, inner), (inner, 2), (rows, 2)])
    y, da, db = ps.split(np.matmul, *specs).joint().session()(a, b, dy)
    np.testing.assert_allclose(y, a @ b, atol=1e-13)
    np.testing.assert_allclose(da, dy @ b.T, atol=1e-13)
    np.testing.assert_allclose(db, a.T @ dy, atol=1e-13)


WRONG: list[tuple[str, Callable[..., Any], Shapes]] = [
    ("inner sizes", np.matmul, [(3, 4), (5, 6)]),
    ("vector sizes", np.matmul, [(3,), (4,)]),
    ("einsum sizes", lambda a, b: np.einsum("ij,jk->ik", a, b), [(3, 4), (5, 6)]),
    ("einsum output", lambda a: np.einsum("ij->k", a), [(3, 4)]),
    ("einsum ellipsis", lambda a: np.einsum("...i->i", a), [(3, 4)]),
    ("einsum terms", lambda a: np.einsum("ij,jk->ik", a), [(3, 4)]),
    ("tensordot axes", lambda a, b: np.tensordot(a, b, 1), [(3, 4), (5, 6)]),
    ("cross size", np.cross, [(2, 4), (2, 4)]),
]


@pytest.mark.parametrize(("function", "shapes"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_a_product_that_cannot_be_is_refused_at_the_users_line(function: Callable[..., Any], shapes: Shapes) -> None:
    def user(*operands: Any) -> Any:
        return function(*operands)

    with pytest.raises(PrimsplitError) as refused:
        ps.trace(user, *arrays(shapes))
    assert refused.value.place is not None
    assert refused.value.place.filename == __file__


def test_a_path_of_products_is_numpys() -> None:
    def chained(a: Any, b: Any, c: Any) -> Any:
        path, told = np.einsum_path("ij,jk,kl->il", a, b, c, optimize="optimal")
        assert path == np.einsum_path("ij,jk,kl->il", *given, optimize="optimal")[0]
        assert "Complete contraction" in told
        return np.einsum("ij,jk,kl->il", a, b, c, optimize=path)

    given = arrays([(4, 3), (3, 5), (5, 2)])
    np.testing.assert_allclose(ps.trace(chained, *given)(*given), given[0] @ given[1] @ given[2], rtol=1e-12)


@pytest.mark.parametrize("sizes", [(0, 2), (2, 0), (0, 0)])
@pytest.mark.parametrize("function", [np.convolve, np.correlate])
def test_nothing_is_not_convolved(function: Callable[..., Any], sizes: tuple[int, int]) -> None:
    a, v = np.zeros(sizes[0]), np.zeros(sizes[1])
    with pytest.raises(ShapeError, match="cannot be empty"):
        ps.trace(function, a, v)
    with pytest.raises(RunError):
        ps.trace(function, ps.spec("float64", ["N"]), ps.spec("float64", ["M"]))(a, v)
