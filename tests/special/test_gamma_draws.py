"""Draws of gamma and beta variables: their distributions, and their slopes in the shapes."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp
import scipy.stats

import primsplit as ps
from primsplit.special.gamma_draws import log_gamma_draw, moved_beta, moved_gamma

COUNT = 4000


@pytest.mark.parametrize("shape", [0.2, 1.0, 2.5, 40.0])
def test_the_exponential_of_a_draw_has_the_gamma_distribution(shape: float) -> None:
    def f(a: Any) -> Any:
        return np.exp(log_gamma_draw(a, [1.0, 2.0, 3.0]))

    drawn = ps.trace(f, ps.spec("float64", ["N"]))(np.full(COUNT, shape))
    assert scipy.stats.kstest(drawn, scipy.stats.gamma(shape).cdf).pvalue > 1e-3
    # Neighbours are independent.
    chances = scipy.stats.gamma(shape).cdf(drawn)
    assert abs(np.corrcoef(chances[1:], chances[:-1])[0, 1]) < 4 / np.sqrt(COUNT)


def test_a_shape_that_is_none_has_nan_and_leaves_the_others() -> None:
    shapes = np.array([2.0, 0.0, -1.0, np.inf, np.nan, 0.5])
    drawn = ps.trace(lambda a: log_gamma_draw(a, [1.0, 2.0, 3.0]), shapes)(shapes)
    np.testing.assert_array_equal(np.isnan(drawn), [False, True, True, True, True, False])


def test_the_slope_of_a_gamma_draw_keeps_its_chance() -> None:
    shapes, drawn = np.array([0.3, 1.0, 4.0, 25.0]), np.array([0.1, 0.7, 6.0, 20.0])
    value, gradient = ps.value_and_grad(lambda a: np.sum(moved_gamma(a, drawn)))(shapes)
    chances, step = sp.gammainc(shapes, drawn), 1e-5
    wanted = (sp.gammaincinv(shapes + step, chances) - sp.gammaincinv(shapes - step, chances)) / (2 * step)
    np.testing.assert_allclose(value, drawn.sum())
    np.testing.assert_allclose(gradient, wanted, rtol=1e-7)


@pytest.mark.slow
def test_the_slopes_of_a_beta_draw_keep_its_chance() -> None:
    a, b, drawn = np.array([0.5, 2.0, 9.0]), np.array([1.5, 0.7, 4.0]), np.array([0.2, 0.9, 0.6])
    by_a, by_b = ps.grad(lambda a, b: np.sum(moved_beta(a, b, drawn)), wrt=(0, 1))(a, b)
    chances, step = sp.betainc(a, b, drawn), 1e-5
    wanted = (sp.betaincinv(a + step, b, chances) - sp.betaincinv(a - step, b, chances)) / (2 * step)
    np.testing.assert_allclose(by_a, wanted, rtol=1e-7)
    wanted = (sp.betaincinv(a, b + step, chances) - sp.betaincinv(a, b - step, chances)) / (2 * step)
    np.testing.assert_allclose(by_b, wanted, rtol=1e-7)
