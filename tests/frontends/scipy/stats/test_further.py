"""More families of distributions by their log densities: SciPy's functions, and derivatives in all parameters."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.frontends.scipy.stats.further import FURTHER
from tests.frontends.scipy.stats.family import (
    CONTINUOUS,
    OF_INTEGRALS,
    SHAPES,
    check_derivatives,
    check_functions,
)


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", FURTHER)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_the_functions_of_a_family_are_scipys(name: str) -> None:
    check_functions(name)


@pytest.mark.sweep(4)
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
