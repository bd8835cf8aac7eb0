"""scipy.signal's frequency responses of filters with traced coefficients, as complex arrays."""

import math
from typing import Any

import numpy as np

from primsplit.frontends.scipy.operands import double, not_empty, wide
from primsplit.frontends.scipy.signatures import as_scipys
from primsplit.ir.dims import Dim, Size
from primsplit.numpy.complex.operands import operand
from primsplit.numpy.ufuncs import cast_to
from primsplit.tracing.array import unsupported
from primsplit.tracing.asarray import array_like, holds_traced
from primsplit.tracing.broadcasting import count_up

__all__ = [
    "freqs",
    "freqz",
    "freqz_sos",
]


def angles_of(count: Any, whole: Any, fs: Any, include_nyquist: Any) -> tuple[Any, Any]:
    """The angles at which a response is asked for, and the frequencies that they are."""
    if holds_traced(count):
        if not np.ndim(count):
            raise unsupported("a frequency response at a traced number of frequencies")
        turned = array_like(double(count)) * (2 * math.pi / fs)
        return turned, turned * (fs / (2 * math.pi))
    count = 512 if count is None else count
    if np.ndim(count) == 0:
        end = include_nyquist and not whole
        angles = np.linspace(0, 2 * math.pi if whole else math.pi, int(count), endpoint=end)
    else:
        angles = 2 * math.pi * np.atleast_1d(np.asarray(count, np.float64)) / fs
    return angles, angles * (fs / (2 * math.pi))


def _at(coefficients: Any, angles: Any) -> Any:
    """A polynomial in exp(-i angle), the lowest power first, or several in columns."""
    given: Any = not_empty(np.atleast_1d(operand(wide(coefficients))))
    turned: Any = angles[:, None] * numbered(given.shape[0])
    return np.cos(turned) @ given - 1j * (np.sin(turned) @ given)


@as_scipys("scipy.signal")
def freqz(b: Any, a: Any, worN: Any, whole: Any, fs: Any, include_nyquist: Any) -> tuple[Any, Any]:
    """The frequencies, and the response of a digital filter with numerator `b` and denominator `a` there."""
    angles, frequencies = angles_of(worN, whole, fs, include_nyquist)
    if max(np.ndim(b), np.ndim(a)) > 1:
        raise unsupported("frequency responses of more than one filter")
    return frequencies, _at(b, angles) / _at(a, angles)


@as_scipys("scipy.signal")
def freqz_sos(sos: Any, worN: Any, whole: Any, fs: Any) -> tuple[Any, Any]:
    """The frequencies, and the response of a filter in sections of second order there."""
    angles, frequencies = angles_of(worN, whole, fs, include_nyquist=False)
    sections: Any = not_empty(operand(wide(sos)), [0])
    if isinstance(sections.shape[0], Size):
        each = [_at(side.T, angles) for side in (sections[:, :3], sections[:, 3:])]
        return frequencies, np.prod(each[0] / each[1], axis=1)
    found: Any = 1.0
    for section in sections:
        found = found * (_at(section[:3], angles) / _at(section[3:], angles))
    return frequencies, found


@as_scipys("scipy.signal")
def freqs(b: Any, a: Any, worN: Any) -> tuple[Any, Any]:
    """The response of an analogue filter at these angular frequencies."""
    if np.ndim(worN) == 0:
        raise unsupported("scipy.signal.freqs without frequencies")
    places = double(worN)
    return places, _on_axis(b, places) / _on_axis(a, places)


def _on_axis(coefficients: Any, places: Any) -> Any:
    """A polynomial, the highest power first, at these multiples of i."""
    given: Any = np.atleast_1d(operand(wide(coefficients)))[::-1]
    if isinstance(given.shape[0], int) and not holds_traced(places):
        powers = (1j * places[:, None]) ** np.arange(given.shape[0])
        return powers.real @ given + 1j * (powers.imag @ given)
    number = numbered(given.shape[0])
    sizes = np.power(array_like(places[:, None]), number)
    quarter = number % 4
    turns = [np.where(quarter == k, 1.0, np.where(quarter == k + 2, -1.0, 0.0)) for k in (0, 1)]
    return (sizes * turns[0]) @ given + 1j * ((sizes * turns[1]) @ given)


def numbered(size: Dim) -> Any:
    """0, 1, ... up to a size, in float64."""
    return np.arange(size, dtype=float) if isinstance(size, int) else cast_to(count_up(size), np.float64)
