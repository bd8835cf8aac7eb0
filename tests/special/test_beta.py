"""The beta function and its logarithm: SciPy's values, and slopes that are those of differences."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from tests.special.agreement import check

ROWS: list[tuple[Any, tuple[Any, ...], tuple[int, ...]]] = [
    (sp.beta, (np.array([0.5, 2.0, 7.5]), np.array([1.5, 3.0, 0.25])), (0, 1)),
    (sp.betaln, (np.array([0.5, 2.0, 300.0]), np.array([1.5, 3.0, 0.25])), (0, 1)),
]


@pytest.mark.sweep(2)
@pytest.mark.parametrize(("function", "args", "wrt"), ROWS, ids=lambda v: getattr(v, "__name__", ""))
def test_values_are_scipys_and_slopes_those_of_differences(function: Any, args: Any, wrt: tuple[int, ...]) -> None:
    check(function, *args, wrt=wrt)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("second", [-30.5, -2.5, -0.5])
def test_a_large_number_and_one_below_zero_lose_no_digits(second: float) -> None:
    """As x grows, beta(x, b) becomes gamma(b) x**-b: its error is of the order b**2 / x. DLMF 5.11.12."""
    x = np.array([1e13, 1e16, 1e100, 1e300])
    wanted = sp.gammaln(second) - second * np.log(x)
    np.testing.assert_allclose(ps.trace(lambda a: sp.betaln(a, second), x)(x), wanted, rtol=1e-12)
    found = ps.grad(lambda a: np.sum(sp.betaln(a, second)))(x)
    np.testing.assert_allclose(found, -second / x, rtol=1e-9)
