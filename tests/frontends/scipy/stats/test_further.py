"""More families of distributions by their log densities: SciPy's functions, and derivatives in all parameters."""

from pathlib import Path

import numpy as np
import pytest
import scipy.stats as ss

import primsplit as ps
from primsplit.frontends.scipy.stats.further import FURTHER
from tests.frontends.scipy.stats.family import (
    CONTINUOUS,
    OF_INTEGRALS,
    SHAPES,
    check_densities,
    check_derivatives,
    check_functions,
)
from tests.special.loaded import Function


@pytest.mark.sweep(48)
@pytest.mark.parametrize("name", FURTHER)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_the_functions_of_a_family_are_scipys(name: str) -> None:
    check_functions(name)


@pytest.mark.sweep(40)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n in OF_INTEGRALS and n != "gamma")) for n in FURTHER]
)
def test_a_family_has_first_and_second_derivatives_in_all_its_parameters(name: str) -> None:
    check_derivatives(name)


@pytest.mark.parametrize("name", ["f", "fisk", "invgauss", "rayleigh", "wald"])
def test_there_is_no_density_at_infinity(name: str) -> None:
    far, shapes = np.array([np.inf]), SHAPES.get(name, ())
    found = ps.trace(lambda x: CONTINUOUS[name].logpdf(x, *shapes), far)(far)
    np.testing.assert_array_equal(found, [-np.inf])
    np.testing.assert_array_equal(ps.grad(lambda x: np.sum(CONTINUOUS[name].pdf(x, *shapes)))(far), [0.0])


@pytest.mark.sweep(4)
@pytest.mark.parametrize(
    ("log_density", "shape", "slope"),
    [
        (lambda b: ss.rice.logpdf(0.4, b), 0.0, 0.0),  # that on the right
        (lambda k: ss.vonmises.logpdf(0.4, k), 0.0, np.cos(0.4)),
        (lambda b: ss.truncexpon.logpdf(0.4, b), 0.1, 0.0),  # outside of the support
        (lambda a: ss.truncnorm.logpdf(0.4, a, 2.0), 0.5, 0.0),
        (lambda b: ss.truncnorm.logpdf(0.4, -1.0, b), 0.1, 0.0),
    ],
)
@pytest.mark.parametrize("loads", [False, True])
def test_the_slope_by_a_shape_is_right_at_its_end_and_outside_of_the_support(
    log_density: Function, shape: float, slope: float, loads: bool, tmp_path: Path
) -> None:
    ps.trace(lambda shape: log_density(shape), shape).save(tmp_path / "f.onnx")
    function = ps.load(tmp_path / "f.onnx") if loads else log_density
    np.testing.assert_allclose(ps.grad(lambda shape: function(shape))(shape), slope, rtol=1e-12)


@pytest.mark.slow
def test_each_log_density_is_scipys_with_its_slopes() -> None:
    check_densities([*FURTHER])


@pytest.mark.parametrize("shape", [1e-8, 1e-6, 1e-4])
def test_exponnorm_of_a_small_shape_is_nearly_normal(shape: float) -> None:
    """The exponential part moves it by its mean, to first order, and widens it to second order."""
    x = np.array([-8.0, -1.0, 0.0, 0.6, 2.0, 6.0])
    value = ps.trace(lambda x: ss.exponnorm.logpdf(x, shape), x)(x)
    slope = ps.grad(lambda x: np.sum(ss.exponnorm.logpdf(x, shape)))(x)
    np.testing.assert_allclose(value, ss.norm.logpdf(x, shape), atol=100 * shape**2 + 1e-14)
    np.testing.assert_allclose(slope, shape - x, atol=100 * shape**2 + 1e-14)
