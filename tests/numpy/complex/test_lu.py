"""L and U of complex matrices: LAPACK's pivots and factors, of singular ones too, and their derivative."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import primsplit as ps
from primsplit.numpy.complex.lu import lu_parts
from tests.numpy.matrices import normal
from tests.rules.checks import slopes


def factors(x: Any, y: Any) -> Any:
    return tuple(lu_parts(x, y))


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_factors_and_the_order_of_rows_are_lapacks(n: int) -> None:
    x, y = normal(n, n), normal(n, n, seed=1)
    l_real, l_imag, u_real, u_imag, order = ps.trace(factors, x, y)(x, y)
    left, right = l_real + 1j * l_imag, u_real + 1j * u_imag
    p, wanted_left, wanted_right = scipy.linalg.lu(x + 1j * y)
    np.testing.assert_array_equal(order, p.T @ np.arange(n))
    np.testing.assert_allclose(left, wanted_left, atol=1e-14)
    np.testing.assert_allclose(right, wanted_right, atol=1e-14)


def test_a_column_of_zeros_is_passed_over() -> None:
    a = np.array([[0, 1, 2j], [0, 1j, 1], [0, 2, 1]])
    l_real, l_imag, u_real, u_imag, order = ps.trace(factors, a.real, a.imag)(a.real, a.imag)
    np.testing.assert_allclose((l_real + 1j * l_imag) @ (u_real + 1j * u_imag), a[order], atol=1e-15)
    assert sorted(order) == [0, 1, 2]


def test_the_derivative_is_that_of_differences() -> None:
    weights = normal(4, 3, 3, seed=2)

    def total(x: Any, y: Any) -> Any:
        return sum(np.sum(w * f) for w, f in zip(weights, lu_parts(x, y)[:4], strict=True))

    x, y = normal(3, 3), normal(3, 3, seed=1)
    value = ps.trace(total, x, y)
    by_x, by_y = ps.grad(total, wrt=(0, 1))(x, y)
    np.testing.assert_allclose(by_x, slopes(lambda x: value(x, y), x), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(by_y, slopes(lambda y: value(x, y), y), rtol=1e-6, atol=1e-7)
