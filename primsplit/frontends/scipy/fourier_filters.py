"""scipy.ndimage's Fourier filters of traced spectra: each frequency is multiplied by a number."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.frontends.scipy.operands import inexact
from primsplit.frontends.scipy.signatures import as_scipys
from primsplit.numpy.frequencies import fftfreq
from primsplit.tracing.broadcasting import count_up

__all__ = ["fourier_gaussian", "fourier_shift", "fourier_uniform"]


@as_scipys("scipy.ndimage")
def fourier_gaussian(input: Any, sigma: Any, n: int, axis: int) -> Any:
    """The spectrum of an image that is blurred by a Gaussian."""
    return _filtered(input, sigma, n, axis, lambda f, width: np.exp(-2 * (math.pi * width * f) ** 2))


@as_scipys("scipy.ndimage")
def fourier_uniform(input: Any, size: Any, n: int, axis: int) -> Any:
    """The spectrum of an image that is blurred by a box."""
    return _filtered(input, size, n, axis, lambda f, width: np.sinc(width * f))


@as_scipys("scipy.ndimage")
def fourier_shift(input: Any, shift: Any, n: int, axis: int) -> Any:
    """The spectrum, complex, of an image that is moved round."""

    def turn(f: Any, by: Any) -> Any:
        angle = -2 * math.pi * by * f
        return np.cos(angle) + 1j * np.sin(angle)

    return _filtered(input, shift, n, axis, turn, np.complex64)


def _filtered(x: Any, told: Any, n: int, axis: int, factor: Callable[[Any, Any], Any], least: Any = np.float32) -> Any:
    """The spectrum times a factor of the frequency along each axis; of half a spectrum of `n` numbers along `axis`."""
    found: Any = inexact(x)
    dtype = np.result_type(found.dtype, least)
    rank = len(found.shape)
    half = axis % rank if n >= 0 else None
    for i in range(rank):
        size = found.shape[i]
        frequency: Any = count_up(size) / n if i == half else fftfreq(size)
        share = factor(frequency, told[i] if isinstance(told, list | tuple) or np.ndim(told) else told)
        found = found * share.reshape((*(1,) * i, size, *(1,) * (rank - 1 - i)))
    return found.astype(dtype)
