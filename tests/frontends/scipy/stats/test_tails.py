"""Probabilities and quantiles of families of distributions: SciPy's far out too, and their derivatives in shapes."""

from typing import Any

import numpy as np
import pytest
import scipy.stats

import primsplit as ps
from primsplit.frontends.scipy import stats
from tests.frontends.scipy.stats.family import (
    CONTINUOUS,
    OF_INTEGRALS,
    OF_SHAPES,
    SHAPES,
)


@pytest.mark.sweep(2)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n not in {"chi2", "gamma"})) for n in OF_INTEGRALS]
)
def test_probabilities_and_quantiles_have_derivatives_in_their_shapes(name: str) -> None:
    family, reference, known, step = CONTINUOUS[name], getattr(scipy.stats, name), np.array(SHAPES[name]), 1e-5
    methods, x = [m for m in OF_SHAPES if m in family.own], np.array([0.25, 0.55, 0.83])
    every = ps.jacobian(lambda s: np.stack([getattr(family, m)(x, *s) for m in methods]))(known)
    for method, found in zip(methods, every, strict=True):
        for i, column in enumerate(found.T):
            ends = (known + sign * step * np.eye(len(known))[i] for sign in (1, -1))
            high, low = (getattr(reference, method)(x, *end) for end in ends)
            np.testing.assert_allclose(column, (high - low) / (2 * step), rtol=1e-7, atol=1e-9, err_msg=method)


FAR: list[tuple[str, tuple[float, ...], list[float], list[float]]] = [
    ("burr", (10.5, 4.3), [1e-10, 1e-3], []),
    ("genextreme", (0.3,), [-100.0, -5.0], [3.0]),
    ("genextreme", (-0.3,), [-3.0, -2.0], [1e10]),
    ("genextreme", (0.0,), [-8.0, -3.0], [50.0, 300.0]),
    ("gumbel_r", (), [-8.0, -5.0], [50.0]),
    ("halflogistic", (), [1e-30, 1e-10], [600.0]),
    ("halfnorm", (), [1e-30, 1e-10], [30.0]),
    ("invgauss", (0.5,), [1e-4, 1e-3], [100.0, 1000.0, 3000.0]),
    ("logistic", (), [-1e5, -1000.0], [1000.0]),
    ("lognorm", (0.9,), [1e-30, 1e-5], [1e30]),
    ("truncnorm", (40.0, np.inf), [41.0], [45.0, 60.0]),
    ("truncnorm", (-60.0, 60.0), [-50.0, -41.0, 1.0], [41.0, 50.0]),
    ("wald", (), [1e-4, 1e-3], [1000.0, 3000.0]),
]  # fmt: skip
"""A family, its shapes, and numbers far out on the left and on the right."""


@pytest.mark.sweep(8)
@pytest.mark.parametrize(("name", "shapes", "low", "high"), FAR)
def test_the_logarithm_of_a_probability_is_scipys_far_out(
    name: str, shapes: tuple[float, ...], low: list[float], high: list[float]
) -> None:
    family = getattr(scipy.stats, name)
    for method, x, sign in (("logcdf", np.array(low), 1), ("logsf", np.array(high), -1)):

        def f(x: Any, method: str = method) -> Any:
            return getattr(family, method)(x, *shapes)

        np.testing.assert_allclose(ps.trace(f, x)(x), f(x), rtol=1e-9)
        wanted = sign * np.exp(family.logpdf(x, *shapes) - f(x))
        np.testing.assert_allclose(ps.grad(lambda x, f=f: np.sum(f(x)))(x), wanted, rtol=1e-6)


@pytest.mark.sweep(4)
@pytest.mark.parametrize("method", ["cdf", "sf", "logcdf", "logsf"])
def test_probabilities_between_a_number_and_infinity_have_tangents(method: str) -> None:
    x, rates = np.array([0.3, 1.0, 2.9]), np.array([1.0, 0.5, 2.0])
    for ends in ((-np.inf, 3.0), (-1.0, np.inf), (2.0, np.inf), (-np.inf, -2.0)):

        def f(x: Any, ends: tuple[float, float] = ends) -> Any:
            return getattr(scipy.stats.truncnorm, method)(x - (5 if ends[1] < 0 else 0), *ends)

        gradient = ps.grad(lambda x, f=f: np.sum(f(x) * rates))(x)
        assert np.isfinite(gradient).all()
        np.testing.assert_allclose(ps.jvp(f, (x,), (np.eye(3)[1],))[1], np.eye(3)[1] * gradient / rates, rtol=1e-12)
    _, slope = ps.jvp(lambda b: scipy.stats.truncnorm.logpdf(0.3, -np.inf, b), (1.4,), (0.0,))
    assert slope == 0.0


OF_THE_REST = {"f", "genlogistic", "moyal"}
"""Families of which SciPy takes the quantile of 1 - q."""


@pytest.mark.sweep(30)
@pytest.mark.parametrize("name", [n for n, d in stats.DISTRIBUTIONS.items() if "isf" in d.methods])
def test_a_quantile_of_a_small_part_is_scipys(name: str) -> None:
    known = SHAPES.get(name, ())
    far = np.array([0.0, 1e-200, 1e-18, 1e-9, 0.3, 0.5, 0.75, 0.999, 1.0])
    far = far[4:] if name in OF_THE_REST else far
    found = ps.trace(lambda q: getattr(scipy.stats, name).isf(q, *known), far)(far)
    np.testing.assert_allclose(found, getattr(scipy.stats, name).isf(far, *known), rtol=1e-9, atol=1e-15)


def test_a_normal_distribution_cut_far_out_has_probabilities_and_quantiles() -> None:
    ends, q = (45.0, 50.0), np.array([0.01, 0.3, 0.9])
    z = ps.trace(lambda q: scipy.stats.truncnorm.ppf(q, *ends), q)(q)
    np.testing.assert_allclose(ps.trace(lambda z: scipy.stats.truncnorm.cdf(z, *ends), z)(z), q, rtol=1e-9)
    slopes = ps.grad(lambda q: np.sum(scipy.stats.truncnorm.ppf(q, *ends)))(q)
    np.testing.assert_allclose(slopes * scipy.stats.truncnorm.pdf(z, *ends), 1.0, rtol=1e-7)
