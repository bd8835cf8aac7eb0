"""scipy.signal's filters as zeros, poles and gain, and the transforms along arcs of the complex plane."""

import cmath
import math
from typing import Any

import numpy as np

from primsplit.frontends.scipy.operands import inexact, number_of, of_at_least
from primsplit.frontends.scipy.responses import angles_of, numbered
from primsplit.frontends.scipy.signatures import as_scipys
from primsplit.ir.dims import Dim, Size
from primsplit.numpy.complex.operands import operand
from primsplit.numpy.refusing import refusing
from primsplit.tracing.array import FUNCTIONS, unsupported
from primsplit.tracing.asarray import holds_traced
from primsplit.tracing.handles.concretization import literal_size

__all__ = ["czt", "freqz_zpk", "tf2zpk", "zoom_fft", "zpk2tf"]


def _vector(x: Any) -> Any:
    return np.atleast_1d(operand(inexact(x)))


def tf2zpk(b: Any, a: Any) -> tuple[Any, Any, Any]:
    """Zeros, poles and gain of a filter whose first coefficients are not 0; NaN where one turns out to be."""
    above, below = _vector(b), _vector(a)
    below = refusing(below, np.all(below == 0), ValueError("Denominator must have at least on nonzero element."))
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
    turned = np.cos(angles) + 1j * np.sin(angles)
    return frequencies, operand(k) * _from_roots(turned, z) / _from_roots(turned, p)


def _from_roots(points: Any, roots: Any) -> Any:
    """The monic polynomial with these roots at points, one factor for each."""
    given = _vector(roots)
    if isinstance(given.shape[0], Size):
        return np.prod(operand(points)[:, None] - given, axis=1)
    found: Any = np.ones_like(points)
    for i in range(given.shape[0]):
        found = found * (points - given[i])
    return found


def czt(x: Any, m: Any = None, w: Any = None, a: Any = 1 + 0j, *, axis: int = -1) -> Any:
    """The transform at the points a w**-k for k up to m, by the sums themselves: n m products."""
    signal: Any = operand(inexact(x))
    rows = np.moveaxis(signal, axis, -1)
    if holds_traced(w) or holds_traced(a):
        count = literal_size(rows.shape[-1], "scipy.signal.czt of a traced arc")
        numbers = np.arange(count)
        weights = np.power(operand(w), numbers * np.arange(count if m is None else m)[:, None])
        return _summed(rows, weights * np.power(operand(a), -numbers), axis)
    points = rows.shape[-1] if m is None else m
    log_step = (0.0, -2 * math.pi / number_of(points)) if w is None else _parts(cmath.log(w))
    return _along_arc(rows, points, log_step, _parts(cmath.log(a)), axis)


def _parts(z: complex) -> tuple[float, float]:
    return z.real, z.imag


def _along_arc(rows: Any, points: Dim, log_step: Any, log_start: Any, axis: int) -> Any:
    """The sums at so many points of an arc, the logarithms of whose step and start are told by their parts."""
    rows = of_at_least(rows, 1)
    numbers, places = numbered(rows.shape[-1]), numbered(points)[:, None]
    parts = zip(log_step, log_start, strict=True)
    growth, turn = (step * (numbers * places) - start * numbers for step, start in parts)
    size = np.exp(growth)
    return _summed(rows, operand(size * np.cos(turn)) + 1j * operand(size * np.sin(turn)), axis)


def _summed(rows: Any, weights: Any, axis: int) -> Any:
    weights = weights.astype(np.result_type(rows.dtype, np.complex64))
    return np.moveaxis(rows @ weights.T, -1, axis)


def zoom_fft(x: Any, fn: Any, m: Any = None, *, fs: Any = 2, endpoint: bool = False, axis: int = -1) -> Any:
    """The transform at `m` frequencies of a known range, from 0 or from the first to the second; see `czt`."""
    if holds_traced(fn) or holds_traced(fs):
        raise unsupported("scipy.signal.zoom_fft of a traced range")
    first, last = (0.0, fn) if np.ndim(fn) == 0 else fn
    signal: Any = operand(inexact(x))
    points = signal.shape[axis] if m is None else m
    width = (last - first) / fs / number_of(points - 1 if endpoint else points)
    ends = (0.0, -2 * math.pi * width), (0.0, 2 * math.pi * first / fs)
    return _along_arc(np.moveaxis(signal, axis, -1), points, *ends, axis)
