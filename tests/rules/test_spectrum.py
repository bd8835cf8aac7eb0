"""The rule of DFT: NumPy's transforms are linear, so their transposes are known."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import MissingRule
from primsplit.ops import op
from tests.rules.checks import check_derivative
from tests.rules.rows import Row, rows_of


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


@pytest.mark.parametrize("length", [1, 4, 5, 6, 7, 12])
def test_the_inverse_of_a_one_sided_spectrum_to_any_length_is_numpys(length: int) -> None:
    """onnxruntime gives other numbers where that is not the spectrum's own length."""
    halves = np.random.default_rng(0).standard_normal((2, 4, 2))
    wanted = np.fft.irfft(halves[..., 0] + 1j * halves[..., 1], length)

    def signal(x: Any) -> Any:
        return op.DFT(x, np.int64(length), inverse=1, onesided=1)

    for dtype, tolerance in (("float32", 1e-5), ("float64", 1e-6)):
        joint = ps.split(signal, ps.spec(dtype, ["B", "N", 2])).joint()
        value, gradient = joint(halves.astype(dtype), wanted[..., None].astype(dtype))
        np.testing.assert_allclose(value[..., 0], wanted, rtol=0, atol=tolerance)
        np.testing.assert_allclose(np.sum(gradient * halves), np.sum(wanted**2), rtol=10 * tolerance)


def test_the_inverse_of_a_one_sided_spectrum_to_a_length_along_any_axis_is_refused() -> None:
    def f(x: Any, axis: Any) -> Any:
        return op.DFT(x, np.int64(5), axis, inverse=1, onesided=1).sum()

    with pytest.raises(MissingRule, match="one-sided spectrum"):
        ps.grad(f)(np.ones((1, 4, 2)), np.int64(1))


@pytest.mark.parametrize("row", rows_of("spectrum"), ids=str)
def test_a_rule_gives_the_derivative_in_its_promised_form(row: Row) -> None:
    check_derivative(row)
