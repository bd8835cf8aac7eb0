"""Associated Legendre functions and spherical harmonics of known degrees: SciPy's values, and derivatives."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from tests.numpy.agreement import check_grads

X = np.array([0.3, -0.9, 1.0, -1.0, 0.0, 1.5])
THETA, PHI = np.array([0.3, 1.2, 2.9, 0.0, np.pi, -0.4, 4.0]), np.array([0.1, -2.0, 3.0, 0.5, 0.2, 0.3, 0.1])


def parts(n: Any, m: Any, theta: Any, phi: Any) -> Any:
    found = sp.sph_harm_y(n, m, theta, phi)
    return np.stack([found.real, found.imag])


@pytest.mark.parametrize("n", [-3, 0, 1, 2, 5, 25])
def test_values_of_each_order_are_scipys(n: int) -> None:
    orders = sorted({-abs(n), -1, 0, 1, 2, 3, abs(n)})
    found = ps.trace(lambda x: [sp.lpmv(m, n, x) for m in orders], X)(X)
    for one, m in zip(found, orders, strict=True):
        np.testing.assert_allclose(one, sp.lpmv(m, n, X), rtol=1e-12, atol=1e-14)
    found = ps.trace(lambda t, p: [parts(n, m, t, p) for m in orders], THETA, PHI)(THETA, PHI)
    for one, m in zip(found, orders, strict=True):
        np.testing.assert_allclose(one, parts(n, m, THETA, PHI), rtol=1e-12, atol=1e-14)


def test_degrees_and_orders_may_be_arrays() -> None:
    n, m = np.array([1, 2, 2])[:, None], np.array([0, 1, -2])[:, None]
    found = ps.trace(lambda t, p: parts(n, m, t, p), THETA, PHI)(THETA, PHI)
    np.testing.assert_allclose(found, parts(n, m, THETA, PHI), rtol=1e-13, atol=1e-15)


def test_first_and_second_derivatives_agree_with_central_differences() -> None:
    check_grads(lambda t, p: parts(3, 2, t, p) + 2 * parts(2, -1, t, p), THETA[:3], PHI[:3])
    check_grads(lambda x: sp.lpmv(3, 4, x) + sp.lpmv(-2, 3, x), X[:2])


def test_the_slope_at_the_pole_is_that_of_the_function() -> None:
    slope = ps.grad(lambda t: sp.sph_harm_y(1, 1, t, 0.0).real)(0.0)
    np.testing.assert_allclose(slope, -np.sqrt(3 / (8 * np.pi)), rtol=1e-14)


def test_float32_is_scipys() -> None:
    x = X[:2].astype(np.float32)
    found = ps.trace(lambda x: sp.lpmv(1, 2, x), x)(x)
    assert found.dtype == sp.lpmv(1, 2, x).dtype
    np.testing.assert_allclose(found, sp.lpmv(1, 2, x), rtol=1e-6)


def test_a_traced_degree_is_refused() -> None:
    with pytest.raises(UnsupportedFunction, match="known whole degrees"):
        ps.trace(lambda n: sp.lpmv(1, n, 0.3), 2.0)
    with pytest.raises(UnsupportedFunction, match="diff_n"):
        ps.trace(lambda t: sp.sph_harm_y(1, 0, t, 0.0, diff_n=1), 0.5)


@pytest.mark.parametrize("function", [lambda n: sp.lpmv(n, 2, 0.3), lambda n: sp.lpmv(1, n, 0.3)])
def test_a_degree_or_an_order_that_only_the_run_knows_is_refused(function: Any) -> None:
    with pytest.raises(UnsupportedFunction, match="known whole degrees and orders"):
        ps.trace(function, ps.spec("float64", []))
