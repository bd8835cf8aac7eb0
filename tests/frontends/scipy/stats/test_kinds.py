"""Distributions built from a density: SciPy's functions of integers, the middle, intervals, and names of parameters."""

from typing import Any

import numpy as np
import pytest
import scipy.stats

import primsplit as ps
from primsplit.frontends.scipy import stats
from tests.frontends.scipy.stats.family import (
    CONTINUOUS,
    COUNTED,
    COUNTS,
    DISCRETE,
    OF_INTEGRALS,
    PARAMETERS,
    SHAPES,
)
from tests.numpy.agreement import check_grads
from tests.versions import UNDERFLOW


@pytest.mark.sweep(8)
@pytest.mark.parametrize("name", DISCRETE)
def test_a_family_of_integers_is_scipys(name: str) -> None:
    family, reference, parameters = DISCRETE[name], getattr(scipy.stats, name), PARAMETERS[name]

    def all_of(k: Any) -> tuple[Any, ...]:
        rest = [getattr(family, method)(k, *parameters) for method in family.own[2:]]
        return family.logpmf(k, *parameters), family.pmf(k, *parameters, loc=1), *rest

    for counts in (COUNTS, COUNTS + 0.5, COUNTS.astype(float)):
        logarithms, moved, *rest = ps.trace(all_of, counts)(counts)
        np.testing.assert_allclose(logarithms, reference.logpmf(counts, *parameters), rtol=1e-12)
        np.testing.assert_allclose(moved, reference.pmf(counts, *parameters, loc=1), rtol=1e-12, atol=UNDERFLOW)
        for method, found in zip(family.own[2:], rest, strict=True):
            np.testing.assert_allclose(found, getattr(reference, method)(counts, *parameters), rtol=1e-11)


@pytest.mark.sweep(8)
@pytest.mark.parametrize("name", DISCRETE)
def test_a_family_of_integers_has_first_and_second_derivatives_in_its_parameters(name: str) -> None:
    counts, number = PARAMETERS[name][: name in COUNTED], PARAMETERS[name][name in COUNTED :]

    def at(*parameters: Any) -> Any:
        family = getattr(scipy.stats, name)
        return np.stack([getattr(family, m)(1, *counts, *parameters) for m in DISCRETE[name].own])

    check_grads(at, *(p * np.array([0.7, 1.0, 1.4]) for p in number))


@pytest.mark.sweep(12)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=pytest.mark.slow) if n in OF_INTEGRALS else n
        for n, d in stats.DISTRIBUTIONS.items()
        if "median" in d.methods
    ],
)
def test_the_middle_has_first_and_second_derivatives(name: str) -> None:
    known = SHAPES.get(name, ())

    def at(share: Any, loc: Any, scale: Any) -> Any:
        family = getattr(scipy.stats, name)
        ends = family.interval(share, *known, loc, scale)
        return *ends, family.median(*known, loc, scale), family.isf(share, *known, loc, scale)

    check_grads(at, np.array(0.6), np.array(0.3), np.array(1.4), symbolic=False)


def test_a_wrong_parameter_is_told() -> None:
    with pytest.raises(TypeError, match="the parameters are a, loc, scale"):
        CONTINUOUS["gamma"].logpdf(1.0, 2.0, shape=3.0)
    with pytest.raises(TypeError, match="missing parameters: a"):
        CONTINUOUS["gamma"].logpdf(1.0)


@pytest.mark.parametrize(
    ("name", "shapes", "x"),
    [
        ("expon", (), -0.2),
        ("wrapcauchy", (0.4,), 40.0),
        ("truncnorm", (-1.0, 2.0), 5.0),
        ("genpareto", (-0.5,), 5.0),
        ("genextreme", (0.5,), 5.0),
        ("loguniform", (0.5, 2.0), 0.1),
    ],
)
def test_a_log_density_outside_of_the_support_has_no_slope_by_the_scale(
    name: str, shapes: tuple[float, ...], x: float
) -> None:
    def log_density(scale: Any) -> Any:
        return getattr(scipy.stats, name).logpdf(x, *shapes, scale=scale)

    assert ps.trace(log_density, 1.5)(1.5) == log_density(1.5) == -np.inf
    assert ps.grad(log_density)(1.5) == 0.0
