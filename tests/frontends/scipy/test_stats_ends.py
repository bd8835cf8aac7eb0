"""Families of scipy.stats at ends, at the median, and at shapes where a formula has a limit: SciPy's values and slopes.

Slopes are central differences of SciPy's values, or those of the formula where it says so.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats as ss

import primsplit as ps

VALUES: dict[str, tuple[Callable[..., Any], tuple[float, ...]]] = {
    "triang.pdf of a mode at 0": (ss.triang.pdf, (0.0, 0.0)),
    "triang.pdf of a mode at 1": (ss.triang.pdf, (1.0, 1.0)),
    "triang.logcdf near 0": (ss.triang.logcdf, (1e-10, 0.0)),
    "gengamma.pdf at 0": (ss.gengamma.pdf, (0.0, 0.25, 1.0)),
    "gengamma.pdf at 0, as expon": (ss.gengamma.pdf, (0.0, 1.0, 1.0)),
    "burr.pdf at 0": (ss.burr.pdf, (0.0, 0.25, 1.0)),
    "burr.pdf far out": (ss.burr.pdf, (1e4, 4.0, 1.3)),
    "truncexpon.ppf of 1": (ss.truncexpon.ppf, (1.0, 40.0)),
    "truncexpon.isf of 0": (ss.truncexpon.isf, (0.0, 40.0)),
    "truncexpon.ppf": (ss.truncexpon.ppf, (0.3, 2.0)),
    "truncexpon.isf": (ss.truncexpon.isf, (0.3, 2.0)),
    "mielke.logcdf far down": (ss.mielke.logcdf, (1e-4, 7.0, 40.0)),
    "geom.logsf far out": (ss.geom.logsf, (10000.0, 0.25)),
    "geom.logsf below": (ss.geom.logsf, (0.5, 0.25)),
    "foldnorm.cdf near 0": (ss.foldnorm.cdf, (0.4, 1.7)),
    "foldnorm.cdf": (ss.foldnorm.cdf, (1.4, 1.7)),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_at_an_end_is_scipys(name: str) -> None:
    function, at = VALUES[name]
    np.testing.assert_allclose(ps.trace(function, *at)(*at), function(*at), rtol=1e-12)


def test_what_is_small_keeps_its_digits_near_0() -> None:
    z = 1e-9
    density = np.sqrt(2 / np.pi) * np.exp(-(1.7**2) / 2)
    np.testing.assert_allclose(ps.trace(ss.foldnorm.cdf, z, 1.7)(z, 1.7), z * density, rtol=1e-12)
    np.testing.assert_allclose(ps.trace(ss.halfnorm.logsf, z)(z), -z * np.sqrt(2 / np.pi), rtol=1e-9)


SLOPES: dict[str, tuple[Callable[..., Any], tuple[float, ...]]] = {
    "laplace.ppf": (ss.laplace.ppf, (0.5,)),
    "laplace.isf": (ss.laplace.isf, (0.5,)),
    "dgamma.ppf": (ss.dgamma.ppf, (0.5, 1.0)),
    "dweibull.isf": (ss.dweibull.isf, (0.5, 1.0)),
    "gennorm.ppf": (ss.gennorm.ppf, (0.5, 1.0)),
    "fatiguelife.ppf": (ss.fatiguelife.ppf, (0.5, 0.6)),
    "loglaplace.cdf": (ss.loglaplace.cdf, (1.0, 1.7)),
    "loglaplace.logsf": (ss.loglaplace.logsf, (1.0, 1.7)),
    "dweibull.cdf": (ss.dweibull.cdf, (0.0, 1.0)),
}
"""At the median, where formulas of two sides meet."""


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", SLOPES)
def test_both_sides_of_a_median_are_one_function(name: str) -> None:
    function, (x, *shapes) = SLOPES[name]
    step = 1e-6
    slope = (function(x + step, *shapes) - function(x - step, *shapes)) / (2 * step)
    np.testing.assert_allclose(ps.grad(lambda x: function(x, *shapes))(x), slope, rtol=1e-5)


LIMITS: dict[str, tuple[Callable[..., Any], float]] = {
    f"{family}.{method}": (getattr(getattr(ss, family), method), 0.3 if method in {"ppf", "isf"} else 0.7)
    for family in ("genextreme", "genpareto")
    for method in ("logpdf", "cdf", "logsf", "ppf", "isf")
}


@pytest.mark.sweep(9)
@pytest.mark.parametrize("name", LIMITS)
def test_a_shape_of_0_has_the_slope_of_its_limit(name: str) -> None:
    function, x = LIMITS[name]
    step = 1e-4
    slope = (function(x, step) - function(x, -step)) / (2 * step)
    found = [ps.grad(lambda c: function(x, c))(c) for c in (0.0, 1e-9)]
    np.testing.assert_allclose(found, slope, rtol=1e-6)


def test_a_shape_of_0_has_the_second_derivative_of_its_limit() -> None:
    second = ps.grad(ps.grad(lambda c: ss.genpareto.logsf(0.7, c)))(0.0)
    np.testing.assert_allclose(second, -2 * 0.7**3 / 3)  # of -log(1 + c z) / c


BEYOND: dict[str, tuple[Callable[..., Any], tuple[float, ...]]] = {
    "cauchy.ppf": (ss.cauchy.ppf, (1.0, 0.0, -1.0)),
    "halfcauchy.ppf": (ss.halfcauchy.ppf, (1.0, 0.0, 0.0)),
    "genpareto.logpdf": (ss.genpareto.logpdf, (0.5, np.nan, 0.0, 1.0)),
    "laplace_asymmetric.logpdf": (ss.laplace_asymmetric.logpdf, (0.5, -1.0, 0.0, 1.0)),
    "truncnorm.logpdf": (ss.truncnorm.logpdf, (0.5, np.nan, 1.0, 0.0, 1.0)),
    "triang.cdf": (ss.triang.cdf, (0.5, 1.5, 0.0, 1.0)),
    "weibull_min.logsf": (ss.weibull_min.logsf, (0.5, 1.0, np.nan, 1.0)),
}


@pytest.mark.parametrize("name", BEYOND)
def test_a_missing_value_has_no_derivative_in_any_argument(name: str) -> None:
    function, at = BEYOND[name]
    assert np.isnan(function(*at))
    value, gradient = ps.value_and_grad(function, wrt=tuple(range(len(at))))(*at)
    assert np.isnan(value)
    assert np.all(np.isnan(gradient))


def test_multinomial_chances_out_of_range_have_no_probability() -> None:
    x = np.array([[1.0, 1.0, 2.0], [4.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    p = np.array([[0.2, 0.3, 0.5], [-0.2, 0.7, 0.5], [0.2, 0.3, 0.5]])
    found = ps.trace(ss.multinomial.logpmf, x, 4.0, p)(x, 4.0, p)
    np.testing.assert_allclose(found, ss.multinomial.logpmf(x, 4, p))
    gradient = ps.grad(lambda p: np.sum(ss.multinomial.logpmf(x[:2], 4.0, p)))(p[:2])
    np.testing.assert_array_equal(np.isnan(gradient[:, :2]), [[False, False], [True, True]])
    assert np.isnan(ps.trace(ss.multinomial.logpmf, x, -1.0, p)(x, -1.0, p)[0])


def test_degrees_of_freedom_that_are_none_fail_and_infinite_ones_are_normal() -> None:
    def logpdf(df: Any) -> Any:
        return ss.multivariate_t.logpdf(np.array([0.3, 0.7]), np.zeros(2), np.eye(2), df)

    traced = ps.trace(logpdf, 3.0)
    np.testing.assert_allclose(traced(np.inf), ss.multivariate_normal.logpdf([0.3, 0.7], np.zeros(2), np.eye(2)))
    np.testing.assert_allclose(traced(3.0), logpdf(3.0))
    for df in (0.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="greater than zero"):
            traced(df)


def test_missing_shares_and_powers_have_no_density() -> None:
    def logpdf(x: Any, alpha: Any) -> Any:
        return ss.dirichlet.logpdf(x, alpha)

    x, alpha = np.array([0.2, 0.3, 0.5]), np.array([np.nan, 2.0, 3.0])
    value, gradient = ps.value_and_grad(logpdf, wrt=(0, 1))(x, alpha)
    assert np.isnan(value)
    assert np.all(np.isnan(gradient))


@pytest.mark.slow
def test_the_quantile_of_gennorm_has_its_slopes_at_the_median() -> None:
    """1 / pdf(0) in the probability; the median is 0 for every shape."""
    slope = ps.grad(lambda q: ss.gennorm.ppf(q, 1.7))(0.5)
    np.testing.assert_allclose(slope, 1 / ss.gennorm.pdf(0.0, 1.7), rtol=1e-12)
    assert ps.grad(lambda b: ss.gennorm.ppf(0.5, b))(1.7) == 0
    assert ps.grad(lambda b: ss.gennorm.median(b, 0.1, 2.0))(0.7) == 0
