"""scipy.special's counts, polygamma and Lambert's W: SciPy's values of traced numbers, and slopes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction

X = np.array([0.0, 1.0, 4.0, 7.0])
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "comb": lambda x: sp.comb(x, 3),
    "comb of fractions": lambda x: sp.comb(x + 0.5, 2.25),
    "comb of chosen numbers": lambda x: sp.comb(6, x),
    "perm": lambda x: sp.perm(x, 3),
    "perm of chosen numbers": lambda x: sp.perm(6, x),
    "factorial": lambda x: sp.factorial(x),
    "factorial of negative numbers": lambda x: sp.factorial(x - 3),
    "polygamma": lambda x: sp.polygamma(2, x + 1),
    "polygamma of order 0": lambda x: sp.polygamma(0, x + 1),
    "lambertw": lambda x: sp.lambertw(x),
    "lambertw of another branch": lambda x: sp.lambertw(-0.2 - 0.01 * x, -1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys(name: str) -> None:
    found, wanted = ps.trace(lambda x: FUNCTIONS[name](x), X)(X), FUNCTIONS[name](X)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)
    assert found.dtype == wanted.dtype


@pytest.mark.parametrize("name", ["comb of fractions", "polygamma"])
def test_it_has_the_slopes_of_differences(name: str) -> None:
    at = X + 0.3
    slopes = ps.grad(lambda x: np.sum(FUNCTIONS[name](x)))(at)
    np.testing.assert_allclose(slopes, (FUNCTIONS[name](at + 1e-6) - FUNCTIONS[name](at - 1e-6)) / 2e-6, rtol=1e-7)


def test_exact_whole_numbers_of_traced_ones_are_refused() -> None:
    for function in (lambda x: sp.perm(x, 2, exact=True), lambda x: sp.factorial(x, exact=True)):
        with pytest.raises(UnsupportedFunction, match="exact"):
            ps.trace(function, X)
