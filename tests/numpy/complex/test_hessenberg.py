"""The Hessenberg form of complex matrices: a similar matrix, zero below the first subdiagonal, as LAPACK's."""

import functools
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import primsplit as ps
from primsplit.numpy.complex.hessenberg import hessenberg, reflection
from primsplit.numpy.complex.matrices import Parts
from tests.numpy.matrices import normal


@functools.cache
def program() -> Any:
    """H and Q of a complex matrix of any size, of which rows low .. high are not a triangle."""

    def f(x: Any, y: Any, low: Any, high: Any) -> Any:
        h, q = hessenberg(Parts(x, y), low, high)
        return (*h, *q)

    return ps.trace(f, *[ps.spec("float64", ["N", "N"])] * 2, *[ps.spec("int64", [])] * 2)


def run(a: Any, low: int, high: int) -> tuple[Any, Any]:
    found = program()(a.real, a.imag, np.int64(low), np.int64(high))
    return found[0] + 1j * found[1], found[2] + 1j * found[3]


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_the_form_is_that_of_lapack(n: int) -> None:
    a = normal(n, n) + 1j * normal(n, n, seed=1)
    h, q = run(a, 0, n - 1)
    np.testing.assert_allclose(q @ h @ q.conj().T, a, atol=1e-13)
    np.testing.assert_allclose(q @ q.conj().T, np.eye(n), atol=1e-14)
    np.testing.assert_array_equal(np.tril(h, -2), 0 * h)
    # LAPACK also turns the last element below the diagonal into a real number.
    wanted, basis = scipy.linalg.hessenberg(a, calc_q=True)
    np.testing.assert_allclose(np.abs(h), np.abs(wanted), atol=1e-13)
    np.testing.assert_allclose(np.abs(q), np.abs(basis), atol=1e-13)


def test_rows_outside_of_the_middle_stay() -> None:
    middle = normal(3, 3) + 1j * normal(3, 3, seed=1)
    a = scipy.linalg.block_diag([[2.0]], middle, [[3.0]]) + np.triu(normal(5, 5, seed=2), 1) * 1j
    h, q = run(a, 1, 3)
    np.testing.assert_array_equal(q[[0, 4]], np.eye(5)[[0, 4]])
    np.testing.assert_allclose(q @ h @ q.conj().T, a, atol=1e-13)
    np.testing.assert_array_equal(np.tril(h, -2), 0 * h)


@pytest.mark.parametrize(
    "vector", [[1 + 2j, 0.5, -1j], [1j, 0, 0], [-3.0, 0, 0], [0, 0, 0], [0, 1, 1j], [1e200, 1e200j, 0]], ids=str
)
def test_a_reflection_takes_a_vector_to_a_real_number(vector: list[complex]) -> None:
    z, is_head = np.array(vector, complex), np.array([True, False, False])

    def f(x: Any, y: Any) -> Any:
        tau, v, beta = reflection(is_head, Parts(x, y))
        return (*tau, *v, beta)

    tau_real, tau_imag, v_real, v_imag, beta = ps.trace(f, z.real, z.imag)(z.real, z.imag)
    tau, v = tau_real + 1j * tau_imag, v_real + 1j * v_imag
    turned = z - np.conj(tau) * v * np.vdot(v, z)
    size = np.abs(z).max() or 1.0
    np.testing.assert_allclose(turned / size, np.array([beta, 0, 0]) / size, atol=1e-14)
    np.testing.assert_allclose(abs(beta) / size, np.linalg.norm(z / size), rtol=1e-14)
    if not z[1:].any() and not z[0].imag:
        assert tau == 0
