"""Functions of `cmath` by their names: first and second derivatives."""

import cmath
from typing import Any

import numpy as np
import pytest

from primsplit.testing import check_grads

X = np.array([0.6, -0.3, 1.4])
OF_COMPLEX_NUMBERS = ("cos", "cosh", "exp", "log", "log10", "phase", "sin", "sinh", "sqrt")


@pytest.mark.parametrize("name", OF_COMPLEX_NUMBERS)
def test_a_function_of_cmath_has_its_derivatives(name: str) -> None:
    def f(x: Any) -> Any:
        z = getattr(cmath, name)(x[0] + 1j * x[-1])
        return x * z.real + z.imag

    check_grads(f, X)


def test_polar_coordinates_have_their_derivatives() -> None:
    def f(x: Any) -> Any:
        size, angle = cmath.polar(x[0] + 1j * x[-1])
        z = cmath.rect(size**2, 0.3 * angle)
        return x * z.real + z.imag

    check_grads(f, X)
