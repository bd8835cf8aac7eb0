"""The rule of DFT: NumPy's transforms are linear, so their transposes are known."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.errors import MissingRule
from primsplit.ops import op


def test_the_gradient_of_power_is_twice_the_signal_times_its_length() -> None:
    x = np.array([1.0, -2.0, 0.5, 3.0, 0.25]).reshape(1, 5, 1)
    found = ps.grad(lambda x: (op.DFT(x) * op.DFT(x)).sum())(x)
    np.testing.assert_allclose(found, 2 * 5 * x)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_the_transpose_of_a_one_sided_transform_is_real_and_as_long_as_the_signal(dtype: str) -> None:
    seed = np.random.default_rng(0).standard_normal((1, 4, 2)).astype(dtype)
    joint = ps.split(lambda x: op.DFT(x, onesided=1), ps.spec(dtype, [1, "N", 1])).joint()
    _, found = joint(np.zeros((1, 7, 1), dtype), seed)
    matrix = np.fft.rfft(np.eye(7), axis=0)
    wanted = matrix.real.T @ seed[0, :, 0] + matrix.imag.T @ seed[0, :, 1]
    np.testing.assert_allclose(found[0, :, 0], wanted, rtol=1e-7 if dtype == "float64" else 5e-3)


def test_what_a_transform_cuts_off_gets_zero() -> None:
    found = ps.grad(lambda x: op.DFT(x, np.int64(2))[0, 0, 0])(np.ones((1, 4, 1)))
    np.testing.assert_array_equal(found.reshape(-1), [1, 1, 0, 0])


def test_the_inverse_of_a_one_sided_spectrum_to_another_length_is_refused() -> None:
    def f(x: Any) -> Any:
        return op.DFT(x, np.int64(5), inverse=1, onesided=1).sum()

    with pytest.raises(MissingRule, match="one-sided spectrum"):
        ps.grad(f)(np.ones((1, 4, 2)))
