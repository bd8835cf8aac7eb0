"""Triangular systems: backward errors beside LAPACK's, any size, derivatives."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import primsplit as ps
from tests.numpy.agreement import check_grads
from tests.numpy.matrices import normal

Array = np.ndarray[Any, Any]
SIZES = [1, 2, 9, 31, 32, 33, 64, 70, 190]


def backward_error(t: Array, x: Array, b: Array) -> Any:
    """In units of rounding."""
    size = np.max(np.sum(np.abs(t), axis=1)) * np.max(np.abs(x)) + np.max(np.abs(b))
    return np.max(np.abs(t @ x - b)) / size / np.finfo(t.dtype).eps


def read(t: Array, *, lower: bool, unit: bool) -> Array:
    """The matrix that is meant."""
    part = np.tril(t) if lower else np.triu(t)
    return part - np.diag(np.diag(part) - 1) if unit else part


@pytest.mark.sweep(8)
@pytest.mark.parametrize("shape", [(), ("N",)])
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("transposed", [0, 1])
@pytest.mark.parametrize("lower", [True, False])
def test_the_residual_is_that_of_substitution(lower: bool, transposed: int, n: int, shape: tuple[str, ...]) -> None:
    """Random triangles have a condition that doubles with each row."""
    for unit in (False, True):

        def solve(t: Any, b: Any, unit: bool = unit) -> Any:
            return scipy.linalg.solve_triangular(t, b, lower=lower, unit_diagonal=unit, trans=transposed)

        t, b = normal(n, n), normal(n, 3)
        sizes = [*shape, *shape] or [n, n]
        program = ps.trace(solve, ps.spec("float64", sizes), ps.spec("float64", [sizes[0], 3]))
        meant = read(t, lower=lower, unit=unit)
        meant = meant.T if transposed else meant
        assert backward_error(meant, program(t, b), b) <= 2 * backward_error(meant, solve(t, b), b) + 1


def test_a_symbolic_size_may_be_zero() -> None:
    program = ps.trace(
        lambda t, b: scipy.linalg.solve_triangular(t, b), ps.spec("float64", ["N", "N"]), ps.spec("float64", ["N", 2])
    )
    assert program(np.zeros((0, 0)), np.zeros((0, 2))).shape == (0, 2)


@pytest.mark.parametrize("n", [3, 12, 34])
@pytest.mark.parametrize("lower", [True, False])
def test_derivatives_to_second_order_are_central_differences(lower: bool, n: int) -> None:
    t, b = normal(n, n) / n + 2 * np.eye(n), normal(n, 1)

    def total(t: Any, b: Any) -> Any:
        return np.sum(scipy.linalg.solve_triangular(t, b, lower=lower) ** 2)

    gradient = ps.grad(total, wrt=(0, 1))
    along = normal(n, n, seed=1), normal(n, 1, seed=2)
    step = 1e-5
    ahead, behind = ([x + sign * step * d for x, d in zip((t, b), along, strict=True)] for sign in (1, -1))
    slope = sum(np.sum(g * d) for g, d in zip(gradient(t, b), along, strict=True))
    np.testing.assert_allclose(slope, (total(*ahead) - total(*behind)) / (2 * step), rtol=1e-6)
    second = ps.hvp(total, (t, b), along, wrt=(0, 1))
    for found, one, two in zip(second, gradient(*ahead), gradient(*behind), strict=True):
        np.testing.assert_allclose(found, (one - two) / (2 * step), rtol=1e-5, atol=1e-6)


def test_the_other_triangle_is_not_read_and_has_no_gradient() -> None:
    t = np.tril(normal(40, 40)) + 8 * np.eye(40) + np.triu(np.full((40, 40), np.nan), 1)

    def total(t: Any) -> Any:
        return np.sum(scipy.linalg.solve_triangular(t, np.ones(40), lower=True, check_finite=False))

    value, gradient = ps.trace(ps.value_and_grad(total), t)(t)
    np.testing.assert_allclose(value, total(t))
    np.testing.assert_array_equal(np.triu(gradient, 1), 0)
    assert np.isfinite(gradient).all()


def test_float32_and_batches_of_larger_matrices() -> None:
    t, b = (normal(2, 40, 40) / 6 + 4 * np.eye(40)).astype("float32"), normal(2, 40, 2).astype("float32")
    program = ps.trace(lambda t, b: np.linalg.solve(np.tril(t), b), t, b)
    found = program(t, b)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.linalg.solve(np.tril(t), b), rtol=2e-4, atol=1e-5)
    check_grads(lambda t: np.linalg.solve(np.tril(t), np.ones((2, 10, 1))), normal(2, 10, 10) + 4 * np.eye(10), order=1)


def test_a_zero_on_the_diagonal_raises_as_in_scipy() -> None:
    t = np.tril(normal(70, 70)) + 8 * np.eye(70)
    t[50, 50] = 0.0
    program = ps.trace(lambda t: scipy.linalg.solve_triangular(t, np.ones(70), lower=True), t)
    with pytest.raises(np.linalg.LinAlgError):
        program(t)
