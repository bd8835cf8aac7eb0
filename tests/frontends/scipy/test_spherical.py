"""scipy.special's spherical Bessel functions and harmonics: SciPy's values at traced places, and slopes."""

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from primsplit.ir.errors import PrimsplitError

X = np.array([0.3, 1.7, 4.2])


@pytest.mark.parametrize("kind", "jyik")
@pytest.mark.parametrize("order", [0, 1, 3])
def test_a_spherical_bessel_function_and_its_derivative_are_scipys(kind: str, order: int) -> None:
    function = getattr(sp, f"spherical_{kind}n")
    program = ps.trace(lambda x: (function(order, x), function(order, x, derivative=True)), X)
    for found, wanted in zip(program(X), (function(order, X), function(order, X, derivative=True)), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    slopes = ps.grad(lambda x: np.sum(function(order, x)))(X)
    np.testing.assert_allclose(slopes, function(order, X, derivative=True), rtol=1e-11)


@pytest.mark.parametrize(("n", "m"), [(0, 0), (2, -1), (3, 3)])
def test_a_spherical_harmonic_is_scipys(n: int, m: int) -> None:
    found = ps.trace(lambda t, p: sp.sph_harm_y(n, m, t, p), X, -X)(X, -X)
    np.testing.assert_allclose(found, sp.sph_harm_y(n, m, X, -X), rtol=1e-12, atol=1e-15)


def test_a_traced_order_is_refused() -> None:
    with pytest.raises(PrimsplitError):
        ps.trace(lambda x: sp.spherical_jn(x, 1.0), X)
