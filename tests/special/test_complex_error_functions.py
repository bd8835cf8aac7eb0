"""Error functions of complex numbers: SciPy's values, and derivatives."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from tests.numpy.agreement import check_grads
from tests.special.plane import check_narrow, check_slopes, check_values


@pytest.mark.parametrize("name", ["xlogy", "xlog1py"])
def test_products_with_logarithms_are_scipys(name: str) -> None:
    def f(a: Any, b: Any, u: Any, v: Any) -> Any:
        found = getattr(sp, name)(a + 1j * b, u + 1j * v)
        return found.real, found.imag

    z, w = np.array([0, 1 + 1j, 0, 2]), np.array([0, 2 - 1j, 1j, -1.5])
    np.testing.assert_allclose(ps.trace(lambda z, w: getattr(sp, name)(z, w), z, w)(z, w), getattr(sp, name)(z, w))
    w[-1] = 1.5 - 0.5j  # not on the cut
    check_grads(f, z.real[1:], z.imag[1:], w.real[1:], w.imag[1:], symbolic=False)


PLACES: dict[str, list[complex]] = {
    "erf": [0.3 - 0.2j, 1.4 + 0.5j, -1.2 - 0.8j, 2.5j], "erfc": [0.3 - 0.2j, -1.2 + 0.8j, 2.5j],
    "erfcx": [0.3 - 0.2j, 1.2 + 0.8j], "erfi": [0.3 - 0.2j, -1.2 + 0.8j], "dawsn": [0.3 - 0.2j, 1.4 - 0.5j, -1 + 2j],
    "ndtr": [0.3 - 0.2j, -1.2 + 0.8j],
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
