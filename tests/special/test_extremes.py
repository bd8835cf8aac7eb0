"""Special functions at the ends of their domains: SciPy's values, and derivatives that neither vanish nor cancel."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.special as sp
import scipy.stats

import primsplit as ps

INF, NAN = np.inf, np.nan
BETA = np.array(
    [
        [-2, 1], [-2, 2], [-2, 3], [-2, 0.5], [0, 1], [0, 0], [1, -2], [-2.5, 1], [-3, 2], [2, -5], [-7, 3], [INF, 1],
        [INF, INF], [-0.5, 0.5], [-0.5, -0.5], [-1e10, 1], [NAN, 1], [-2, NAN], [2, 3], [1e-10, 5],
    ]
)  # fmt: skip
BETA_PLACES = np.array(
    [
        [1, INF, 0.5], [INF, 1, 0.5], [1, INF, 0], [1, INF, 1], [INF, 1, 1], [INF, 1, 0], [INF, INF, 0.5],
        [0, INF, 0.5], [INF, 0, 0.5], [0, 1, 0], [1, 0, 1], [0, 0, 0.5], [1e-20, 1, 0.25], [1e-20, 1, 0.999],
        [1e-20, 1, 1e-3], [1, 1e-20, 0.25], [1e-20, 5, 0.1], [1e-6, 3e3, 1e-3], [1e-20, 1e-20, 0.5], [1e-5, 2, 0.3],
        [-1, 2, 0.5], [NAN, 1, 0.5], [1, 1, NAN],
    ]
)  # fmt: skip
ENDS = np.array([-INF, INF, 0.0, -1.0, -1e300, NAN, 0.5])


@pytest.mark.sweep(4)
@pytest.mark.parametrize(
    ("function", "table"),
    [
        (sp.beta, BETA), (sp.betaln, BETA), (sp.betainc, BETA_PLACES), (sp.betaincc, BETA_PLACES),
        (sp.gammaln, ENDS[:, None]), (sp.rgamma, ENDS[[1, 2, 3, 5, 6], None]), (sp.psi, ENDS[[0, 1, 3, 5, 6], None]),
    ],
)  # fmt: skip
def test_values_at_the_ends_are_scipys(function: Any, table: Any) -> None:
    columns = list(table.T)
    found = ps.trace(lambda *a: function(*a), *columns)(*columns)
    np.testing.assert_allclose(found, function(*columns), rtol=1e-11)


def test_pythons_lgamma_stays_pythons() -> None:
    assert ps.trace(lambda x: math.lgamma(x), 1.0)(-INF) == math.lgamma(-INF)


SLOPES: dict[str, tuple[Callable[[Any], Any], list[float], list[float]]] = {
    "rgamma": (sp.rgamma, [25.0, 30.0, -2.0, 0.0, 0.5], [-5.15553339e-24, -3.82778697e-31, 2.0, 1.0, 1.1077919]),
    "spence": (sp.spence, [1e-6, 1e-3, 0.3, 1.0, 5.0], [-13.81552437, -6.91466995, -1.71996115, -1.0, -0.40235948]),
    "expit": (sp.expit, [20.0, -20.0, 60.0, 0.0, 200.0], [2.06115362e-9, 2.06115362e-9, 8.75651076e-27, 0.25, 0.0]),
}
"""Derivatives by algebra: -digamma / gamma, (-1)^n n! at poles; log(x) / (1 - x); exp(-x) / (1 + exp(-x))^2."""


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SLOPES)
def test_a_derivative_far_out_keeps_its_digits(name: str, dtype: Any) -> None:
    function, x, wanted = SLOPES[name]
    found = ps.grad(lambda x: np.sum(function(x)))(np.array(x, dtype))
    np.testing.assert_allclose(found, wanted, rtol=1e-5 if dtype == np.float32 else 1e-7, atol=1e-37)


def test_a_sample_without_skewness_has_scipys_score() -> None:
    x = np.arange(1.0, 9.0)
    found = ps.trace(lambda x: scipy.stats.skewtest(x), x)(x)
    np.testing.assert_allclose(found, scipy.stats.skewtest(x), rtol=1e-12)


def test_a_function_of_scipys_may_be_traced_itself() -> None:
    x = np.array([2.0, 1.0, 3.0])
    np.testing.assert_allclose(ps.trace(scipy.linalg.companion, x)(x), scipy.linalg.companion(x))


BEYOND: dict[str, list[list[float]]] = {
    "gdtr": [[1.3, 0.0, 2.0], [-3.7, 1.0, -0.5], [1.3, -1.0, 2.0], [1.3, 2.0, 0.7]],
    "gdtrc": [[1.3, 0.0, 2.0], [-3.7, 1.0, -0.5], [1.3, 2.0, 0.7]],
    "pdtr": [[-1.0, 0.5], [-3.7, 0.5], [2.0, 0.5]],
    "pdtrc": [[-1.0, 0.5], [2.0, -0.5], [2.0, 0.5]],
    "fdtr": [[0.0, 2.0, 2.0], [2.0, -1.0, 2.0], [2.0, 2.0, -1.0], [2.0, 3.0, 0.7]],
    "fdtrc": [[0.0, 2.0, 2.0], [2.0, -1.0, 2.0], [2.0, 3.0, 0.7]],
    "bdtr": [[-1.0, 4.0, 0.3], [0.0, 0.0, 30.0], [1.0, 4.0, -0.3], [1.0, 4.0, 0.3]],
    "gammainc": [[-1.0, 2.0], [1.0, -2.0], [NAN, 1.0], [1.3, 0.7]],
    "gammaincc": [[-1.0, 2.0], [1.0, -2.0], [NAN, 1.0], [1.3, 0.7]],
}
"""Arguments of which the last alone are in the domain."""


@pytest.mark.sweep(9)
@pytest.mark.parametrize("name", BEYOND)
def test_beyond_the_domain_value_and_derivative_are_nan(name: str) -> None:
    columns, function = [np.array(c) for c in zip(*BEYOND[name], strict=True)], getattr(sp, name)
    found = ps.trace(function, *columns)(*columns)
    np.testing.assert_allclose(found, function(*columns), rtol=1e-12)
    last = len(columns) - 1
    gradient = ps.grad(lambda *a: np.sum(function(*a)), wrt=0 if name.startswith("gdtr") else last)(*columns)
    np.testing.assert_array_equal(np.isnan(gradient), np.isnan(found))


ENDS_OF: dict[str, tuple[Callable[..., Any], list[tuple[float, ...]]]] = {
    "elliprc": (sp.elliprc, [(0.0, 0.0), (1.0, 0.0), (1.0, 2.0), (1.0, -2.0)]),
    "elliprg": (sp.elliprg, [(0.0, -1.0, 1.7), (-3.7, 0.0, 1.0), (0.0, 0.0, 1.0), (1.0, 0.0, 2.0)]),
    "fdtr": (sp.fdtr, [(1e4, 1e-10, 1.7), (1e4, 1e-10, 1e4), (2.0, 3.0, 0.3), (2.0, 3.0, -1.0), (2.0, 3.0, 0.0)]),
    "fdtrc": (sp.fdtrc, [(1e-10, 1e4, 0.3), (2.0, 3.0, 30.0), (2.0, 3.0, 0.0)]),
    "fdtri": (sp.fdtri, [(2.0, 3.0, 0.3), (2.0, 3.0, 0.999), (2.0, 3.0, 0.0), (2.0, 3.0, 1.5), (200.0, 1e-3, 0.2)]),
    "voigt_profile": (
        sp.voigt_profile,
        [(1.0, -1.0, 1.0), (1.0, 1.0, -1.0), (1.0, -1.0, -1.0), (1.0, 0.0, 1.0), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0)],
    ),
    "keip": (sp.keip, [(1e-10,), (1e-3,), (1.0,), (1.5,), (0.0,), (-1.0,), (20.0,)]),
    "poch": (
        sp.poch,
        [(-2.0, 1.0), (-2.0, 2.0), (-2.0, 0.5), (1.0, -1.0), (0.0, -1.0), (-1.0, 3.0), (3.0, 0.5), (200.0, -0.3)],
    ),
    "beta": (sp.beta, [(-2.0, -1.0), (-1.0, -2.0), (0.0, 0.0)]),
    "rgamma": (sp.rgamma, [(-INF,)]),
    "gammaincinv": (sp.gammaincinv, [(0.0, 0.0), (0.0, 1.0), (0.0, 0.5)]),
    "betainc of small shapes": (sp.betainc, [(175.5, 1.5e-11, 1 - 2.8e-13), (0.02, 2.4e-11, 1 - 7.7e-13)]),
    "betaincc of small shapes": (
        sp.betaincc,
        [(1.4e-12, 0.24, 1.5e-8), (2.1e-10, 3.6e-5, 5.3e-8), (5e-11, 5e3, 6e-15), (1e-5, 1e-9, 0.5), (1e-9, 1e-5, 0.5)],
    ),
}


@pytest.mark.sweep(7)
@pytest.mark.parametrize("name", ENDS_OF)
def test_values_of_hard_arguments_are_scipys(name: str) -> None:
    function, rows = ENDS_OF[name]
    columns = list(np.array(rows).T)
    found = ps.trace(lambda *a: function(*a), *columns)(*columns)
    np.testing.assert_allclose(found, function(*columns), rtol=2e-11)


def test_the_limit_function_is_nan_where_a_term_is_infinite() -> None:
    v, z = np.array([-1.0, 0.0, -1.5]), 0.3
    np.testing.assert_allclose(ps.trace(sp.hyp0f1, v, z)(v, z), sp.hyp0f1(v, z), rtol=1e-12)


SLOPES_AT: dict[str, tuple[Callable[..., Any], tuple[float, ...]]] = {
    "voigt_profile of a negative width": (sp.voigt_profile, (1.0, -1.0, 1.0)),
    "fdtri": (sp.fdtri, (2.0, 3.0, 0.3)),
    "fdtri far out": (sp.fdtri, (2.0, 3.0, 0.999)),
    "fdtr on the right": (sp.fdtr, (2.0, 3.0, 30.0)),
    "keip": (lambda x: sp.keip(x), (1e-3,)),
    "keip far": (lambda x: sp.keip(x), (1.5,)),
}


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", SLOPES_AT)
def test_gradients_of_hard_arguments_are_differences(name: str) -> None:
    function, at = SLOPES_AT[name]
    found = ps.grad(function, wrt=tuple(range(len(at))))(*at)
    for i, (x, slope) in enumerate(zip(at, found, strict=True)):
        step = 1e-6 * abs(x)
        low, high = (function(*at[:i], x + s * step, *at[i + 1 :]) for s in (-1, 1))
        np.testing.assert_allclose(slope, (high - low) / (2 * step), rtol=1e-6)


def test_poch_at_poles_has_the_derivative_of_its_polynomial() -> None:
    z = np.array([-2.0, -2.0, 0.0])
    m = np.array([1.0, 2.0, 3.0])
    by_z, by_m = ps.grad(lambda z, m: np.sum(sp.poch(z, m)), wrt=(0, 1))(z, m)
    np.testing.assert_allclose(by_z, [1.0, 2 * -2.0 + 1, 2.0])  # of z, z (z + 1), z (z + 1) (z + 2)
    np.testing.assert_array_equal(np.isnan(by_m), [True, True, False])  # at poles of both it jumps
