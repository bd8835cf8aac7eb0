"""scipy.signal's filters as zeros, poles and gain, and the transforms along arcs of the complex plane."""

import cmath
import math
from typing import Any

import numpy as np

from primsplit.array import FUNCTIONS, unsupported
from primsplit.concretization import literal_size
from primsplit.lifting import holds_traced
from primsplit.numpy.complex.operands import operand
from primsplit.scipy.operands import inexact
from primsplit.scipy.responses import angles_of
from primsplit.scipy.signatures import as_scipys

__all__ = ["czt", "freqz_zpk", "tf2zpk", "zoom_fft", "zpk2tf"]


def _vector(x: Any) -> Any:
    return np.atleast_1d(operand(inexact(x)))


def tf2zpk(b: Any, a: Any) -> tuple[Any, Any, Any]:
    """Zeros, poles and gain of a filter whose first coefficients are not 0; NaN where one turns out to be."""
    above, below = _vector(b), _vector(a)
    return FUNCTIONS[np.roots](above), FUNCTIONS[np.roots](below), above[0] / below[0]


def zpk2tf(z: Any, p: Any, k: Any) -> tuple[Any, Any]:
    """The polynomials with these zeros, the first times the gain; real where the zeros are their own conjugates."""
    zeros, poles = _vector(z), _vector(p)
    if zeros.ndim > 1 or np.ndim(k):
        raise unsupported("scipy.signal.zpk2tf of several outputs")
    return operand(k) * FUNCTIONS[np.poly](zeros), FUNCTIONS[np.poly](poles)


@as_scipys("scipy.signal")
def freqz_zpk(z: Any, p: Any, k: Any, worN: Any, whole: Any, fs: Any) -> tuple[Any, Any]:
    """The frequencies, and the response of a digital filter with these zeros, poles and gain there."""
    angles, frequencies = angles_of(worN, whole, fs, include_nyquist=False)
    turned = np.exp(1j * angles)
    return frequencies, operand(k) * _from_roots(turned, z) / _from_roots(turned, p)


def _from_roots(points: Any, roots: Any) -> Any:
    """The monic polynomial with these roots at points, one factor for each."""
    given = _vector(roots)
    found: Any = np.ones_like(points)
    for i in range(literal_size(given.shape[0], "scipy.signal.freqz_zpk")):
        found = found * (points - given[i])
    return found


def czt(x: Any, m: Any = None, w: Any = None, a: Any = 1 + 0j, *, axis: int = -1) -> Any:
    """The transform at the points a w**-k for k up to m, by the sums themselves: n m products."""
    signal: Any = operand(inexact(x))
    rows = np.moveaxis(signal, axis, -1)
    count = literal_size(rows.shape[-1], "scipy.signal.czt")
    points = count if m is None else m
    numbers, places = np.arange(count), np.arange(points)[:, None]
    step = cmath.exp(-2j * math.pi / points) if w is None else w
    if holds_traced(step) or holds_traced(a):
        weights = np.power(operand(step), numbers * places) * np.power(operand(a), -numbers)
    else:
        log_step, log_start = cmath.log(step), cmath.log(a)
        weights = np.exp(log_step * (numbers * places) - log_start * numbers)
    weights = weights.astype(np.result_type(rows.dtype, np.complex64))
    return np.moveaxis(rows @ weights.T, -1, axis)


def zoom_fft(x: Any, fn: Any, m: Any = None, *, fs: Any = 2, endpoint: bool = False, axis: int = -1) -> Any:
    """The transform at `m` frequencies of a known range, from 0 or from the first to the second; see `czt`."""
    if holds_traced(fn) or holds_traced(fs):
        raise unsupported("scipy.signal.zoom_fft of a traced range")
    first, last = (0.0, fn) if np.ndim(fn) == 0 else fn
    points = literal_size(operand(x).shape[axis], "scipy.signal.zoom_fft") if m is None else m
    width = (last - first) / fs / (points - 1 if endpoint else points)
    return czt(x, points, cmath.exp(-2j * math.pi * width), cmath.exp(2j * math.pi * first / fs), axis=axis)
