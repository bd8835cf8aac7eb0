"""scipy.signal's frequency responses of filters with traced coefficients, complex arrays."""

import math
from typing import Any

import numpy as np

from primsplit.array import unsupported
from primsplit.lifting import holds_traced
from primsplit.numpy.complex.operands import operand
from primsplit.scipy.operands import wide
from primsplit.scipy.signatures import as_scipys

__all__ = ["freqs", "freqz", "freqz_sos", "sosfreqz"]


def angles_of(count: Any, whole: Any, fs: Any, include_nyquist: Any) -> tuple[Any, Any]:
    """The angles at which a response is asked for, and the frequencies that they are."""
    if holds_traced(count):
        raise unsupported("a frequency response at traced frequencies")
    count = 512 if count is None else count
    if np.ndim(count) == 0:
        end = include_nyquist and not whole
        angles = np.linspace(0, 2 * math.pi if whole else math.pi, int(count), endpoint=end)
    else:
        angles = 2 * math.pi * np.atleast_1d(np.asarray(count, np.float64)) / fs
    return angles, angles * (fs / (2 * math.pi))


def _at(coefficients: Any, angles: Any) -> Any:
    """A polynomial in exp(-i angle), the lowest power first."""
    given: Any = np.atleast_1d(operand(wide(coefficients)))
    if given.ndim != 1:
        raise unsupported("frequency responses of more than one filter")
    turned = np.outer(angles, np.arange(given.shape[0]))
    return np.cos(turned) @ given - 1j * (np.sin(turned) @ given)


@as_scipys("scipy.signal")
def freqz(b: Any, a: Any, worN: Any, whole: Any, fs: Any, include_nyquist: Any) -> tuple[Any, Any]:
    """The frequencies, and the response of a digital filter with numerator `b` and denominator `a` there."""
    angles, frequencies = angles_of(worN, whole, fs, include_nyquist)
    return frequencies, _at(b, angles) / _at(a, angles)


@as_scipys("scipy.signal")
def freqz_sos(sos: Any, worN: Any, whole: Any, fs: Any) -> tuple[Any, Any]:
    """The frequencies, and the response of a filter in sections of second order there."""
    angles, frequencies = angles_of(worN, whole, fs, include_nyquist=False)
    sections: Any = operand(wide(sos))
    found: Any = 1.0
    for section in sections:
        found = found * (_at(section[:3], angles) / _at(section[3:], angles))
    return frequencies, found


@as_scipys("scipy.signal")
def freqs(b: Any, a: Any, worN: Any) -> tuple[Any, Any]:
    """The response of an analogue filter at these angular frequencies, which are known when tracing."""
    if holds_traced(worN) or np.ndim(worN) == 0:
        raise unsupported("scipy.signal.freqs without known frequencies")
    places = np.asarray(worN, np.float64)
    return places, _on_axis(b, places) / _on_axis(a, places)


def _on_axis(coefficients: Any, places: Any) -> Any:
    """A polynomial, the highest power first, at these multiples of i."""
    given: Any = np.atleast_1d(operand(wide(coefficients)))[::-1]
    powers = (1j * places[:, None]) ** np.arange(given.shape[0])
    return powers.real @ given + 1j * (powers.imag @ given)


def sosfreqz(*args: Any, **options: Any) -> tuple[Any, Any]:
    """The older name of `freqz_sos`."""
    found: tuple[Any, Any] = freqz_sos(*args, **options)
    return found
