"""Coefficients of Bessel functions of one order: with them the functions are SciPy's."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.special as sp

from primsplit.special import bessel_fits as fits
from primsplit.special.bessel_fits import Fit

NEAR, FAR = np.array([0.1, 0.7, 1.9]), np.array([3.0, 4.5, 20.0, 300.0])


def at(fit: Fit, x: Any) -> Any:
    """The polynomial of a fit, by NumPy."""
    return np.polynomial.polynomial.polyval(2 * x / fit.high - 1, fit.coefficients)


def even(coefficients: Any, x: Any) -> Any:
    """A polynomial in x**2 / 4."""
    return np.polynomial.polynomial.polyval(x * x / 4, coefficients)


def test_a_fit_is_the_function_to_its_last_digits() -> None:
    found = fits.fitted(lambda x: np.exp(-x), 3.0)
    x = np.linspace(0, 3, 50)
    assert found.high == 3.0
    np.testing.assert_allclose(at(found, x), np.exp(-x), rtol=3e-14)


@pytest.mark.parametrize("order", [0.0, 0.5, 1.0, 2.3])
def test_the_tail_of_the_second_modified_function_is_scipys(order: float) -> None:
    x = np.array([1.0, 1.7, 5.0, 80.0])
    found = at(fits.second_tail(order), 1 / x) * np.sqrt(np.pi / (2 * x))
    np.testing.assert_allclose(found, sp.kve(order, x), rtol=2e-13)


@pytest.mark.parametrize("order", [0.0, 1.0, 2.3])
def test_the_tails_of_hankel_give_j_and_y(order: float) -> None:
    cosine, sine = (at(fit, FAR**-2.0) for fit in fits.hankel_tails(order))
    sine, phase, scale = sine / FAR, FAR - (order / 2 + 0.25) * np.pi, np.sqrt(2 / (np.pi * FAR))
    first = cosine * np.cos(phase) - sine * np.sin(phase)
    second = cosine * np.sin(phase) + sine * np.cos(phase)
    np.testing.assert_allclose(first, sp.jv(order, FAR) / scale, atol=3e-13)
    np.testing.assert_allclose(second, sp.yv(order, FAR) / scale, atol=3e-13)


@pytest.mark.parametrize("order", [0.0, 0.5, 2.3])
def test_the_tail_of_the_first_modified_function_is_scipys(order: float) -> None:
    x = np.array([10.0, 25.0, 200.0])
    found = at(fits.first_tail(order, 10.0), 1 / x) * np.exp(-(order**2) / (2 * x)) / np.sqrt(x)
    np.testing.assert_allclose(found, sp.ive(order, x), rtol=2e-13)


@pytest.mark.parametrize("order", [0.0, 1.0, 0.3, 7.0])
@pytest.mark.parametrize(("sign", "function"), [(-1.0, sp.jv), (1.0, sp.iv)])
def test_a_power_series_is_the_function_near_zero(sign: float, function: Any, order: float) -> None:
    found = even(fits.power_series(order, 2.0, sign), NEAR) * (NEAR / 2) ** order / math.gamma(order + 1)
    np.testing.assert_allclose(found, function(order, NEAR), rtol=1e-14)


@pytest.mark.parametrize("order", [-0.5, -0.2, 0.3, 0.5])
def test_the_halves_of_reciprocal_gammas_are_scipys(order: float) -> None:
    difference, mean = fits.gamma_halves(order)
    low, high = sp.rgamma(1 - order), sp.rgamma(1 + order)
    np.testing.assert_allclose(difference, (low - high) / (2 * order), rtol=1e-14)
    np.testing.assert_allclose(mean, (low + high) / 2, rtol=1e-14)


def test_the_halves_of_order_0_are_eulers_constant_and_1() -> None:
    difference, mean = fits.gamma_halves(0.0)
    np.testing.assert_allclose([difference, mean], [-np.euler_gamma, 1.0], rtol=1e-15)


@pytest.mark.parametrize("order", [-0.3, 0.2, 0.5])
@pytest.mark.parametrize("oscillating", [False, True])
def test_temmes_sums_are_the_function_and_the_next_one(order: float, oscillating: bool) -> None:
    """By the first f, p and q of Temme, with sigma = order log(2 / x)."""
    values, nexts = fits.temme_sums(order, 2.0, oscillating=oscillating)
    sigma = order * np.log(2 / NEAR)
    difference, mean = fits.gamma_halves(order)
    ratio = 1.0 if order == 0 else order * np.pi / np.sin(order * np.pi)
    f = ratio * (np.cosh(sigma) * difference + np.log(2 / NEAR) * np.sinh(sigma) / sigma * mean)
    p = 0.5 * (2 / NEAR) ** order * sp.gamma(1 + order)
    q = 0.5 * (2 / NEAR) ** -order * sp.gamma(1 - order)
    found, beside = (
        sum(start * even(c, NEAR) for start, c in zip((f, p, q), sums, strict=True)) for sums in (values, nexts)
    )
    if oscillating:
        np.testing.assert_allclose(-2 / np.pi * found, sp.yv(order, NEAR), rtol=1e-13)
        np.testing.assert_allclose(-2 / np.pi * beside * 2 / NEAR, sp.yv(order + 1, NEAR), rtol=1e-13)
    else:
        np.testing.assert_allclose(found, sp.kv(order, NEAR), rtol=1e-13)
        np.testing.assert_allclose(beside * 2 / NEAR, sp.kv(order + 1, NEAR), rtol=1e-13)
