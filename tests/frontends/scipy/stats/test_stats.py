"""scipy.stats' mirror: SciPy's values and gradients of the normal distribution, in all its arguments."""

from typing import Any

import numpy as np
import pytest
import scipy.stats

import primsplit as ps
from primsplit.frontends.scipy import stats
from tests.frontends.scipy.stats.family import (
    COUNTS,
    QUANTILES,
    SPREAD,
    of,
)
from tests.numpy.agreement import check_grads

X = np.array([-1.3, 0.2, 2.1])


@pytest.mark.parametrize("name", [name for name in stats.norm.own if name not in QUANTILES])
def test_a_function_of_the_normal_distribution_is_scipys(name: str) -> None:
    function, reference = getattr(stats.norm, name), getattr(scipy.stats.norm, name)
    far = np.array([-30.0, -9.0, 9.0, 30.0])
    np.testing.assert_allclose(ps.trace(function, far)(far), reference(far), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("name", QUANTILES)
def test_a_quantile_of_the_normal_distribution_is_scipys(name: str) -> None:
    function, reference = getattr(stats.norm, name), getattr(scipy.stats.norm, name)
    far = np.array([0.0, 1e-300, 1e-17, 0.3, 0.5, 0.999999, 1.0, -0.1, np.nan])
    np.testing.assert_allclose(ps.trace(function, far)(far), reference(far), rtol=1e-14, atol=1e-300)


def test_the_normal_distribution_has_first_and_second_derivatives_in_all_its_parameters() -> None:
    place = (np.array([0.1, -0.4, 0.3]), np.array([0.7, 1.3, 2.0]))
    check_grads(of("norm", [m for m in stats.norm.own if m not in QUANTILES]), X, *place)
    check_grads(of("norm", QUANTILES), np.array([0.1, 0.5, 0.8]), *place)


def test_a_float32_argument_gives_float64_as_in_scipy() -> None:
    x = X.astype(np.float32)
    assert ps.trace(stats.norm.logpdf, x)(x).dtype == scipy.stats.norm.logpdf(x).dtype


def mixed(x: Any) -> Any:
    frozen = scipy.stats.gamma(2.0, scale=x[0])
    fixed = scipy.stats.t(5)
    normal = scipy.stats.multivariate_normal(mean=x, cov=SPREAD)
    counted = scipy.stats.poisson.logpmf(COUNTS[1:], x[2]).sum()
    return frozen.logpdf(x).sum() + fixed.logpdf(x) + normal.logpdf(SPREAD).sum() + counted


def test_a_users_code_names_distributions_as_scipy_does() -> None:
    check_grads(mixed, np.array([0.7, 0.9, 1.4]), symbolic=False)
