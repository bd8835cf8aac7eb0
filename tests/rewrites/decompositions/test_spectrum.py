"""Fourier transforms that onnxruntime computes otherwise than the standard says."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op

X = np.random.default_rng(0).standard_normal((3, 8))


def parts(z: np.ndarray) -> np.ndarray:
    """Real and imaginary parts along a last axis."""
    return np.stack([z.real, z.imag], axis=-1)


@pytest.mark.parametrize("length", [8, 7, 6, 10])
def test_the_inverse_of_half_a_spectrum_is_numpys(length: int) -> None:
    half = parts(np.fft.rfft(X))
    found = ps.trace(lambda z: op.DFT(z, np.int64(length), np.int64(1), inverse=1, onesided=1), half)(half)
    np.testing.assert_allclose(found[..., 0], np.fft.irfft(np.fft.rfft(X), length), rtol=1e-12, atol=1e-14)


def test_the_transform_of_one_signal_without_a_batch() -> None:
    one = X[0][:, None]
    found = ps.trace(lambda x: op.DFT(x, None, np.int64(0)), one)(one)
    np.testing.assert_allclose(found, parts(np.fft.fft(X[0])), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("onesided", [0, 1])
def test_a_short_time_transform_is_that_of_each_frame(onesided: int) -> None:
    signal, window = X.reshape(1, -1, 1), np.hanning(8)
    found = ps.trace(lambda x: op.STFT(x, np.int64(4), window, np.int64(8), onesided=onesided), signal)(signal)
    frames = [X.reshape(-1)[i : i + 8] * window for i in range(0, 17, 4)]
    wanted = np.stack([parts((np.fft.rfft if onesided else np.fft.fft)(f)) for f in frames])
    np.testing.assert_allclose(found[0], wanted, rtol=1e-12, atol=1e-14)
