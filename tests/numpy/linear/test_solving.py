"""Systems of equations: backward stable, factored once, and solved by what the matrix is."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import primsplit as ps
from tests.numpy.agreement import check_grads, session
from tests.numpy.matrices import definite, normal, regular

Array = np.ndarray[Any, Any]


def test_a_blocked_solve_has_the_gradients_of_the_textbook() -> None:
    a, b, dx = regular(70, 70) + 20 * np.eye(70), normal(70, 3), normal(70, 3, seed=1)
    specs = ps.spec("float64", ["N", "N"]), ps.spec("float64", ["N", 3])
    x, da, db = ps.split(np.linalg.solve, *specs).joint().session()(a, b, dx)
    expected = np.linalg.solve(a.T, dx)
    np.testing.assert_allclose(db, expected, atol=1e-12)
    np.testing.assert_allclose(da, -expected @ x.T, atol=1e-12)


HARD = {
    "Hilbert": scipy.linalg.hilbert(8),
    "graded": np.diag(10.0 ** -np.arange(8)) @ normal(8, 8),
    "Vandermonde": np.vander(np.linspace(0, 1, 10)),
    "needs pivoting": np.array([[1e-20, 1.0], [1.0, 1.0]]),
}


@pytest.mark.parametrize("a", HARD.values(), ids=HARD.keys())
def test_solving_is_backward_stable_on_ill_conditioned_matrices(a: Array) -> None:
    b = normal(len(a))
    (x,) = session(np.linalg.solve, ["N", "N"], ["N"])(a, b)
    assert np.max(np.abs(a @ x - b)) <= 1e-15 * len(a) * np.max(np.abs(a)) * np.max(np.abs(x))


def test_a_matrix_is_factored_once_for_all_that_is_asked_of_it() -> None:
    def function(a: Any, b: Any) -> Any:
        x = np.linalg.solve(a, np.linalg.solve(a, b))
        return np.linalg.inv(a) @ x * np.linalg.slogdet(a)[1]

    a, b = regular(4, 4), normal(4)
    calls = [op.kind for op in ps.trace(function, a, b).block.ops]
    assert calls.count("call::factor") == 1
    check_grads(function, a, b, value_tolerance=1e-10)


def test_a_matrix_that_is_written_to_is_factored_again() -> None:
    def function(a: Any, b: Any) -> Any:
        a = a.copy()
        x = np.linalg.solve(a, b)
        a[0, 1] = x[2]
        return np.linalg.solve(a, x)

    check_grads(function, regular(4, 4), normal(4), value_tolerance=1e-10, symbolic=False)


SPREADS: dict[str, Callable[[int], Any]] = {
    "singular values that fall": lambda n: np.diag(10.0 ** -np.linspace(0, 11, n)),
    "two small singular values": lambda n: np.diag(np.where(np.arange(n) == 0, 1.0, 1e-11)),
    "rows of other sizes": lambda n: 10.0 ** np.linspace(-12, 12, n)[:, None],
    "columns of other sizes": lambda n: 10.0 ** np.linspace(-12, 12, n),
    "tiny numbers": lambda n: 1e-250,
    "huge numbers": lambda n: 1e250,
}


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("spread", SPREADS.values(), ids=SPREADS.keys())
def test_small_systems_are_solved_as_elimination_solves_them(spread: Callable[[int], Any], n: int) -> None:
    left, right = np.linalg.qr(normal(40, n, n))[0], np.linalg.qr(normal(40, n, n, seed=1))[0]
    scale = spread(n)
    a = left @ scale @ right if np.ndim(scale) == 2 and np.shape(scale) == (n, n) and n > 1 else left * scale
    b = normal(40, n, 1, seed=2)
    x = ps.trace(np.linalg.solve, a, b)(a, b)
    for matrix, found, wanted in zip(a, x, b, strict=True):
        residual = np.max(np.abs(matrix @ found - wanted))
        assert residual <= 1e-14 * np.max(np.abs(matrix)) * np.max(np.abs(found)) + 1e-15 * np.max(np.abs(wanted))
    sign, log = ps.trace(np.linalg.slogdet, a)(a)
    np.testing.assert_array_equal(sign, np.linalg.slogdet(a)[0])
    np.testing.assert_allclose(log, np.linalg.slogdet(a)[1], atol=1e-4)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_small_singular_matrix_has_no_inverse_and_log_determinant_minus_infinity(n: int) -> None:
    for a in (np.zeros((n, n)), np.outer(np.arange(n), np.arange(1.0, n + 1)), np.eye(n) * (np.arange(n) > 0)):
        with pytest.raises(np.linalg.LinAlgError):
            ps.trace(np.linalg.inv, a)(a)
        sign, log = ps.trace(np.linalg.slogdet, a)(a)
        assert (sign, log) == (0.0, -np.inf)


TRIANGULAR: list[tuple[str, Callable[..., Any], bool]] = [
    ("a factor", np.linalg.cholesky, True),
    ("a factor's transpose", lambda a: np.linalg.cholesky(a).T, True),
    ("an upper factor", lambda a: np.linalg.cholesky(a, upper=True), True),
    ("a lower triangle", np.tril, True),
    ("an upper triangle's transpose", lambda a: np.triu(a).mT, True),
    ("the triangle above a band", lambda a: np.tril(a, 1), False),
    ("the triangle below a band", lambda a: np.triu(a, -1), False),
    ("transposes of a batch", lambda a: np.swapaxes(np.tril(np.stack([a, a + 1])), -1, -2), True),
]


@pytest.mark.sweep(8)
@pytest.mark.parametrize(("make", "is_triangular"), [row[1:] for row in TRIANGULAR], ids=[row[0] for row in TRIANGULAR])
def test_a_matrix_that_is_seen_to_be_triangular_is_solved_without_pivots(
    make: Callable[..., Any], is_triangular: bool
) -> None:
    a, b = definite(4, 4) + np.triu(normal(4, 4), 1), normal(4, 2)
    for function in (lambda a, b: np.linalg.solve(make(a), b), lambda a, b: np.linalg.inv(make(a)) @ b):
        program = ps.trace(function, a, b)
        assert np.any([node.op_type == "ArgMax" for node in _nodes(program.to_onnx().graph)]) != is_triangular
        np.testing.assert_allclose(program(a, b), function(a, b), rtol=1e-10, atol=1e-12)
        check_grads(function, a, b, order=1)


def _nodes(graph: Any) -> Iterator[Any]:
    """The nodes of a graph and of the graphs inside it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            yield from _nodes(attribute.g)
