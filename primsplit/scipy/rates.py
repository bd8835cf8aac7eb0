"""scipy.signal's changes of the number of samples of a traced signal: by Fourier, and by filters between samples."""

import math
import sys
from typing import Any

import numpy as np

from primsplit.array import unsupported
from primsplit.concretization import literal_size
from primsplit.lifting import array_like, holds_traced
from primsplit.numpy.complex.operands import holds_complex, operand
from primsplit.numpy.complex.products import bilinear
from primsplit.ops import op
from primsplit.scipy.filters import sosfilt, sosfiltfilt
from primsplit.scipy.operands import floating, inexact
from primsplit.scipy.signatures import as_scipys

__all__ = ["decimate", "resample", "resample_poly", "upfirdn"]


def _scipys(name: str) -> Any:
    """A function of scipy.signal, which is loaded, for known arguments."""
    return getattr(sys.modules["scipy.signal"], name)


@as_scipys("scipy.signal")
def resample(x: Any, num: Any, t: Any, axis: Any, window: Any, domain: Any) -> Any:
    """The signal at `num` places, by the part of its Fourier transform that both have; with `t` these places too."""
    if domain != "time":
        raise unsupported("scipy.signal.resample of a transform")
    given: Any = operand(inexact(x))
    rows = np.moveaxis(given, axis, -1)
    count = literal_size(rows.shape[-1], "scipy.signal.resample")
    places = None if t is None else t[0] + (t[1] - t[0]) * (count / num) * np.arange(num)
    if holds_complex(given):
        found = np.moveaxis(_whole_band(rows, num, count, window), -1, axis)
        return found if t is None else (found, places)
    spectrum, common = np.fft.rfft(rows, axis=-1), min(num, count)
    weights = np.full(common // 2 + 1, num / count)
    if window is not None:
        weights = weights * _folded(_weights(window, count))[: common // 2 + 1]
    if common % 2 == 0 and num != count:
        weights[-1] *= 2.0 if num < count else 0.5
    found = np.fft.irfft(spectrum[..., : common // 2 + 1] * weights.astype(rows.dtype), num, axis=-1)
    found = np.moveaxis(found, -1, axis)
    return found if t is None else (found, places)


def _whole_band(rows: Any, num: int, count: int, window: Any) -> Any:
    """A complex signal at `num` places, by the frequencies of both signs that both have."""
    spectrum, common = np.fft.fft(rows, axis=-1), min(num, count)
    weights = np.full(count, num / count) if window is None else _weights(window, count) * (num / count)
    spectrum = spectrum * weights.astype(rows.real.dtype)
    low, high = spectrum[..., : common - common // 2], spectrum[..., count - common // 2 :]
    if common % 2 == 0 and num != count:
        middle, high = high[..., :1], high[..., 1:]
        middle = 0.5 * middle if num > count else middle
        other = middle if num > count else spectrum[..., common // 2 : common // 2 + 1]
        if num > count:
            low, high = np.concatenate([low, other], axis=-1), np.concatenate([middle, high], axis=-1)
        else:
            low = np.concatenate([low, middle + other], axis=-1)
    between = np.zeros_like(rows, shape=(*rows.shape[:-1], num - low.shape[-1] - high.shape[-1]))
    return np.fft.ifft(np.concatenate([low, between, high], axis=-1), axis=-1)


def _weights(window: Any, count: int) -> Any:
    """The weights of all frequencies."""
    if callable(window):
        return np.asarray(window(np.fft.fftfreq(count)))
    if hasattr(window, "shape"):
        return np.asarray(window)
    return np.fft.fftshift(_scipys("get_window")(window, count))


def _folded(weights: Any) -> Any:
    """The weights of frequencies of a real signal: the means of those of a frequency and its negative."""
    return 0.5 * (weights + np.roll(weights[::-1], 1))


@as_scipys("scipy.signal")
def upfirdn(h: Any, x: Any, up: Any, down: Any, axis: Any) -> Any:
    """Zeros put between the samples, a convolution with `h`, and every so many of what that gives."""
    if holds_complex(h) or holds_complex(x):
        return bilinear(lambda taps, signal: upfirdn(taps, signal, up, down, axis), h, x)
    taps: Any = array_like(floating(h))
    signal: Any = array_like(floating(x))
    if taps.ndim != 1:
        raise unsupported("scipy.signal.upfirdn with more than one filter")
    dtype = np.result_type(taps.dtype, signal.dtype)
    rows = np.moveaxis(signal, axis, -1).astype(dtype)
    count, reach = rows.shape[-1], literal_size(taps.shape[0], "scipy.signal.upfirdn")
    wide = np.pad(rows[..., None], [(0, 0)] * rows.ndim + [(0, up - 1)]).reshape((*rows.shape[:-1], count * up))
    wide = np.pad(wide[..., : (count - 1) * up + 1], [(0, 0)] * (rows.ndim - 1) + [(reach - 1, reach - 1)])
    flat = wide.reshape((-1, 1, wide.shape[-1]))
    found: Any = op.Conv(flat, np.flip(taps).astype(dtype)[None, None], strides=[down])
    return np.moveaxis(found.reshape((*rows.shape[:-1], found.shape[-1])), -1, axis)


@as_scipys("scipy.signal")
def resample_poly(x: Any, up: Any, down: Any, axis: Any, window: Any) -> Any:
    """The signal at up/down as many places, through a filter of no phase: a window, or its coefficients."""
    common = math.gcd(up, down)
    up, down = up // common, down // common
    given: Any = operand(inexact(x))
    if up == down == 1:
        return given
    signal = np.moveaxis(given, axis, -1)
    count = literal_size(signal.shape[-1], "scipy.signal.resample_poly")
    taps = _taps(window, max(up, down)) * up
    half = (literal_size(taps.shape[0], "scipy.signal.resample_poly") - 1) // 2
    before = down - half % down
    skipped = (half + before) // down
    wanted = -(-count * up // down)
    last = (skipped + wanted - 1) * down + 1
    after = max(last - ((count - 1) * up + before + 2 * half + 1), 0) + down
    wide = np.pad(taps if holds_complex(taps) else taps.astype(signal.real.dtype), (before, after))
    return np.moveaxis(upfirdn(wide, signal, up, down)[..., skipped : skipped + wanted], -1, axis)


def _taps(window: Any, rate: int) -> Any:
    """The filter's coefficients, an odd number of them."""
    if holds_traced(window) or isinstance(window, np.ndarray | list):
        return operand(inexact(window))
    return _scipys("firwin")(20 * rate + 1, 1.0 / rate, window=window)


@as_scipys("scipy.signal")
def decimate(x: Any, q: Any, n: Any, ftype: Any, axis: Any, zero_phase: Any) -> Any:
    """Every q-th sample behind a filter that lets the frequencies through which these can tell."""
    if ftype not in {"iir", "fir"}:
        raise unsupported("scipy.signal.decimate with a filter of one's own")
    signal: Any = operand(inexact(x))
    if ftype == "fir":
        taps = _scipys("firwin")((20 * q if n is None else n) + 1, 1.0 / q, window="hamming")
        if zero_phase:
            return resample_poly(signal, 1, q, axis=axis, window=taps)
        rows = np.moveaxis(upfirdn(taps.astype(signal.real.dtype), signal, 1, q, axis=axis), axis, 0)
        return np.moveaxis(rows[: -(-literal_size(signal.shape[axis], "scipy.signal.decimate") // q)], 0, axis)
    sections = _scipys("cheby1")(8 if n is None else n, 0.05, 0.8 / q, output="sos").astype(signal.real.dtype)
    filtered = sosfiltfilt(sections, signal, axis=axis) if zero_phase else sosfilt(sections, signal, axis=axis)
    return np.moveaxis(np.moveaxis(filtered, axis, 0)[::q], 0, axis)
