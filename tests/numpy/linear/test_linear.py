"""np.linalg: values against LAPACK, gradients to order 2 against central differences, sizes 0 and 1, hard matrices."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
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


@pytest.mark.sweep(27)
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


@pytest.mark.sweep(2)
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


@pytest.mark.sweep(5)
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


@pytest.mark.slow
def test_least_squares_of_the_rows_that_a_mask_picks_have_a_gradient() -> None:
    def function(a: Any, b: Any) -> Any:
        is_kept = b > -0.5
        return np.linalg.lstsq(a[is_kept], b[is_kept], rcond=None)[0]

    check_grads(function, normal(9, 3), normal(9, seed=1), symbolic=False)


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


def test_a_run_fails_where_numpy_raises() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        session(np.linalg.cholesky, ["N", "N"])(np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(np.linalg.LinAlgError):
        session(np.linalg.solve, ["N", "N"], ["N"])(np.ones((2, 2)), np.array([1.0, 2.0]))


def test_a_gaussian_process_is_differentiated_through_cholesky_and_solve() -> None:
    def density(scale: Any, x: Any, y: Any) -> Any:
        apart = (x[:, None] - x[None, :]) / scale
        factor = np.linalg.cholesky(np.exp(-0.5 * apart * apart) + np.diag(0.1 * np.ones_like(x)))
        white = np.linalg.solve(factor, y)
        return -0.5 * (white * white).sum() - np.log(np.diagonal(factor)).sum()

    check_grads(density, np.array(0.7), normal(6), normal(6, seed=1), value_tolerance=1e-10)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("sizes", [[4, 3], ["N", 3], ["N", "M"]])
def test_the_rank_of_least_squares_is_numpys_int32(sizes: list[int | str]) -> None:
    a, b = normal(4, 3), normal(4, seed=1)
    program = ps.trace(lambda a, b: np.linalg.lstsq(a, b)[2], ps.spec("float64", sizes), ps.spec("float64", sizes[:1]))
    np.testing.assert_array_equal(program(a, b), np.asarray(np.linalg.lstsq(a, b)[2]), strict=True)
