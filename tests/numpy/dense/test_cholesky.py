"""The Cholesky factor: LAPACK's, of known sizes and of any, its derivative, and NaN where there is none."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.numpy.dense.cholesky import cholesky
from tests.numpy.agreement import check_grads
from tests.numpy.matrices import definite, normal


@pytest.mark.parametrize("n", [1, 3, 33, 70])
@pytest.mark.parametrize("is_known", [True, False])
def test_a_factor_is_lapacks(n: int, is_known: bool) -> None:
    a = definite(n, n)
    found = ps.trace(cholesky, ps.spec("float64", [n, n] if is_known else ["N", "N"]))(a)
    np.testing.assert_allclose(found, np.linalg.cholesky(a), rtol=1e-12, atol=1e-13)


def test_the_derivative_is_that_of_differences() -> None:
    check_grads(lambda x: np.linalg.cholesky(x @ x.T + 3.0 * np.eye(3)), normal(3, 3), symbolic=False)


@pytest.mark.parametrize("size", [12, 70, "N"])
@pytest.mark.parametrize("place", [0, 5, 11])
def test_a_matrix_that_is_not_positive_definite_has_no_factor(place: int, size: int | str) -> None:
    """A pivot that is not positive is told, whatever the later ones are."""
    n = 70 if size == "N" else int(size)
    a = normal(n, n)
    a = a @ a.T + n * np.eye(n)
    program = ps.trace(np.linalg.cholesky, ps.spec("float64", [size, size]))
    np.testing.assert_allclose(program(a), np.linalg.cholesky(a), rtol=1e-11, atol=1e-12)
    for pivot in (-1e-3, 0.0):
        a[place, place] = a[place, :place] @ np.linalg.solve(a[:place, :place], a[:place, place]) + pivot
        if pivot or not place:
            with pytest.raises(np.linalg.LinAlgError):
                program(a)


@pytest.mark.parametrize("name", ["scaled", "nearly singular"])
def test_a_cholesky_factor_is_as_accurate_as_lapacks(name: str) -> None:
    n = 100
    x = normal(n, n)
    scale = 10.0 ** np.linspace(-8, 8, n) if name == "scaled" else np.ones(n)
    a = (
        (x @ x.T + n * np.eye(n)) * scale * scale[:, None]
        if name == "scaled"
        else x[:, :-1] @ x[:, :-1].T + 1e-9 * np.eye(n)
    )

    def error(factor: np.ndarray) -> Any:
        return np.max(np.abs(factor @ factor.T - a) / np.sqrt(np.outer(np.diag(a), np.diag(a))))

    assert error(ps.trace(np.linalg.cholesky, a)(a)) <= 2 * error(np.linalg.cholesky(a)) + 1e-16
