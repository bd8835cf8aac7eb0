"""Factorizations and determinants: LAPACK's numbers, and gradients, of singular matrices too."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import MissingRule
from tests.numpy.agreement import session
from tests.numpy.matrices import definite, normal

Array = np.ndarray[Any, Any]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("n", [0, 1, 33, 70])
def test_a_blocked_cholesky_has_the_gradient_of_log_det(n: int) -> None:
    """Twice the sum of log L_ii is log det A, whose gradient A^-1 is folded into the triangle that is read."""

    def log_det(a: Any) -> Any:
        return 2 * np.log(np.diagonal(np.linalg.cholesky(a))).sum()

    a = definite(n, n)
    _, found = ps.split(log_det, ps.spec("float64", ["N", "N"])).joint().session()(a)
    inverse = np.linalg.inv(a)
    np.testing.assert_allclose(found, np.tril(2 * inverse) - np.diag(np.diag(inverse)), atol=1e-12)


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


@pytest.mark.sweep(4)
@pytest.mark.parametrize("a", SINGULAR.values(), ids=SINGULAR.keys())
def test_the_gradient_of_det_is_the_cofactors_at_singular_matrices_too(a: Array) -> None:
    _, found = ps.split(np.linalg.det, ps.spec("float64", ["N", "N"])).joint().session()(a)
    np.testing.assert_allclose(found, cofactors(a), atol=1e-12)


@pytest.mark.sweep(3)
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


def test_cholesky_reads_the_lower_triangle_and_gives_it_the_gradient() -> None:
    a = definite(3, 3) + np.triu(np.full((3, 3), 100.0), 1)
    specs = ps.spec("float64", ["N", "N"])
    value, gradient = ps.split(lambda a: np.linalg.cholesky(a).sum(), specs).joint().session()(a)
    np.testing.assert_allclose(value, np.linalg.cholesky(a).sum())
    np.testing.assert_array_equal(np.triu(gradient, 1), 0)


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
