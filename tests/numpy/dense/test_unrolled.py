"""Batches of matrices of up to 8 rows: values against LAPACK, gradients to order 2, hard matrices, any batch."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import primsplit as ps
from tests.numpy.agreement import check_grads
from tests.numpy.matrices import definite, normal, regular

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]


def lower_solution(a: Any, b: Any) -> Any:
    return np.linalg.solve(np.tril(a), b)


def upper_solution(a: Any, b: Any) -> Any:
    return np.linalg.solve(np.triu(a), b)


def slogdet(a: Any) -> Any:
    return tuple(np.linalg.slogdet(a))


FUNCTIONS: list[tuple[Function, Callable[..., Array], int]] = [
    (np.linalg.solve, regular, 3),
    (lower_solution, regular, 1),
    (upper_solution, regular, 3),
    (np.linalg.inv, regular, 0),
    (np.linalg.det, normal, 0),
    (slogdet, regular, 0),
    (np.linalg.cholesky, definite, 0),
]
NAMES = [f.__name__ for f, _, _ in FUNCTIONS]


def kinds(graph: Any) -> Iterator[str]:
    """The operators of a graph and of the graphs inside it."""
    for node in graph.node:
        yield node.op_type
        for attribute in node.attribute:
            yield from kinds(attribute.g)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 8])
@pytest.mark.parametrize(("function", "make", "columns"), FUNCTIONS, ids=NAMES)
def test_many_matrices_are_solved_without_a_loop(
    function: Function, make: Callable[..., Array], columns: int, n: int
) -> None:
    point = [make(5, n, n), *([normal(5, n, columns)] if columns else [])]
    specs = [ps.spec("float64", ["B", *x.shape[1:]]) for x in point]
    program = ps.trace(function, *specs)
    assert not {"Loop", "Scan"} & set(kinds(program.to_onnx().graph))
    for batch in (5, 1, 0):
        given = [x[:batch] for x in point]
        expected, found = function(*given), program(*given)
        for x, y in zip(expected, found, strict=True) if isinstance(expected, tuple) else [(expected, found)]:
            np.testing.assert_allclose(y, x, rtol=1e-11, atol=1e-12, strict=True)


@pytest.mark.sweep(7)
@pytest.mark.parametrize("shape", [(2, 2, 2), (2, 3, 3), (2, 1, 5, 5)])
@pytest.mark.parametrize(("function", "make", "columns"), FUNCTIONS, ids=NAMES)
def test_gradients_of_a_batch_are_central_differences(
    function: Function, make: Callable[..., Array], columns: int, shape: tuple[int, ...]
) -> None:
    point = [make(*shape), *([normal(*shape[:-1], columns)] if columns else [])]
    check_grads(function, *point, value_tolerance=1e-10, symbolic=False)


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("function", "make", "columns"), FUNCTIONS, ids=NAMES)
def test_a_large_batch_has_the_gradients_of_its_matrices(
    function: Function, make: Callable[..., Array], columns: int
) -> None:
    """Its products are written out, those of a few matrices are not."""
    point = [make(70, 4, 4), *([normal(70, 4, columns)] if columns else [])]

    def total(*given: Any) -> Any:
        found = function(*given)
        return sum((np.sum(np.sin(x)) for x in (found if isinstance(found, tuple) else [found])), start=0.0)

    whole = ps.grad(total, wrt=range(len(point)))(*point)
    parts = [ps.grad(total, wrt=range(len(point)))(*(x[i : i + 1] for x in point)) for i in (0, 33, 69)]
    for mine, *each in zip(whole, *parts, strict=True):
        np.testing.assert_allclose(mine[[0, 33, 69]], np.concatenate(each), rtol=1e-10, atol=1e-12)


HARD: dict[str, Callable[[int], Array]] = {
    "Hilbert": lambda n: scipy.linalg.hilbert(n)[None],
    "rows of other sizes": lambda n: normal(30, n, n) * 10.0 ** np.linspace(-12, 12, n)[:, None],
    "columns of other sizes": lambda n: normal(30, n, n) * 10.0 ** np.linspace(-12, 12, n),
    "singular values that fall": lambda n: _with_values(n, 10.0 ** -np.linspace(0, 13, n)),
    "one singular value of rounding": lambda n: _with_values(n, np.where(np.arange(n) == 1, 1e-15, 1.0)),
    "rank one and rounding": lambda n: _with_values(n, np.where(np.arange(n) == 0, 1.0, 1e-9)),
    "needs pivots": lambda n: np.fliplr(np.eye(n))[None] + 1e-20 * normal(30, n, n),
    "tiny numbers": lambda n: 1e-250 * normal(30, n, n),
    "huge numbers": lambda n: 1e250 * normal(30, n, n),
}


def _with_values(n: int, values: Array) -> Array:
    left, right = np.linalg.qr(normal(30, n, n))[0], np.linalg.qr(normal(30, n, n, seed=1))[0]
    return left * values @ right


def _worst(a: Array, x: Array, b: Array) -> Any:
    """The backward error of each solution, in units of rounding."""
    residual = np.max(np.abs(a @ x - b), axis=(1, 2))
    size = np.max(np.sum(np.abs(a), axis=2), axis=1) * np.max(np.abs(x), axis=(1, 2)) + np.max(np.abs(b), axis=(1, 2))
    return np.max(residual / size) / np.finfo(a.dtype).eps


@pytest.mark.sweep(3)
@pytest.mark.parametrize("n", [2, 3, 4, 6, 8])
@pytest.mark.parametrize("name", HARD)
def test_hard_matrices_are_solved_as_accurately_as_by_lapack(name: str, n: int) -> None:
    a, b = HARD[name](n), normal(len(HARD[name](n)), n, 1, seed=2)
    mine = ps.trace(np.linalg.solve, a, b)(a, b)
    assert _worst(a, mine, b) <= 2 * _worst(a, np.linalg.solve(a, b), b) + 1
    sign, log = ps.trace(slogdet, a)(a)
    expected = np.linalg.slogdet(a)
    units = np.linalg.cond(a) * np.finfo(a.dtype).eps
    np.testing.assert_array_equal(sign[units < 0.1], expected[0][units < 0.1])
    assert np.all(np.abs(log - expected[1]) <= n * units + 1e-15 * np.abs(expected[1]))


@pytest.mark.parametrize("n", [2, 4, 8])
def test_float32_stays_float32_and_is_as_accurate(n: int) -> None:
    a, b = normal(200, n, n).astype("float32"), normal(200, n, 1).astype("float32")
    mine = ps.trace(np.linalg.solve, a, b)(a, b)
    assert mine.dtype == np.float32
    assert _worst(a, mine, b) <= 2 * _worst(a, scipy.linalg.solve(a, b), b) + 1


@pytest.mark.sweep(3)
@pytest.mark.parametrize("n", [2, 3, 4, 8])
def test_the_columns_of_an_inverse_are_as_accurate_as_lapacks(n: int) -> None:
    for make in HARD.values():
        a, one = make(n), np.eye(n)
        found = ps.trace(np.linalg.inv, a)(a)
        assert _worst(a, found, one[None]) <= 2 * _worst(a, np.linalg.inv(a), one[None]) + 1


@pytest.mark.parametrize("n", [2, 4, 8])
def test_singular_matrices_of_a_batch_leave_the_others_alone(n: int) -> None:
    a = regular(4, n, n)
    a[1] = 0.0
    a[2] = np.outer(np.arange(n), np.arange(1.0, n + 1))
    with pytest.raises(np.linalg.LinAlgError):
        ps.trace(np.linalg.inv, a)(a)
    program = ps.split(np.linalg.det, a).joint()
    det, gradient = program(a, np.ones(4))
    np.testing.assert_allclose(det, np.linalg.det(a), rtol=1e-12, atol=1e-12)
    for matrix, found in zip(a, gradient, strict=True):
        np.testing.assert_allclose(found, _cofactors(matrix), rtol=1e-10, atol=1e-10)
    sign, log = ps.trace(slogdet, a)(a)
    np.testing.assert_array_equal(sign[1:3], 0)
    np.testing.assert_array_equal(log[1:3], -np.inf)


def _cofactors(a: Array) -> Array:
    """By deleting a row and a column for each."""
    found = np.zeros_like(a)
    for i, j in np.ndindex(*a.shape):
        found[i, j] = (-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1))
    return found


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("batch", [(), (1,)])
def test_a_matrix_that_holds_nan_has_no_solution_of_numbers(batch: tuple[int, ...], n: int) -> None:
    from primsplit.numpy.failing import nan_where_singular

    a, b = regular(*batch, n, n), np.ones((*batch, n, 1))
    program = ps.trace(nan_where_singular.solve, a, b)
    for place in np.ndindex(n, n):
        given = a.copy()
        given[..., *place] = np.nan
        assert np.isnan(program(given, b)).any(), place


def test_matrices_of_one_more_row_are_factored_by_a_loop() -> None:
    a = regular(3, 9, 9)
    assert "Scan" in set(kinds(ps.trace(np.linalg.inv, a).to_onnx().graph))
