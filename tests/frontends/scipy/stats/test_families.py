"""Families of distributions by their log densities: SciPy's functions, and derivatives in all parameters."""

from typing import Any

import numpy as np
import pytest
import scipy.stats

import primsplit as ps
from primsplit.frontends.scipy.stats.families import CONTINUOUS as FAMILIES
from tests.frontends.scipy.stats.family import (
    CONTINUOUS,
    OF_INTEGRALS,
    SHAPES,
    check_densities,
    check_derivatives,
    check_functions,
)


@pytest.mark.sweep(12)
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_the_functions_of_a_family_are_scipys(name: str) -> None:
    check_functions(name)


@pytest.mark.sweep(24)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n in OF_INTEGRALS and n != "gamma")) for n in FAMILIES]
)
def test_a_family_has_first_and_second_derivatives_in_all_its_parameters(name: str) -> None:
    check_derivatives(name)


X = np.array([-1.3, 0.2, 2.1])


def test_the_gradient_of_a_density_outside_of_the_support_is_zero() -> None:
    for name, family in CONTINUOUS.items():
        shapes = SHAPES.get(name, ())
        if family.low > -np.inf:
            outside = min(family.low, 0.0) - np.array([3.0, 0.5])
            gradient = ps.grad(lambda x, f=family, s=shapes: np.sum(f.pdf(x, *s)))(outside)
            np.testing.assert_array_equal(gradient, [0.0, 0.0])


def test_students_t_of_infinite_freedom_is_normal() -> None:
    methods, freedom = ("logpdf", "sf"), np.full(3, np.inf)

    def f(x: Any, df: Any) -> Any:
        return np.stack([getattr(scipy.stats.t, m)(x, df) for m in methods])

    np.testing.assert_allclose(ps.trace(f, X, freedom)(X, freedom), f(X, freedom), rtol=1e-14)
    in_x, in_df = ps.grad(lambda x, df: np.sum(f(x, df)), wrt=(0, 1))(X, freedom)
    with_normal = ps.grad(lambda x: np.sum(np.stack([getattr(scipy.stats.norm, m)(x) for m in methods])))(X)
    np.testing.assert_allclose(in_x, with_normal, rtol=1e-14)
    np.testing.assert_array_equal(in_df, np.zeros(3))


def test_students_density_of_many_degrees_of_freedom_loses_no_digits() -> None:
    """The numbers at 1.5 are mpmath's."""
    df = np.array([3.0, 1e3, 1e6, 1e8])
    wanted = [-2.1201204254943551, -2.0440485396728882, -2.0439386425803056, -2.0439385342984228]
    slopes = [0.032386905639853014, 1.1063659469930039e-7, 1.0937626562095948e-13, 1.093750126562496e-17]
    np.testing.assert_allclose(ps.trace(lambda v: scipy.stats.t.logpdf(1.5, v), df)(df), wanted, rtol=1e-15)
    found = ps.grad(lambda v: np.sum(scipy.stats.t.logpdf(1.5, v)))(df)
    np.testing.assert_allclose(found, slopes, rtol=1e-8, atol=1e-22)


def test_each_log_density_is_scipys_with_its_slopes() -> None:
    check_densities([*FAMILIES])


@pytest.mark.sweep(4)
@pytest.mark.parametrize("method", ["cdf", "sf", "logcdf", "logsf", "pmf"])
def test_a_binomial_distribution_of_infinitely_many_trials_is_not_defined(method: str) -> None:
    def f(n: Any) -> Any:
        return getattr(scipy.stats.binom, method)(2, n, 0.3)

    assert np.isnan(f(np.inf))
    assert np.isnan(ps.trace(f, 5.0)(np.inf))
    np.testing.assert_allclose(ps.trace(f, 5.0)(7.0), f(7.0), rtol=1e-13)


COUNTING = {"poisson": (2.3,), "nbinom": (2.5, 0.4), "binom": (7.0, 0.4), "betabinom": (7.0, 1.3, 2.2), "geom": (0.3,)}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", COUNTING)
def test_a_log_probability_that_is_missing_has_no_slope(name: str) -> None:
    family = getattr(scipy.stats, name)
    places = range(1, len(COUNTING[name]) + 1)
    made = ps.value_and_grad(lambda k, *shapes: family.logpmf(k, *shapes), wrt=tuple(places))
    for place in range(len(COUNTING[name]) + 1):
        for bad in (np.inf, -np.inf, np.nan):
            given = [2.0, *COUNTING[name]]
            given[place] = bad
            value, slopes = made(*given)
            with np.errstate(all="ignore"):
                np.testing.assert_equal(value, family.logpmf(*given))
            assert not np.isnan(value) or np.isnan(slopes).all(), (given, slopes)
