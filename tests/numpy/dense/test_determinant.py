"""Determinants, their signs and logarithms, and cofactors where a matrix is singular."""

import numpy as np
import pytest

import primsplit as ps
from tests.numpy.agreement import check_grads
from tests.numpy.matrices import normal, regular


@pytest.mark.parametrize("n", [0, 1, 2, 5, 40])
def test_a_determinant_its_sign_and_logarithm_are_lapacks(n: int) -> None:
    a = normal(n, n)
    program = ps.trace(lambda a: (np.linalg.det(a), *np.linalg.slogdet(a)), ps.spec("float64", ["N", "N"]))
    det, sign, log = program(a)
    np.testing.assert_allclose(det, np.linalg.det(a), rtol=1e-12)
    assert sign == np.linalg.slogdet(a)[0]
    np.testing.assert_allclose(log, np.linalg.slogdet(a)[1], rtol=1e-12, atol=1e-13)


def test_the_slope_of_a_singular_matrix_is_its_cofactors() -> None:
    a = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])
    minors = [[np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(3)] for i in range(3)]
    cofactors = (-1.0) ** np.add.outer(range(3), range(3)) * minors
    np.testing.assert_allclose(ps.grad(np.linalg.det)(a), cofactors, atol=1e-14)


def test_first_and_second_derivatives_are_those_of_differences() -> None:
    check_grads(lambda a: np.linalg.det(a) + np.linalg.slogdet(a)[1], regular(3, 3), symbolic=False)
