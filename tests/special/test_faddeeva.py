"""The Faddeeva function: mpmath's and SciPy's values on the whole plane, and derivatives."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from tests.numpy.agreement import check_grads
from tests.versions import UNDERFLOW

SIZES = np.array([0.0, 1e-9, 0.1, 0.5, 1.0, 3.0, 5.5, 9.0, 50.0, 1e8, 1e300])
N = ps.spec("float64", ["N"])


def parts(x: Any, y: Any) -> Any:
    w = sp.wofz(x + 1j * y)
    return np.stack([w.real, w.imag])


def test_values_are_scipys_on_the_whole_plane() -> None:
    x, y = (g.ravel() for g in np.meshgrid(np.concatenate([SIZES, -SIZES]), np.concatenate([SIZES, -SIZES[:6]])))
    (real, imaginary), wanted = ps.trace(parts, N, N)(x, y), sp.wofz(x + 1j * y)
    np.testing.assert_array_less(np.abs(real + 1j * imaginary - wanted), 1e-14 * np.abs(wanted) + 1e-307)


@pytest.mark.parametrize(
    ("z", "exact"),
    [
        (2 + 0.001j, 0.0185472363704055527 + 0.339952831207378625j),
        (0.3 - 1.5j, 10.4652923906419008 + 13.6328810321246409j),
    ],
)
def test_values_are_mpmaths(z: complex, exact: complex) -> None:
    real, imaginary = ps.trace(parts, N, N)(np.array([z.real]), np.array([z.imag]))
    assert abs(complex(real[0], imaginary[0]) - exact) < 3e-15 * abs(exact)


def test_at_infinity_it_is_scipys() -> None:
    x, y = np.array([np.inf, -np.inf, 0.0, np.inf, 0.0, np.nan]), np.array([0.0, 1.0, np.inf, -1.0, -np.inf, 1.0])
    wanted = sp.wofz(np.array([complex(*z) for z in zip(x, y, strict=True)]))
    np.testing.assert_allclose(ps.trace(parts, N, N)(x, y), [wanted.real, wanted.imag], rtol=0, atol=2 * UNDERFLOW)


def test_derivatives_agree_with_central_differences() -> None:
    check_grads(parts, np.array([-0.3, 1.2, 7.0, 0.2, 0.0]), np.array([0.2, -0.7, 0.1, 0.0, -0.4]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_real_array_has_scipys_complex_result(dtype: Any) -> None:
    x = np.array([0.3, -2.0], dtype)
    real, imaginary = ps.trace(lambda x: (sp.wofz(x).real, sp.wofz(x).imag), x)(x)
    wanted = sp.wofz(x)
    assert real.dtype == wanted.real.dtype
    np.testing.assert_allclose(real + 1j * imaginary, wanted, rtol=1e-6 if wanted.dtype == np.complex64 else 1e-14)
