"""Rarer families of distributions: SciPy's functions, and derivatives in all parameters."""

import pytest

from primsplit.frontends.scipy.stats.rarer import RARER
from tests.frontends.scipy.stats.family import OF_INTEGRALS, check_densities, check_derivatives, check_functions


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", RARER)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_the_functions_of_a_family_are_scipys(name: str) -> None:
    check_functions(name)


@pytest.mark.sweep(12)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n in OF_INTEGRALS and n != "gamma")) for n in RARER]
)
def test_a_family_has_first_and_second_derivatives_in_all_its_parameters(name: str) -> None:
    check_derivatives(name)


def test_each_log_density_is_scipys_with_its_slopes() -> None:
    check_densities([*RARER])
