"""Derivatives are NaN where a value is NaN: of special functions beyond their domains."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as sp
import scipy.stats

import primsplit as ps

BEYOND: dict[str, tuple[Callable[..., Any], tuple[float, ...]]] = {
    "logit": (sp.logit, (1.7,)),
    "exp1": (sp.exp1, (-0.5,)),
    "ellipk": (sp.ellipk, (1.7,)),
    "ellipkinc": (sp.ellipkinc, (0.5, 1.7)),
    "agm": (sp.agm, (-1.0, 2.0)),
    "elliprf": (sp.elliprf, (-1.0, 2.0, 0.5)),
    "betainc of a negative shape": (sp.betainc, (-1.0, 2.0, 0.5)),
    "betainc beyond 1": (sp.betainc, (1.0, 2.0, 1.5)),
    "boxcox": (sp.boxcox, (-1.0, 2.0)),
    "xlogy": (sp.xlogy, (0.7, -1.0)),
    "xlogy of NaN": (sp.xlogy, (np.nan, 2.0)),
    "psi": (sp.psi, (-1.0,)),
    "gammaincinv": (sp.gammaincinv, (2.0, 1.5)),
    "kei": (sp.kei, (-1.0,)),
}


@pytest.mark.sweep(16)
@pytest.mark.parametrize("name", BEYOND)
def test_every_derivative_is_missing_where_the_value_is(name: str) -> None:
    function, at = BEYOND[name]
    assert np.isnan(function(*at))
    gradient = ps.grad(function, wrt=tuple(range(len(at))))(*at)
    assert np.all(np.isnan(gradient))


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", ["ellipk", "betainc beyond 1", "xlogy"])
def test_second_and_forward_derivatives_are_missing_too(name: str) -> None:
    function, at = BEYOND[name]
    last = len(at) - 1
    assert np.isnan(ps.grad(ps.grad(function, wrt=last), wrt=last)(*at))
    assert np.isnan(ps.jvp(lambda x: function(*at[:-1], x), (at[-1],), (1.0,))[1])


def test_each_of_several_results_takes_its_own_derivative() -> None:
    def second(x: Any) -> Any:
        return sp.ellipj(x, np.array([0.5, 1.5]))[1]

    gradient = ps.jacobian(second)(np.array([0.3, 0.3]))
    np.testing.assert_array_equal(np.isnan(gradient), [[False, False], [False, True]])


def test_one_missing_number_of_many_spoils_what_it_shares_alone() -> None:
    m = np.array([0.3, 1.7, 0.5])
    by_m, by_phi = ps.grad(lambda m, phi: np.sum(sp.ellipkinc(phi, m)), wrt=(0, 1))(m, 0.8)
    step = 1e-6
    slopes = (sp.ellipkinc(0.8, m + step) - sp.ellipkinc(0.8, m - step)) / (2 * step)
    np.testing.assert_allclose(by_m, slopes, rtol=1e-7)
    assert np.isnan(by_m[1])
    assert np.isnan(by_phi)


def test_a_value_that_is_not_chosen_spoils_nothing() -> None:
    gradient = ps.grad(lambda m: np.sum(np.where(m < 1.0, sp.ellipk(m), m)))(np.array([0.0, 1.7]))
    np.testing.assert_allclose(gradient, [np.pi / 8, 1.0])


def test_derivatives_are_missing_in_batches_and_in_single_precision() -> None:
    points = np.array([0.0, 1.7], np.float32)
    found = ps.vmap(ps.grad(sp.ellipk))(points)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [np.pi / 8, np.nan], rtol=1e-6)


def test_a_family_may_give_a_function_plain_numbers() -> None:
    gradient = ps.grad(lambda df: scipy.stats.t.logpdf(0.7, df))(3.0)
    step = 1e-6
    slope = (scipy.stats.t.logpdf(0.7, 3.0 + step) - scipy.stats.t.logpdf(0.7, 3.0 - step)) / (2 * step)
    np.testing.assert_allclose(gradient, slope, rtol=1e-6)
