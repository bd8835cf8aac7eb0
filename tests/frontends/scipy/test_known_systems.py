"""Known systems of few diagonals: SciPy's solutions and residuals, derivatives, and files that grow with the size."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

import primsplit as ps
from primsplit.frontends.scipy.known_systems import Ordered, inverse_of, of_diagonals
from primsplit.frontends.scipy.partitions import Partition
from primsplit.frontends.scipy.sweeps import Sweeps
from tests.numpy.agreement import check_grads
from tests.numpy.matrices import normal

Array = np.ndarray[Any, Any]
WIDTHS = [(0, 0), (1, 1), (0, 2), (2, 0), (2, 1), (3, 5)]


def diagonals(widths: tuple[int, int], n: int) -> Array:
    found = normal(sum(widths) + 1, n)
    found[widths[1]] += 3 * (1 + sum(widths))
    return found


@pytest.mark.parametrize("n", [6, 23, 24, 25, 100])
@pytest.mark.parametrize("widths", WIDTHS)
def test_a_known_band_is_solved_as_by_scipy(widths: tuple[int, int], n: int) -> None:
    known = diagonals(widths, n)
    for b in (normal(n), normal(n, 3)):
        program = ps.trace(lambda b: scipy.linalg.solve_banded(widths, known, b), b)
        np.testing.assert_allclose(program(b), scipy.linalg.solve_banded(widths, known, b), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("widths", [(1, 1), (2, 1)])
def test_derivatives_are_central_differences(widths: tuple[int, int]) -> None:
    known = diagonals(widths, 30)
    check_grads(lambda b: scipy.linalg.solve_banded(widths, known, b) ** 3, normal(30, 2), value_tolerance=1e-9)


SCALES: dict[str, Callable[[int], Array]] = {
    "as drawn": np.ones,
    "columns of other sizes": lambda n: 10.0 ** np.linspace(-8, 8, n),
    "a small column": lambda n: np.where(np.arange(n) == n // 2, 1e-13, 1.0),
}


@pytest.mark.parametrize("name", SCALES)
def test_a_matrix_that_needs_pivots_is_solved_as_accurately_as_by_scipy(name: str) -> None:
    n = 200
    known = normal(4, n) * SCALES[name](n)
    known[1] *= 1e-3
    b = normal(n)
    matrix = scipy.sparse.dia_array((known, [1, 0, -1, -2]), shape=(n, n)).tocsr()

    def error(x: Array) -> Any:
        return np.max(np.abs(matrix @ x - b)) / (np.max(abs(matrix).sum(axis=1)) * np.max(np.abs(x)) + 1)

    found = ps.trace(lambda b: scipy.linalg.solve_banded((2, 1), known, b), b)(b)
    assert error(found) <= 4 * error(scipy.linalg.solve_banded((2, 1), known, b)) + 1e-15


@pytest.mark.parametrize(("widths", "kind"), [((1, 1), Partition), ((3, 5), Sweeps)])
def test_factors_solve_a_matrix_whose_rows_and_columns_are_in_another_order(
    widths: tuple[int, int], kind: type
) -> None:
    n = 100
    known, order = diagonals(widths, n), np.random.default_rng(1).permutation(n)
    factors = of_diagonals(known, *widths)
    assert isinstance(factors, kind)
    ordered, b = Ordered(factors, order), normal(n, 2)
    offsets = range(widths[1], -widths[0] - 1, -1)
    matrix = np.zeros((n, n))
    matrix[np.ix_(order, order)] = scipy.sparse.dia_array((known, offsets), shape=(n, n)).toarray()
    assert ordered.size == n
    np.testing.assert_allclose(matrix @ ordered.solve_known(b[:, 0]), b[:, 0], atol=1e-12)
    np.testing.assert_allclose(matrix @ ps.trace(ordered.solve, b)(b), b, atol=1e-12)


def tridiagonal(n: int) -> Any:
    ones = np.ones(n - 1)
    return scipy.sparse.diags([ones, np.full(n, 4.0), -2 * ones], [-1, 0, 1], format="csc")


def shuffled(n: int) -> Any:
    order = np.random.default_rng(0).permutation(n)
    return tridiagonal(n).tocsr()[order][:, order]


SYSTEMS: dict[str, Callable[..., Any]] = {
    "spsolve": lambda b, n: scipy.sparse.linalg.spsolve(tridiagonal(n), b),
    "spsolve in any order": lambda b, n: scipy.sparse.linalg.spsolve(shuffled(n).tocsc(), b),
    "cg": lambda b, n: scipy.sparse.linalg.cg(tridiagonal(n) + tridiagonal(n).T, b, rtol=1e-12)[0],
    "splu": lambda b, n: scipy.sparse.linalg.splu(tridiagonal(n)).solve(b),
    "splu, transposed": lambda b, n: scipy.sparse.linalg.splu(tridiagonal(n)).solve(b, "T"),
    "factorized": lambda b, n: scipy.sparse.linalg.factorized(tridiagonal(n))(b),
    "solve_toeplitz": lambda b, n: scipy.linalg.solve_toeplitz(
        (np.r_[4.0, 1.0, np.zeros(n - 2)], np.r_[4.0, -1.0, 1.0, np.zeros(n - 3)]), b
    ),
    "solveh_banded": lambda b, n: scipy.linalg.solveh_banded(np.stack([np.ones(n), np.full(n, 4.0)]), b),
}


@pytest.mark.parametrize("function", SYSTEMS.values(), ids=SYSTEMS.keys())
def test_a_file_grows_with_the_size_alone(function: Callable[..., Any]) -> None:
    """At most 64 numbers a row."""
    n = 500
    b = normal(n)
    program = ps.trace(lambda b: function(b, n), b)
    np.testing.assert_allclose(program(b), function(b, n), rtol=1e-9, atol=1e-10)
    assert len(program.to_onnx().SerializeToString()) <= 64 * 8 * n


@pytest.mark.parametrize("function", SYSTEMS.values(), ids=SYSTEMS.keys())
def test_a_system_has_the_gradient_of_its_transpose(function: Callable[..., Any]) -> None:
    n = 60
    b, dx = normal(n), normal(n, seed=1)
    inverse = np.stack([function(column, n) for column in np.eye(n)], axis=1)
    found = ps.grad(lambda b: np.sum(function(b, n) * dx))(b)
    np.testing.assert_allclose(found, inverse.T @ dx, rtol=1e-8, atol=1e-9)


def test_right_sides_of_a_symbolic_number_and_of_float32() -> None:
    known = diagonals((1, 1), 50)
    program = ps.trace(lambda b: scipy.linalg.solve_banded((1, 1), known, b), ps.spec("float64", [50, "K"]))
    for count in (1, 4):
        b = normal(50, count)
        np.testing.assert_allclose(program(b), scipy.linalg.solve_banded((1, 1), known, b), rtol=1e-12)
    short = known.astype("float32")
    b = normal(50).astype("float32")
    found = ps.trace(lambda b: scipy.linalg.solve_banded((1, 1), short, b), b)(b)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, scipy.linalg.solve_banded((1, 1), short, b), rtol=1e-5, atol=1e-6)


def test_a_singular_band_has_no_solution() -> None:
    known = diagonals((2, 1), 30)
    known[:, 11] = 0.0
    with pytest.raises(np.linalg.LinAlgError):
        ps.trace(lambda b: scipy.linalg.solve_banded((2, 1), known, b), normal(30))(normal(30))


def scattered(n: int, condition: float = 1.0) -> Any:
    """A matrix of few numbers at any places, with rows of other sizes."""
    known = scipy.sparse.random(n, n, 3 / n, random_state=0, format="csr") + scipy.sparse.eye(n, format="csr")
    return (scipy.sparse.diags(np.geomspace(1.0, condition, n)) @ known).tocsc()


@pytest.mark.parametrize("condition", [1.0, 1e8])
def test_a_matrix_of_many_diagonals_is_solved_by_its_inverse_as_accurately_as_by_scipy(condition: float) -> None:
    n = 120
    known, b = scattered(n, condition), normal(n)
    program = ps.trace(lambda b: scipy.sparse.linalg.spsolve(known, b), b)
    assert not {"Loop", "Scan", "If"} & {node.op_type for node in program.to_onnx().graph.node}
    rough = scipy.sparse.linalg.spsolve(known, b)
    found, least = (np.max(np.abs(known @ x - b)) for x in (program(b), rough))
    size = np.max(abs(known).sum(axis=1)) * np.max(np.abs(rough)) + np.max(np.abs(b))
    assert found <= 4 * least + 1e-15 * size
    weights = normal(n, seed=1)
    slopes = ps.grad(lambda b: np.sum(scipy.sparse.linalg.spsolve(known, b) * weights))(b)
    np.testing.assert_allclose(slopes, scipy.sparse.linalg.spsolve(known.T.tocsc(), weights), rtol=1e-6, atol=1e-9)


def test_solutions_by_an_inverse_are_corrected() -> None:
    n = 40
    known = scattered(n).tocsr()
    exact = inverse_of(known)
    assert exact is not None
    assert exact.size == n
    rough = replace(exact, inverse=exact.inverse * (1 + 1e-7), corrections=1)
    b = normal(n, 2)
    wanted = np.linalg.solve(known.toarray(), b)
    np.testing.assert_allclose(ps.trace(rough.solve, b)(b), wanted, rtol=1e-11)
    np.testing.assert_allclose(rough.solve_known(b[:, 1]), wanted[:, 1], rtol=1e-11)


def test_a_singular_matrix_has_no_inverse() -> None:
    assert inverse_of(scipy.sparse.csr_array(np.diag([1.0, 0.0, 2.0]))) is None
