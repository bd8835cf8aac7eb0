"""Bessel functions and modified ones: values to a few units in the last place, derivatives of any order."""

from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from tests.numpy.agreement import check_grads

LINE = np.concatenate([np.linspace(-30, 30, 121), 10.0 ** np.arange(-9, 2), [7.99, 8.0, 8.01, 300.0, 700.0, -650.0]])


def by_power_series(order: int, x: float) -> float:
    """The sum of (x / 2)**(2 k + order) / (k! (k + order)!), order 0 or 1, in 40 digits."""
    with localcontext(prec=40):
        half = Decimal(x) / 2
        term = total = half**order if order else Decimal(1)
        for k in range(1, 2000):
            term *= half * half / (k * (k + order))
            total += term
            if abs(term) <= abs(total) * Decimal("1e-30"):
                return float(total)
    raise AssertionError("the series does not converge")


@pytest.mark.parametrize(("function", "order", "ulps"), [(np.i0, 0, 5), (sp.i0, 0, 5), (sp.i1, 1, 6)])
def test_a_bessel_function_is_right_to_a_few_units_in_the_last_place(function: Any, order: int, ulps: int) -> None:
    found = ps.trace(function, LINE)(LINE)
    wanted = [by_power_series(order, float(x)) for x in LINE]
    np.testing.assert_allclose(found, wanted, rtol=ulps * np.finfo(float).eps, atol=0)


def test_infinities_give_infinities_and_nan_is_nan() -> None:
    x = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 800.0])
    np.testing.assert_array_equal(ps.trace(np.i0, x)(x), [np.inf, np.inf, np.nan, 1, 1, np.inf])
    np.testing.assert_array_equal(ps.trace(sp.i1, x)(x), [np.inf, -np.inf, np.nan, 0, 0, np.inf])


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64"])
def test_other_dtypes_are_numpys(dtype: str) -> None:
    x = np.arange(5).astype(dtype)
    found, wanted = ps.trace(np.i0, x)(x), np.i0(x)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-15 if dtype == "int64" else 2 * np.finfo(dtype).eps)


@pytest.mark.sweep(18)
@pytest.mark.parametrize("function", [np.i0, sp.i0, sp.i1, sp.i0e, sp.i1e, sp.j0, sp.j1])
@pytest.mark.parametrize("low", [-3.0, 8.5])
def test_first_and_second_derivatives_agree_with_central_differences(function: Any, low: float) -> None:
    check_grads(function, np.linspace(low, low + 4.1, 6))


SCALED = np.concatenate([LINE, [1e3, -1e4, 1e100, np.inf, -np.inf, np.nan]])


@pytest.mark.parametrize("function", [sp.i0e, sp.i1e])
def test_a_scaled_modified_function_neither_overflows_nor_vanishes(function: Any) -> None:
    found = ps.trace(function, SCALED)(SCALED)
    np.testing.assert_allclose(found, function(SCALED), rtol=2e-15, atol=0)


def test_the_slope_of_a_scaled_function_far_out_loses_no_digits() -> None:
    """I0 exp(-x) is (1 + 1 / (8 x) + 9 / (128 x**2) + ...) / sqrt(2 pi x): I1 exp(-x) less it would cancel."""
    x = np.array([1e4, 1e8, 1e12])
    wanted = -(0.5 + 3 / (16 * x) + 45 / (256 * x * x)) * x**-1.5 / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(ps.grad(lambda v: np.sum(sp.i0e(v)))(x), wanted, rtol=1e-11)


@pytest.mark.parametrize(("function", "order"), [(sp.j0, 0), (sp.j1, 1)])
def test_an_oscillating_function_is_right_near_its_zeros_too(function: Any, order: int) -> None:
    x = np.linspace(-25, 25, 201)
    np.testing.assert_allclose(ps.trace(function, x)(x), function(x), rtol=0, atol=4e-16)
    zeros = sp.jn_zeros(order, 2)
    near = np.concatenate([zeros, zeros * (1 + 1e-9)])
    slope = -sp.j1(near) if order == 0 else sp.j0(near)
    wanted = slope * (near - zeros[[0, 1, 0, 1]])
    found = ps.trace(function, near)(near)
    np.testing.assert_allclose(found[2:], wanted[2:], rtol=1e-6)
    np.testing.assert_allclose(found[:2], 0, atol=2e-16)
    far = np.array([1e3, 1e6])
    np.testing.assert_allclose(ps.trace(function, far)(far), function(far), rtol=0, atol=1e-12)


def test_derivatives_go_on_to_any_order() -> None:
    x = np.array([0.0, 1e-6, 0.7, -3.0, 7.9, 8.1, 25.0])
    found: Any = sp.i0
    for order in range(1, 5):
        found = ps.grad(lambda v, f=found: np.sum(f(v)))
        np.testing.assert_allclose(found(x), sp.ivp(0, x, order), rtol=1e-13, atol=1e-15)
    found = sp.j0
    for order in range(1, 5):
        found = ps.grad(lambda v, f=found: np.sum(f(v)))
        np.testing.assert_allclose(found(x), sp.jvp(0, x, order), rtol=0, atol=1e-15)
