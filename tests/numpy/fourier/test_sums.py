"""The three transforms and their transposes: NumPy's values, and derivatives that are again among them."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.numpy.fourier.sums import analysis, backwards, fourier, synthesis
from tests.numpy.matrices import normal

SIZES = [1, 2, 5, 8, 130]


@pytest.mark.parametrize("n", SIZES)
def test_a_transform_and_that_of_opposite_angles_are_numpys(n: int) -> None:
    x, y = normal(2, n), normal(2, n, seed=1)
    real, imag, back_real, back_imag = ps.trace(lambda x, y: (*fourier(x, y), *backwards(x, y)), x, y)(x, y)
    np.testing.assert_allclose(real + 1j * imag, np.fft.fft(x + 1j * y), atol=1e-12)
    np.testing.assert_allclose(back_real + 1j * back_imag, n * np.fft.ifft(x + 1j * y), atol=1e-12)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("is_known", [True, False])
def test_half_of_the_transform_of_real_numbers_is_numpys(n: int, is_known: bool) -> None:
    x = normal(2, n)
    real, imag = ps.trace(lambda x: analysis(x), x if is_known else ps.spec("float64", [2, "N"]))(x)
    np.testing.assert_allclose(real + 1j * imag, np.fft.rfft(x), atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_the_sum_of_waves_is_that_of_its_formula(n: int) -> None:
    x, y = normal(n // 2 + 1), normal(n // 2 + 1, seed=1)
    angles = 2 * np.pi * np.outer(np.arange(n), np.arange(n // 2 + 1)) / n
    wanted = np.cos(angles) @ x - np.sin(angles) @ y
    np.testing.assert_allclose(ps.trace(lambda x, y: synthesis(x, y, n), x, y)(x, y), wanted, atol=1e-13)


@pytest.mark.parametrize("n", [1, 4, 5])
def test_the_pullback_is_the_transpose(n: int) -> None:
    """<y, A x> = <A^T y, x> for the transform, its half, and the sum of waves."""
    half = n // 2 + 1

    def of_flat(function: Any, count: int) -> Any:
        return lambda x: np.concatenate(tuple(np.reshape(p, (-1,)) for p in function(x[:count], x[count:])))

    cases = [
        (of_flat(fourier, n), 2 * n),
        (of_flat(lambda x, _: analysis(x), n), n),
        (of_flat(lambda x, y: (synthesis(x, y, n),), half), 2 * half),
    ]
    for function, count in cases:
        x = normal(count)
        jacobian = ps.jacobian(function, mode="reverse")(x)
        columns = np.stack([ps.trace(function, x)(row) for row in np.eye(count)], 1)
        np.testing.assert_allclose(jacobian, columns, atol=1e-13)
        np.testing.assert_allclose(jacobian, ps.jacobian(function, mode="forward")(x), atol=1e-13)
