"""Singular matrices: the run raises LinAlgError where NumPy and SciPy do, and a handler of the user's is a branch."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import primsplit as ps
from primsplit.numpy.failing import nan_where_singular

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "inv": lambda a: np.linalg.inv(a),
    "solve": lambda a: np.linalg.solve(a, np.arange(1.0, a.shape[0] + 1)),
    "solve of columns": lambda a: np.linalg.solve(a, np.ones((a.shape[0], 2))),
    "negative power": lambda a: np.linalg.matrix_power(a, -2),
    "complex negative power": lambda a: np.linalg.matrix_power(a * (1 + 0j), -1).real,
    "cholesky": lambda a: np.linalg.cholesky(a),
    "upper cholesky": lambda a: np.linalg.cholesky(a, upper=True),
    "tensorinv": lambda a: np.linalg.tensorinv(a, 1),
    "tensorsolve": lambda a: np.linalg.tensorsolve(a, np.ones(a.shape[0])),
    "scipy inv": lambda a: scipy.linalg.inv(a),
    "scipy solve": lambda a: scipy.linalg.solve(a, np.ones(a.shape[0])),
    "scipy cholesky": lambda a: scipy.linalg.cholesky(a),
    "cho_factor": lambda a: scipy.linalg.cho_solve(scipy.linalg.cho_factor(a), np.ones(a.shape[0])),
    "solve_triangular": lambda a: scipy.linalg.solve_triangular(a, np.ones(a.shape[0]), lower=True),
}
SINGULAR = {
    "zeros": np.zeros((3, 3)),
    "a zero first": np.diag([0.0, 1.0, 1.0]),
    "a zero between": np.diag([1.0, 0.0, 1.0]),
    "a zero last": np.diag([1.0, 1.0, 0.0]),
    "five, a zero between": np.diag([1.0, 2.0, 0.0, 3.0, 4.0]),
    "six, equal rows": np.kron(np.eye(3), np.ones((2, 2))),
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("matrix", SINGULAR.values(), ids=SINGULAR)
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_singular_matrix_raises_as_numpy_does(function: Callable[[Any], Any], matrix: Any) -> None:
    identity = 2.0 * np.eye(len(matrix))
    program = ps.trace(function, identity)
    np.testing.assert_allclose(program(identity), function(identity), rtol=1e-12)
    try:
        function(matrix)
    except np.linalg.LinAlgError:
        with pytest.raises(np.linalg.LinAlgError):
            program(matrix)
    else:
        program(matrix)


@pytest.mark.parametrize("name", ["inv", "solve", "cholesky"])
def test_derivatives_of_a_singular_matrix_raise_too(name: str) -> None:
    function = FUNCTIONS[name]

    def total(a: Any) -> Any:
        return np.sum(function(a))

    for derivative in (ps.grad(total), ps.hessian(total)):
        with pytest.raises(np.linalg.LinAlgError):
            derivative(np.zeros((2, 2)))
    with pytest.raises(np.linalg.LinAlgError):
        ps.vmap(ps.grad(total))(np.stack([np.eye(2), np.zeros((2, 2))]))


def test_one_singular_matrix_of_a_batch_raises() -> None:
    batch = np.stack([np.eye(2), np.zeros((2, 2))])
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        np.linalg.inv(batch)
    program = ps.trace(np.linalg.inv, batch)
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        program(batch)


def test_missing_numbers_stay_missing() -> None:
    matrix = np.array([[np.nan, 1.0], [1.0, 2.0]])
    assert np.isnan(ps.trace(np.linalg.inv, matrix)(matrix)).all()
    right = np.array([np.nan, 1.0])
    assert np.isnan(ps.trace(np.linalg.solve, np.eye(2), right)(np.eye(2), right)[0])


@pytest.mark.sweep(2)
@pytest.mark.parametrize("size", [0, 1, 4])
def test_a_symbolic_size_may_be_zero(size: int) -> None:
    for function in (np.linalg.inv, np.linalg.cholesky):
        program = ps.trace(lambda a, function=function: function(a), ps.spec("f64", ["N", "N"]))
        np.testing.assert_allclose(program(np.eye(size)), np.eye(size))


def test_complex_and_float32_matrices_raise_too() -> None:
    for dtype in (np.complex128, np.float32):
        with pytest.raises(np.linalg.LinAlgError):
            ps.trace(lambda a: np.linalg.inv(a), np.eye(2, dtype=dtype))(np.zeros((2, 2), dtype))


def test_a_handler_is_a_branch() -> None:
    def factor(a: Any) -> Any:
        try:
            return np.linalg.cholesky(a)
        except np.linalg.LinAlgError:
            return 7.0 * a

    program = ps.trace(factor, np.eye(2))
    np.testing.assert_allclose(program(4.0 * np.eye(2)), 2.0 * np.eye(2))
    np.testing.assert_allclose(program(-np.eye(2)), -7.0 * np.eye(2))


def test_code_that_goes_on_with_nan_can_ask_for_it() -> None:
    program = ps.trace(lambda a: nan_where_singular.inv(a), np.eye(2))
    assert not np.isfinite(program(np.zeros((2, 2)))).any()
    np.testing.assert_allclose(program(2.0 * np.eye(2)), 0.5 * np.eye(2))


def test_a_matrix_with_nan_is_nan_where_an_error_is_caught() -> None:
    """NumPy's Cholesky factor of it is NaN too, and no error."""

    def f(x):
        try:
            return np.linalg.cholesky(np.eye(2) * x[0])[0, 0] + x[1]
        except np.linalg.LinAlgError:
            return -100.0

    program = ps.trace(f, ps.spec("float64", [2]))
    assert np.isnan(program(np.array([np.nan, 1.0])))
    assert program(np.array([-4.0, 1.0])) == -100.0
    assert program(np.array([4.0, 1.0])) == 3.0


INFINITE = {
    "first": np.diag([np.inf, 1.0]),
    "last": np.diag([1.0, 2.0, np.inf]),
    "between": np.array([[4.0, 1.0, 0.0], [1.0, np.inf, 2.0], [0.0, 2.0, 5.0]]),
    "beside": np.array([[1.0, np.inf], [np.inf, 1.0]]),
    "below 0": np.diag([-np.inf, 1.0]),
    "first, and no factor": np.diag([np.inf, -1.0]),
}


@pytest.mark.parametrize("matrix", INFINITE.values(), ids=INFINITE)
@pytest.mark.parametrize("is_batch", [False, True])
def test_a_cholesky_factor_of_infinities_is_numpys(matrix: Any, is_batch: bool) -> None:
    matrix = np.stack([matrix, matrix]) if is_batch else matrix
    program = ps.trace(lambda a: np.linalg.cholesky(a), np.broadcast_to(np.eye(matrix.shape[-1]), matrix.shape))
    try:
        expected = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
            program(matrix)
    else:
        np.testing.assert_allclose(program(matrix), expected, rtol=1e-14)


@pytest.mark.parametrize("matrix", INFINITE.values(), ids=INFINITE)
def test_a_handler_catches_what_has_no_cholesky_factor_of_infinities(matrix: Any) -> None:
    def factor(a: Any) -> Any:
        try:
            return np.linalg.cholesky(a)
        except np.linalg.LinAlgError:
            return -np.ones_like(a)

    program = ps.trace(factor, np.eye(len(matrix)))
    np.testing.assert_allclose(program(matrix), factor(matrix), rtol=1e-14)


@pytest.mark.parametrize("is_caught", [False, True])
def test_a_known_right_side_of_nan_is_no_singular_matrix(is_caught: bool) -> None:
    def solved(a: Any) -> Any:
        return np.linalg.solve(a, np.array([np.nan, 1.0]))

    def caught(a: Any) -> Any:
        try:
            return solved(a)
        except np.linalg.LinAlgError:
            return np.zeros(2)

    function, regular = caught if is_caught else solved, np.array([[2.0, 1.0], [1.0, 3.0]])
    np.testing.assert_array_equal(ps.trace(function, regular)(regular), np.linalg.solve(regular, [np.nan, 1.0]))
