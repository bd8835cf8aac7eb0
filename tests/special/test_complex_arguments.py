"""Special functions of complex numbers, and Hankel's of real ones: SciPy's values on the plane, and derivatives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from tests.numpy.agreement import check_grads

OF_ONE = ("erf", "erfc", "erfcx", "erfi", "dawsn", "ndtr", "loggamma", "gamma", "rgamma", "psi")
N = ps.spec("complex128", ["N"])
RANDOM = np.random.default_rng(3)
PLANE = np.concatenate([
    scale * (RANDOM.standard_normal(300) + 1j * RANDOM.standard_normal(300)) for scale in (1e-8, 0.1, 0.5, 2, 4, 12)
])  # fmt: skip
"""Near 0, where series are, and on both sides of where they end."""


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", OF_ONE)
def test_values_are_scipys_on_the_plane(name: str) -> None:
    function = getattr(sp, name)
    with np.errstate(all="ignore"):
        wanted = function(PLANE)
    found = ps.trace(lambda z: function(z), N)(PLANE)
    usual = np.isfinite(wanted) & (np.abs(wanted) > 1e-290)
    assert np.sum(usual) > 1500
    np.testing.assert_array_less(np.abs(found - wanted)[usual], 3e-13 * np.abs(wanted)[usual])


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", OF_ONE)
def test_complex64_and_no_elements_are_scipys(name: str) -> None:
    function = getattr(sp, name)
    z = PLANE[900:910].astype(np.complex64)
    found, wanted = ps.trace(lambda z: function(z), z)(z), function(z)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=2e-5)
    assert ps.trace(lambda z: function(z), N)(PLANE[:0]).shape == (0,)


PLACES = {
    "erf": [0.3 - 0.2j, 1.4 + 0.5j, -1.2 - 0.8j, 2.5j], "erfc": [0.3 - 0.2j, -1.2 + 0.8j, 2.5j],
    "erfcx": [0.3 - 0.2j, 1.2 + 0.8j], "erfi": [0.3 - 0.2j, -1.2 + 0.8j], "dawsn": [0.3 - 0.2j, 1.4 - 0.5j, -1 + 2j],
    "ndtr": [0.3 - 0.2j, -1.2 + 0.8j], "loggamma": [1.05 + 0.1j, 2.1 - 0.1j, 0.5 + 3j, -1.4 + 0.3j, 9 + 1j, -3 - 8j],
    "gamma": [1.05 + 0.1j, 2.5 - 1j, -1.4 + 0.3j], "rgamma": [1.05 + 0.1j, -2, -1.4 + 0.3j, 0],
    "psi": [1.05 + 0.1j, 0.5 + 3j, -1.4 + 0.3j, 9 + 1j],
}  # fmt: skip


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", OF_ONE)
def test_derivatives_agree_with_central_differences(name: str) -> None:
    def f(x: Any, y: Any) -> Any:
        found = getattr(sp, name)(x + 1j * y)
        return found.real, found.imag

    z = np.array(PLACES[name], complex)
    check_grads(f, z.real, z.imag, symbolic=False, modes=("reverse", "forward"))


def test_the_logarithm_of_gamma_is_scipys_on_its_cut_and_at_its_poles() -> None:
    z = np.array([-2.5, -0.5, complex(-3.5, -0.0), -1, 0, 1, 2, complex(-2.5, -0.0)])
    for name in ("loggamma", "gamma", "rgamma", "psi"):
        function: Callable[..., Any] = getattr(sp, name)
        np.testing.assert_allclose(ps.trace(lambda z, f=function: f(z), N)(z), function(z), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("name", ["xlogy", "xlog1py"])
def test_products_with_logarithms_are_scipys(name: str) -> None:
    def f(a: Any, b: Any, u: Any, v: Any) -> Any:
        found = getattr(sp, name)(a + 1j * b, u + 1j * v)
        return found.real, found.imag

    z, w = np.array([0, 1 + 1j, 0, 2]), np.array([0, 2 - 1j, 1j, -1.5])
    np.testing.assert_allclose(ps.trace(lambda z, w: getattr(sp, name)(z, w), z, w)(z, w), getattr(sp, name)(z, w))
    w[-1] = 1.5 - 0.5j  # not on the cut
    check_grads(f, z.real[1:], z.imag[1:], w.real[1:], w.imag[1:], symbolic=False)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", ["hankel1", "hankel2", "hankel1e", "hankel2e"])
def test_hankels_functions_of_positive_numbers_are_scipys(name: str) -> None:
    function = getattr(sp, name)

    def f(x: Any) -> Any:
        found = [function(order, x) for order in (0, 1, 2.5)]
        return tuple(p for z in found for p in (z.real, z.imag))

    x = np.array([0.3, 1.7, 12.0])
    check_grads(f, x)
    narrow = x.astype(np.float32)
    found, wanted = ps.trace(lambda x: function(1, x), narrow)(narrow), function(1, narrow)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert np.isnan(ps.trace(lambda x: function(1, x), x)(-x)).all()


BRANCHES = (0, -1, 1, -3)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("branch", BRANCHES)
def test_lamberts_function_is_scipys_on_the_plane_with_derivatives(branch: int) -> None:
    def f(x: Any, y: Any) -> Any:
        found = sp.lambertw(x + 1j * y, branch)
        return found.real, found.imag

    program = ps.trace(lambda z: sp.lambertw(z, branch), N)
    edges = np.array([0, -0.2, -1, 1, complex(-0.2, -0.0), complex(-1, -0.0), 1e-300])
    for z in (PLANE, edges, PLANE[:0]):
        np.testing.assert_allclose(program(z), sp.lambertw(z, branch), rtol=1e-14, atol=1e-280)
    check_grads(f, np.array([0.3, -0.8, 4.0]), np.array([0.1, 0.6, -3.0]), symbolic=False)


def of_sums(z: Any) -> Any:
    return sp.logsumexp(z, axis=1), sp.logsumexp(z, b=z.real, keepdims=True), sp.softmax(z, axis=0), sp.log_softmax(z)


def test_softmax_and_logsumexp_are_scipys() -> None:
    z = PLANE[900:906].reshape(2, 3)

    def f(x: Any, y: Any) -> Any:
        return tuple(p for found in of_sums(x + 1j * y) for p in (found.real, found.imag))

    check_grads(f, z.real, z.imag, symbolic=False)
    for found, wanted in zip(ps.trace(of_sums, z + 800)(z + 800), of_sums(z + 800), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize(
    ("told", "function"),
    [
        ("scipy.special.exp1", lambda z: sp.exp1(z)),
        ("scipy.special.hankel1 .*", lambda z: sp.hankel1(0, z)),
        ("lambertw", lambda z: sp.lambertw(z, [0, 1, 2])),
        ("return_sign", lambda z: sp.logsumexp(z, return_sign=True)),
    ],
)
def test_what_stays_out_is_named(told: str, function: Any) -> None:
    with pytest.raises(UnsupportedFunction, match=told):
        ps.trace(function, PLANE[:3])
