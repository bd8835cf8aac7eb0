"""Transforms of pairs beside NumPy's of complex numbers."""

import numpy as np

from primsplit.audit.helpers.spectra import dft

A = np.random.default_rng(0).standard_normal((2, 6, 2)).astype(np.float32)


def test_pairs_are_complex_numbers() -> None:
    z = A[..., 0] + 1j * A[..., 1]
    for found, expected in (
        (dft(A), np.fft.fft(z, axis=1)),
        (dft(A, np.array(4), 1, inverse=1), np.fft.ifft(z, 4, axis=1)),
        (dft(A[..., :1], onesided=1), np.fft.rfft(A[..., 0], axis=1)),
    ):
        np.testing.assert_allclose(found[..., 0] + 1j * found[..., 1], expected, rtol=1e-5, atol=1e-5)
        assert found.dtype == np.float32
    half = dft(A[..., :1], onesided=1)
    np.testing.assert_allclose(dft(half, 6, onesided=1, inverse=1), A[..., :1], atol=1e-6)
