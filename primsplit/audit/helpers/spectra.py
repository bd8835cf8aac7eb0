"""Discrete Fourier transforms of complex numbers as pairs."""

from typing import Any

import numpy as np

from primsplit.ir import AnyArray


def dft(a: AnyArray, length: Any = None, axis: int = -2, inverse: int = 0, onesided: int = 0) -> AnyArray:
    """Return the transform along an axis; the last axis has the real and the imaginary part, or the real one alone.

    With `onesided` it has the first half of the frequencies, or is the real inverse of such a half.
    """
    axis = axis % a.ndim
    z = a[..., 0] if a.shape[-1] == 1 else a[..., 0] + 1j * a[..., 1]
    n = None if length is None else int(np.reshape(length, ()))
    if onesided and inverse:
        return np.fft.irfft(z, n, axis)[..., None].astype(a.dtype)
    found = np.fft.ifft(z, n, axis) if inverse else np.fft.fft(z, n, axis)
    if onesided:
        found = np.take(found, range(found.shape[axis] // 2 + 1), axis)
    return np.stack([found.real, found.imag], axis=-1).astype(a.dtype)
