"""scipy.stats' mirror: SciPy's values and gradients of the normal distribution, in all its arguments."""

from typing import Any

import numpy as np
import pytest
import scipy.stats

import primsplit as ps
from primsplit.scipy import stats
from tests.numpy.agreement import check_grads

X = np.array([-1.3, 0.2, 2.1])


QUANTILES = ("ppf", "isf")


@pytest.mark.parametrize("name", [name for name in stats.METHODS if name not in QUANTILES])
def test_a_function_of_the_normal_distribution_is_scipys(name: str) -> None:
    function, reference = getattr(stats.norm, name), getattr(scipy.stats.norm, name)
    far = np.array([-30.0, -9.0, 9.0, 30.0])
    np.testing.assert_allclose(ps.trace(function, far)(far), reference(far), rtol=1e-12, atol=1e-300)

    def at(x: Any, loc: Any, scale: Any) -> Any:
        mirror = function if isinstance(x, ps.Array) else reference
        return mirror(x, loc, scale)

    check_grads(at, X, np.array([0.1, -0.4, 0.3]), np.array([0.7, 1.3, 2.0]))


@pytest.mark.parametrize("name", QUANTILES)
def test_a_quantile_of_the_normal_distribution_is_scipys(name: str) -> None:
    function, reference = getattr(stats.norm, name), getattr(scipy.stats.norm, name)
    far = np.array([0.0, 1e-300, 1e-17, 0.3, 0.5, 0.999999, 1.0, -0.1, np.nan])
    np.testing.assert_allclose(ps.trace(function, far)(far), reference(far), rtol=1e-14, atol=1e-300)

    def at(q: Any, loc: Any, scale: Any) -> Any:
        mirror = function if isinstance(q, ps.Array) else reference
        return mirror(q, loc, scale)

    check_grads(at, np.array([0.1, 0.5, 0.8]), np.array([0.1, -0.4, 0.3]), np.array([0.7, 1.3, 2.0]))


def test_a_float32_argument_gives_float64_as_in_scipy() -> None:
    x = X.astype(np.float32)
    assert ps.trace(stats.norm.logpdf, x)(x).dtype == scipy.stats.norm.logpdf(x).dtype
