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
    (sp.eval_genlaguerre, (np.array([2]), np.array([0.5, 1.5, 0.2]), np.array([0.3, 0.5, 1.9])), (2,)),
    (sp.poch, (np.array([0.5, 3.0]), np.array([2.0, 1.5])), (0,)),
]


@pytest.mark.parametrize(("function", "args", "wrt"), ROWS, ids=lambda v: getattr(v, "__name__", ""))
def test_values_are_scipys_and_slopes_those_of_differences(function: Any, args: Any, wrt: tuple[int, ...]) -> None:
    check(function, *args, wrt=wrt)


def test_binom_crosses_0_at_whole_numbers_beyond_0_and_n() -> None:
    k, step = np.array([-2.0, -1.0, 6.0, 7.0, 5.999999]), 1e-5
    difference = (sp.binom(5.0, k + step) - sp.binom(5.0, k - step)) / (2 * step)
    np.testing.assert_allclose(ps.grad(lambda k: np.sum(sp.binom(5.0, k)))(k), difference, rtol=1e-6)
    np.testing.assert_array_equal(ps.trace(sp.binom, 5.0, k)(5.0, k)[:4], np.zeros(4))
