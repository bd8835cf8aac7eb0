"""The gamma function of complex numbers, its logarithm and digamma: SciPy's values, and derivatives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from tests.special.plane import N, check_narrow, check_slopes, check_values


def test_the_logarithm_of_gamma_is_scipys_on_its_cut_and_at_its_poles() -> None:
    z = np.array([-2.5, -0.5, complex(-3.5, -0.0), -1, 0, 1, 2, complex(-2.5, -0.0)])
    for name in ("loggamma", "gamma", "rgamma", "psi"):
        function: Callable[..., Any] = getattr(sp, name)
        np.testing.assert_allclose(ps.trace(lambda z, f=function: f(z), N)(z), function(z), rtol=1e-13, atol=1e-14)


PLACES: dict[str, list[complex]] = {
    "loggamma": [1.05 + 0.1j, 2.1 - 0.1j, 0.5 + 3j, -1.4 + 0.3j, 9 + 1j, -3 - 8j],
    "gamma": [1.05 + 0.1j, 2.5 - 1j, -1.4 + 0.3j], "rgamma": [1.05 + 0.1j, -2, -1.4 + 0.3j, 0],
    "psi": [1.05 + 0.1j, 0.5 + 3j, -1.4 + 0.3j, 9 + 1j],
}  # fmt: skip


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", PLACES)
def test_values_are_scipys_on_the_plane(name: str) -> None:
    check_values(name)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", PLACES)
def test_complex64_and_no_elements_are_scipys(name: str) -> None:
    check_narrow(name)


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", PLACES)
def test_derivatives_agree_with_central_differences(name: str) -> None:
    check_slopes(name, PLACES[name])
