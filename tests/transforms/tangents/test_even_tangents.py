"""Tangents of what is smooth at 0 but written with a root have their values there, computed by hand."""

import numpy as np
import pytest

import primsplit as ps
from tests.transforms.roots import FIRST


@pytest.mark.parametrize(
    "name", ["sqrt(x)**2", "sqrt(x)**4", "(x**0.5)**2", "cos(3 sqrt(x))", "cosh(sqrt(x))", "cbrt(x)**3"]
)
def test_the_tangent_at_zero_of_what_a_root_is_made_smooth_by(name: str) -> None:
    function, expected = FIRST[name]
    np.testing.assert_allclose(ps.derivative(function)(0.0), expected, rtol=1e-15)
    np.testing.assert_allclose(ps.jvp(function, (0.0,), (2.0,))[1], 2 * expected, rtol=1e-15)
