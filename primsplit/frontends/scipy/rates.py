"""scipy.signal's resampling of traced signals: by Fourier transforms, and by filters between samples."""

import math
import sys
from typing import Any

import numpy as np

from primsplit.frontends.scipy.filters import sosfilt, sosfiltfilt
from primsplit.frontends.scipy.operands import floating, inexact, number_of, of_at_least
from primsplit.frontends.scipy.signatures import as_scipys
from primsplit.ir import dims
from primsplit.ir.dims import Size
from primsplit.numpy.axes import size_as
from primsplit.numpy.complex.operands import holds_complex, operand
from primsplit.numpy.complex.products import bilinear
from primsplit.ops import op
from primsplit.tracing.array import unsupported
from primsplit.tracing.asarray import array_like, holds_traced
from primsplit.tracing.broadcasting import count_up
from primsplit.tracing.handles.concretization import literal_size

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
    if isinstance(rows.shape[-1], Size) and window is None and t is None and not holds_complex(given):
        return np.moveaxis(_of_any_length(rows, num), -1, axis)
    count = literal_size(rows.shape[-1], "scipy.signal.resample of complex numbers, or with window= or t=,")
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


def _of_any_length(rows: Any, num: Any) -> Any:
    """`resample` of real signals whose length only the run knows, which are not empty."""
    count = rows.shape[-1]
    common = dims.minimum(num, count)
    size = dims.floor_divide(common, 2) + 1
    own, new = size_as(count, np.int64), size_as(num, np.int64)
    is_last: Any = (count_up(size) == size_as(size - 1, np.int64)) & (size_as(common, np.int64) % 2 == 0) & (own != new)
    weights = np.where(is_last, np.where(new < own, 2.0, 0.5), 1.0) * (number_of(num) / number_of(count))
    spectrum = np.fft.rfft(of_at_least(rows, 1), axis=-1)[..., :size]
    return np.fft.irfft(spectrum * weights.astype(rows.dtype), num, axis=-1)


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
    taps = of_at_least(taps, 1)
    count, reach = rows.shape[-1], taps.shape[0]
    wide = np.pad(rows[..., None], [(0, 0)] * rows.ndim + [(0, up - 1)]).reshape((*rows.shape[:-1], count * up))
    ends: Any = [(0, 0)] * (rows.ndim - 1) + [(reach - 1, reach)]
    last = (count - 1) * up + reach - 1
    wide = np.pad(wide, ends)[..., : dims.maximum(last, 0) + reach]
    flat = wide.reshape((-1, 1, wide.shape[-1]))
    found: Any = op.Conv(flat, np.flip(taps).astype(dtype)[None, None], strides=[down])
    size = dims.maximum(dims.floor_divide(last, down) + 1, 0)  # of no samples there may be none
    found = found if dims.at_least(count, 1) else found[..., :size]
    return np.moveaxis(found.reshape((*rows.shape[:-1], found.shape[-1])), -1, axis)


LEVELS: dict[str, Any] = {"mean": np.mean, "median": np.median, "minimum": np.min, "maximum": np.max}
"""The levels that a signal may go on at beyond its ends."""


@as_scipys("scipy.signal")
def resample_poly(x: Any, up: Any, down: Any, axis: Any, window: Any, padtype: Any, cval: Any) -> Any:
    """The signal at up/down as many places, through a filter of no phase: a window, or its coefficients.

    Beyond its ends it is 0, or with a `padtype` in LEVELS that level.
    """
    if (padtype != "constant" and padtype not in LEVELS) or cval not in {None, 0}:
        raise unsupported(f"scipy.signal.resample_poly with padtype={padtype!r} or cval={cval!r}")
    common = math.gcd(up, down)
    up, down = up // common, down // common
    given: Any = operand(inexact(x))
    if up == down == 1:
        return given
    signal = np.moveaxis(given, axis, -1)
    level = LEVELS[padtype](signal, axis=-1, keepdims=True) if padtype in LEVELS else 0.0
    signal = signal - level if padtype in LEVELS else signal
    count = signal.shape[-1]
    taps = _taps(window, max(up, down)) * up
    half = dims.floor_divide(taps.shape[0] - 1, 2)
    before = down - dims.remainder(half, down)
    skipped = dims.floor_divide(half + before, down)
    wanted = dims.floor_divide(count * up + down - 1, down)
    # As many zeros behind the filter as give all that is wanted of a signal of any length.
    after = dims.maximum(skipped * down + up - before - 2 * half, 0) + down
    ends: Any = (before, after)
    wide = np.pad(taps if holds_complex(taps) else taps.astype(signal.real.dtype), ends)
    found = upfirdn(wide, signal, up, down)[..., skipped : skipped + wanted]
    return np.moveaxis(found + level if padtype in LEVELS else found, -1, axis)


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
        return np.moveaxis(rows[: dims.floor_divide(signal.shape[axis] + q - 1, q)], 0, axis)
    sections = _scipys("cheby1")(8 if n is None else n, 0.05, 0.8 / q, output="sos").astype(signal.real.dtype)
    filtered = sosfiltfilt(sections, signal, axis=axis) if zero_phase else sosfilt(sections, signal, axis=axis)
    return np.moveaxis(np.moveaxis(filtered, axis, 0)[::q], 0, axis)
