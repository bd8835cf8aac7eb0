"""np.linalg: values against LAPACK, gradients to order 2 against central differences, sizes 0 and 1, hard matrices."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import primsplit as ps
from primsplit.ir.errors import MissingRule, PrimsplitError
from tests.numpy.agreement import check_grads, session
from tests.numpy.matrices import definite, normal, regular

Array = np.ndarray[Any, Any]


LINALG: list[tuple[str, Callable[..., Any], list[Array]]] = [
    ("cholesky", np.linalg.cholesky, [definite(4, 4)]),
    ("cholesky of a batch", np.linalg.cholesky, [definite(2, 3, 3)]),
    ("cholesky, upper", lambda a: np.linalg.cholesky(a, upper=True), [definite(4, 4)]),
    ("solve for a matrix", np.linalg.solve, [regular(4, 4), normal(4, 3)]),
    ("solve for a vector", np.linalg.solve, [regular(4, 4), normal(4)]),
    ("solve for one vector by a batch", np.linalg.solve, [regular(2, 3, 3), normal(3)]),
    ("solve by batches that broadcast", np.linalg.solve, [regular(2, 1, 3, 3), normal(5, 3, 2)]),
    ("solve for a batch by one matrix", np.linalg.solve, [regular(3, 3), normal(2, 3, 2)]),
    ("inv", np.linalg.inv, [regular(4, 4)]),
    ("inv of a batch", np.linalg.inv, [regular(2, 3, 3)]),
    ("det", np.linalg.det, [normal(4, 4)]),
    ("det of a batch", np.linalg.det, [normal(2, 4, 4)]),
    ("slogdet", np.linalg.slogdet, [regular(4, 4)]),
    ("slogdet of a batch", np.linalg.slogdet, [regular(2, 3, 3)]),
    ("qr of a tall matrix", np.linalg.qr, [normal(5, 3)]),
    ("qr of a square matrix", np.linalg.qr, [normal(4, 4)]),
    ("qr of a wide matrix", np.linalg.qr, [normal(3, 5)]),
    ("qr, R alone", lambda a: np.linalg.qr(a, mode="r"), [normal(5, 3)]),
    ("qr, R of the complete one", lambda a: np.linalg.qr(a, mode="complete").R, [normal(5, 3)]),
    ("matrix_power", lambda a: np.linalg.matrix_power(a, 5), [normal(3, 3)]),
    ("matrix_power, negative", lambda a: np.linalg.matrix_power(a, -2), [regular(3, 3)]),
    ("tensorsolve", np.linalg.tensorsolve, [(normal(6, 6) + 3 * np.eye(6)).reshape(2, 3, 6), normal(2, 3)]),
]


@pytest.mark.parametrize(("function", "point"), [row[1:] for row in LINALG], ids=[row[0] for row in LINALG])
def test_a_function_and_its_gradients_are_numpys(function: Callable[..., Any], point: list[Array]) -> None:
    check_grads(function, *point, value_tolerance=1e-10)


FIXED: list[tuple[str, Callable[..., Any], list[Array]]] = [
    *((f"det {n} by {n}", np.linalg.det, [normal(n, n)]) for n in range(1, 4)),
    *(
        (f"{function.__name__} of {n}, batch {batch}", function, [regular(*batch, n, n), *rest])
        for n in range(1, 4)
        for batch in [(), (2,)]
        for function, rest in [(np.linalg.inv, []), (np.linalg.slogdet, []), (np.linalg.solve, [normal(*batch, n, 2)])]
    ),
    ("solve of three for one vector by a batch", np.linalg.solve, [regular(2, 3, 3), normal(3)]),
    ("solve of two for a batch by one matrix", np.linalg.solve, [regular(2, 2), normal(3, 2, 2)]),
    ("lstsq of a tall matrix", lambda a, b: np.linalg.lstsq(a, b)[:2], [normal(6, 3), normal(6, seed=1)]),
    ("lstsq for a matrix", lambda a, b: np.linalg.lstsq(a, b)[0], [normal(6, 3), normal(6, 2, seed=1)]),
    ("lstsq of least norm", lambda a, b: np.linalg.lstsq(a, b)[0], [normal(3, 6), normal(3, seed=1)]),
    ("pinv of a tall matrix", np.linalg.pinv, [normal(5, 3)]),
    ("pinv of a wide matrix", np.linalg.pinv, [normal(3, 5)]),
]


@pytest.mark.parametrize(("function", "point"), [row[1:] for row in FIXED], ids=[row[0] for row in FIXED])
def test_a_function_of_fixed_sizes_and_its_gradients_are_numpys(
    function: Callable[..., Any], point: list[Array]
) -> None:
    check_grads(function, *point, value_tolerance=1e-10, symbolic=False)


SQUARE: list[tuple[str, Callable[..., Any], Callable[..., Array]]] = [
    ("cholesky", np.linalg.cholesky, definite),
    ("inv", np.linalg.inv, regular),
    ("slogdet", np.linalg.slogdet, regular),
    ("qr", np.linalg.qr, regular),
]


@pytest.mark.parametrize("n", [0, 1, 2, 31, 32, 33, 70])
@pytest.mark.parametrize(("function", "make"), [row[1:] for row in SQUARE], ids=[row[0] for row in SQUARE])
def test_a_symbolic_size_may_be_zero_one_or_around_a_panels_width(
    function: Callable[..., Any], make: Callable[..., Array], n: int
) -> None:
    a = make(n, n)
    expected = function(a)
    for found, wanted in zip(
        session(function, ["N", "N"])(a), expected if isinstance(expected, tuple) else [expected], strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("n", [0, 1, 33, 70])
def test_a_blocked_cholesky_has_the_gradient_of_log_det(n: int) -> None:
    """Twice the sum of log L_ii is log det A, whose gradient A^-1 is folded into the triangle that is read."""

    def log_det(a: Any) -> Any:
        return 2 * np.log(np.diagonal(np.linalg.cholesky(a))).sum()

    a = definite(n, n)
    _, found = ps.split(log_det, ps.spec("float64", ["N", "N"])).joint().session()(a)
    inverse = np.linalg.inv(a)
    np.testing.assert_allclose(found, np.tril(2 * inverse) - np.diag(np.diag(inverse)), atol=1e-12)


def test_a_blocked_solve_has_the_gradients_of_the_textbook() -> None:
    a, b, dx = regular(70, 70) + 20 * np.eye(70), normal(70, 3), normal(70, 3, seed=1)
    specs = ps.spec("float64", ["N", "N"]), ps.spec("float64", ["N", 3])
    x, da, db = ps.split(np.linalg.solve, *specs).joint().session()(a, b, dx)
    expected = np.linalg.solve(a.T, dx)
    np.testing.assert_allclose(db, expected, atol=1e-12)
    np.testing.assert_allclose(da, -expected @ x.T, atol=1e-12)


def cofactors(a: Array) -> Array:
    """By deleting a row and a column for each."""
    found = np.zeros_like(a)
    for i, j in np.ndindex(*a.shape):
        found[i, j] = (-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1))
    return found


SINGULAR = {
    "rank 4 of 5": normal(5, 4) @ normal(4, 5, seed=1),
    "rank 3 of 5": normal(5, 3) @ normal(3, 5, seed=1),
    "a zero pivot inside": np.diag([1.0, 0.0, 3.0, 4.0]),
    "nilpotent": np.diag([2.0, 2.0, 2.0], 1),
    "zero": np.zeros((4, 4)),
    "regular": normal(5, 5),
}


@pytest.mark.parametrize("a", SINGULAR.values(), ids=SINGULAR.keys())
def test_the_gradient_of_det_is_the_cofactors_at_singular_matrices_too(a: Array) -> None:
    _, found = ps.split(np.linalg.det, ps.spec("float64", ["N", "N"])).joint().session()(a)
    np.testing.assert_allclose(found, cofactors(a), atol=1e-12)


@pytest.mark.parametrize("a", SINGULAR.values(), ids=SINGULAR.keys())
def test_the_second_derivative_of_det_is_minors_of_minors_at_singular_matrices_too(a: Array) -> None:
    direction = normal(*a.shape, seed=2)
    found = ps.hvp(np.linalg.det, (a,), direction)
    differences = (cofactors(a + 1e-5 * direction) - cofactors(a - 1e-5 * direction)) / 2e-5
    np.testing.assert_allclose(found, differences, rtol=1e-7, atol=1e-7)


def test_a_batch_of_matrices_may_have_some_that_are_singular() -> None:
    batch = np.stack([SINGULAR["rank 4 of 5"], SINGULAR["regular"], SINGULAR["rank 3 of 5"]])
    direction = normal(*batch.shape, seed=2)
    found = ps.hvp(lambda a: np.sum(np.linalg.det(a)), (batch,), direction)
    each = [ps.hvp(np.linalg.det, (a,), d) for a, d in zip(batch, direction, strict=True)]
    np.testing.assert_allclose(found, each, atol=1e-10)
    mapped = ps.vmap(lambda a, d: ps.hvp(np.linalg.det, (a,), d))(batch, direction)
    np.testing.assert_allclose(mapped, each, atol=1e-10)


def test_the_third_derivative_of_det_is_right_at_regular_matrices() -> None:
    a, b, c = SINGULAR["regular"], normal(5, 5, seed=2), normal(5, 5, seed=3)

    def second(a: Any) -> Any:
        return np.sum(ps.hvp(np.linalg.det, (a,), b) * c)

    found = np.sum(ps.grad(second)(a) * c)
    differences = (second(a + 1e-4 * c) - second(a - 1e-4 * c)) / 2e-4
    np.testing.assert_allclose(found, differences, rtol=1e-6)


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


@pytest.mark.parametrize(("rows", "columns"), [(6, 3), (3, 6), (4, 4), (1, 3), (5, 1)])
def test_the_run_may_decide_whether_least_squares_are_of_a_tall_matrix(rows: int, columns: int) -> None:
    def function(a: Any, b: Any) -> Any:
        x, residuals, rank, _ = np.linalg.lstsq(a, b, rcond=None)
        return x * rank + np.sum(residuals)

    a, b = normal(rows, columns), normal(rows, seed=1)
    (found,) = session(function, ["M", "N"], ["M"])(a, b)
    np.testing.assert_allclose(found, function(a, b), rtol=1e-10)
    (found,) = session(function, ["M", columns], ["M"])(a, b)
    np.testing.assert_allclose(found, function(a, b), rtol=1e-10)


def test_least_squares_of_the_rows_that_a_mask_picks_have_a_gradient() -> None:
    def function(a: Any, b: Any) -> Any:
        is_kept = b > -0.5
        return np.linalg.lstsq(a[is_kept], b[is_kept], rcond=None)[0]

    check_grads(function, normal(9, 3), normal(9, seed=1), symbolic=False)


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


def test_least_squares_does_not_square_the_condition() -> None:
    """The condition is 2e7: normal equations would be left without a digit."""
    a = np.vander(np.linspace(0, 1, 40), 11)
    exact = normal(11)
    (x,) = session(lambda a, b: np.linalg.lstsq(a, b)[0], [40, 11], [40])(a, a @ exact)
    assert np.linalg.cond(a) > 1e7
    np.testing.assert_allclose(x, exact, atol=1e-7)


@pytest.mark.parametrize(("function", "make"), [row[1:] for row in SQUARE], ids=[row[0] for row in SQUARE])
def test_float32_stays_float32(function: Callable[..., Any], make: Callable[..., Array]) -> None:
    a = make(40, 40).astype("float32")
    expected = function(a)
    for found, wanted in zip(
        session(function, ["N", "N"], dtype="float32")(a),
        expected if isinstance(expected, tuple) else [expected],
        strict=True,
    ):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=2e-4)


def test_cholesky_reads_the_lower_triangle_and_gives_it_the_gradient() -> None:
    a = definite(3, 3) + np.triu(np.full((3, 3), 100.0), 1)
    specs = ps.spec("float64", ["N", "N"])
    value, gradient = ps.split(lambda a: np.linalg.cholesky(a).sum(), specs).joint().session()(a)
    np.testing.assert_allclose(value, np.linalg.cholesky(a).sum())
    np.testing.assert_array_equal(np.triu(gradient, 1), 0)


def test_a_run_fails_where_numpy_raises() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        session(np.linalg.cholesky, ["N", "N"])(np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(np.linalg.LinAlgError):
        session(np.linalg.solve, ["N", "N"], ["N"])(np.ones((2, 2)), np.array([1.0, 2.0]))


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


def test_a_gaussian_process_is_differentiated_through_cholesky_and_solve() -> None:
    def density(scale: Any, x: Any, y: Any) -> Any:
        apart = (x[:, None] - x[None, :]) / scale
        factor = np.linalg.cholesky(np.exp(-0.5 * apart * apart) + np.diag(0.1 * np.ones_like(x)))
        white = np.linalg.solve(factor, y)
        return -0.5 * (white * white).sum() - np.log(np.diagonal(factor)).sum()

    check_grads(density, np.array(0.7), normal(6), normal(6, seed=1), value_tolerance=1e-10)


WRONG: list[tuple[str, Callable[..., Any], list[Array]]] = [
    ("not square", np.linalg.inv, [normal(3, 4)]),
    ("no matrix", np.linalg.det, [normal(3)]),
    ("another size", np.linalg.solve, [normal(3, 3), normal(4, 2)]),
    ("float16", np.linalg.inv, [normal(3, 3).astype("float16")]),
]


@pytest.mark.parametrize(("function", "point"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_what_numpy_refuses_is_refused_at_the_users_line(function: Callable[..., Any], point: list[Array]) -> None:
    def user(*given: Any) -> Any:
        return function(*given)

    with pytest.raises(PrimsplitError) as refused:
        ps.trace(user, *point)
    assert refused.value.place is not None
    assert refused.value.place.filename == __file__


@pytest.mark.parametrize("sizes", [[4, 3], ["N", 3], ["N", "M"]])
def test_the_rank_of_least_squares_is_numpys_int32(sizes: list[int | str]) -> None:
    a, b = normal(4, 3), normal(4, seed=1)
    program = ps.trace(lambda a, b: np.linalg.lstsq(a, b)[2], ps.spec("float64", sizes), ps.spec("float64", sizes[:1]))
    np.testing.assert_array_equal(program(a, b), np.asarray(np.linalg.lstsq(a, b)[2]), strict=True)


def test_a_complete_q_has_its_value_and_refuses_a_gradient() -> None:
    a = normal(4, 2)
    for found, wanted in zip(
        session(lambda a: np.linalg.qr(a, mode="complete"), [4, 2])(a), np.linalg.qr(a, mode="complete"), strict=True
    ):
        np.testing.assert_allclose(found, wanted, atol=1e-14)
    square = normal(3, 3)
    ps.testing.check_grads(lambda a: np.linalg.qr(a, mode="complete").Q, square, tolerance=1e-5, symbolic=False)
    with pytest.raises(MissingRule, match="complete"):
        ps.split(lambda a: np.linalg.qr(a, mode="complete").Q.sum(), a)
