"""Binomial coefficients and orthogonal polynomials: SciPy's values, and slopes that are those of differences."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from tests.special.agreement import check

ROWS: list[tuple[Any, tuple[Any, ...], tuple[int, ...]]] = [
    (sp.binom, (np.array([5.0, 7.5, 3.2]), np.array([2.0, 3.0, 1.5])), (0, 1)),
    (sp.eval_legendre, (np.array([2]), np.array([0.3, -0.5, 0.9])), (1,)),
    (sp.eval_chebyt, (np.array([2]), np.array([0.3, -0.5, 0.9])), (1,)),
    (sp.eval_hermite, (np.array([2]), np.array([0.3, -0.5, 1.9])), (1,)),
    (sp.eval_genlaguerre, (np.array([2]), np.array([0.5, 1.5, 0.2]), np.array([0.3, 0.5, 1.9])), (1, 2)),
    (sp.poch, (np.array([0.5, 3.0]), np.array([2.0, 1.5])), (0, 1)),
]


@pytest.mark.parametrize(("function", "args", "wrt"), ROWS, ids=lambda v: getattr(v, "__name__", ""))
def test_values_are_scipys_and_slopes_those_of_differences(function: Any, args: Any, wrt: tuple[int, ...]) -> None:
    check(function, *args, wrt=wrt)


def test_binom_crosses_0_at_whole_numbers_beyond_0_and_n() -> None:
    k, step = np.array([-2.0, -1.0, 6.0, 7.0, 5.999999]), 1e-5
    difference = (sp.binom(5.0, k + step) - sp.binom(5.0, k - step)) / (2 * step)
    np.testing.assert_allclose(ps.grad(lambda k: np.sum(sp.binom(5.0, k)))(k), difference, rtol=1e-6)
    np.testing.assert_array_equal(ps.trace(sp.binom, 5.0, k)(5.0, k)[:4], np.zeros(4))


def test_slopes_of_binom_at_few_choices_are_those_of_the_product() -> None:
    """At n = 0 the slope of n (n - 1) ... (n - k + 1) / k! in n is (-1)^(k-1) / k, at n = 1 (-1)^k / (k (k - 1))."""
    k = np.array([1.0, 2.0, 3.0, 4.0])
    slope = ps.grad(lambda n, k: np.sum(sp.binom(n, k)))
    np.testing.assert_allclose(slope(np.zeros(4), k), (-1) ** (k - 1) / k, rtol=1e-12)
    np.testing.assert_allclose(slope(np.ones(3), k[1:]), (-1) ** k[1:] / (k[1:] * (k[1:] - 1)), rtol=1e-12)
    program = ps.trace(sp.binom, k, k)
    for n in (0.0, 1.0, 3.0):
        np.testing.assert_allclose(program(np.full(4, n), k), sp.binom(n, k), rtol=1e-12)


BINOMIALS = [(1e8, 5.0), (1e10, 1e10 - 2), (1e16, 2.0), (60.0, 30.0), (1030.0, 515.0), (1e15, 1e15 - 0.5), (2.5, 5.5)]
"""The last one is 0."""


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("n", "k"), BINOMIALS)
def test_binom_of_large_numbers_does_not_cancel(n: float, k: float) -> None:
    np.testing.assert_allclose(ps.trace(sp.binom, 1.0, 1.0)(n, k), sp.binom(n, k), rtol=1e-11)


def test_slopes_of_binom_of_large_numbers_are_those_of_the_product() -> None:
    n = 1e10
    want = sp.binom(n, 3.0) * (1 / n + 1 / (n - 1) + 1 / (n - 2))
    np.testing.assert_allclose(ps.grad(sp.binom)(n, 3.0), want, rtol=1e-9)


def test_poch_of_large_numbers_does_not_cancel() -> None:
    found = ps.trace(sp.poch, 1.0, 1.0)
    for z, m, want in [
        (1e8, 0.5, 9999.9999875),
        (1e8, -0.5, 1.0000000037500000e-4),
        (1e16, 2.0, 1e32),
        (1e16, -2.0, 1e-32),
    ]:
        np.testing.assert_allclose(found(z, m), want, rtol=1e-11)
    np.testing.assert_allclose(found(100.0, 100.0), sp.poch(100.0, 100.0), rtol=1e-12)


def test_slopes_of_poch_are_right_at_0_and_for_large_numbers() -> None:
    by_z, by_m = ps.grad(sp.poch, wrt=(0, 1))(7.0, 0.0)
    np.testing.assert_allclose([by_z, by_m], [0.0, sp.digamma(7.0)], atol=1e-15)
    by_z, by_m = ps.grad(sp.poch, wrt=(0, 1))(1e8, 0.5)
    np.testing.assert_allclose([by_z, by_m], [0.5e-4, 1e4 * np.log(1e8)], rtol=1e-7)
