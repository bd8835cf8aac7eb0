"""scipy.signal's functions of a whole signal: detrending, the analytic signal, smoothing by polynomials."""

from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.scipy.ndimage import convolve1d
from primsplit.frontends.scipy.operands import floating, not_empty, of_at_least
from primsplit.ir import dims
from primsplit.ir.errors import ShapeError
from primsplit.numpy import failing
from primsplit.numpy.axes import size_as
from primsplit.numpy.complex.operands import operand
from primsplit.numpy.ufuncs import cast_to
from primsplit.tracing.array import Array, unsupported
from primsplit.tracing.asarray import array_like, holds_traced
from primsplit.tracing.broadcasting import count_up
from primsplit.tracing.complex_array import ComplexArray

__all__ = ["detrend", "hilbert", "savgol_filter"]


def signal_of(x: Any) -> Any:
    """A handle of a real or complex float array."""
    found = operand(x)
    return found if isinstance(found, ComplexArray) else array_like(floating(x))


def detrend(data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False) -> Any:
    """A signal less its mean, or less the line that fits it best, one between any two of the places `bp`.

    Raises ValueError as SciPy does, UnsupportedFunction for traced places.
    """
    x = np.moveaxis(signal_of(data), axis, -1)
    if type not in {"linear", "l", "constant", "c"}:
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    if type in {"constant", "c"}:
        return np.moveaxis(x - np.mean(x, axis=-1, keepdims=True), -1, axis)
    bp = bp.known() if isinstance(bp, Array) else bp
    if bp is None or holds_traced(bp):
        raise unsupported("scipy.signal.detrend with traced breaks")
    breaks = sorted({int(b) for b in np.ravel(bp)} - {0})
    x = failing.finite(not_empty(x))
    if breaks and dims.above(breaks[-1], x.shape[-1]):
        raise ValueError("Breakpoints must be less than length of data along given axis.")
    if not breaks:
        return np.moveaxis(_without_line(x), -1, axis)
    x = of_at_least(x, breaks[-1])
    ends = zip([0, *breaks], [*breaks, x.shape[-1]], strict=True)
    parts = [_without_line(x[..., a:b]) for a, b in ends if not dims.same(a, b)]
    return np.moveaxis(np.concatenate(parts, axis=-1), -1, axis)


def _without_line(x: Any) -> Any:
    """A signal less the line that fits it best."""
    flat = x - np.mean(x, axis=-1, keepdims=True)
    size = x.shape[-1]
    place = cast_to(count_up(size), x.real.dtype)
    place = place - 0.5 * size_as(size - 1, place.dtype)
    square = np.sum(place**2)
    slope = np.sum(flat * place, axis=-1, keepdims=True) / np.where(square > 0, square, 1.0)
    return flat - slope * place


def hilbert(x: Any, N: Any = None, axis: int = -1) -> Any:
    """The analytic signal, a complex array: its transform has no negative frequencies, the others twice."""
    signal = array_like(floating(x))
    size: Any = signal.shape[axis] if N is None else N
    spectrum = np.moveaxis(np.fft.fft(signal, size, axis), axis, -1)
    twice: Any = 2 * count_up(size)
    whole = size_as(size, np.int64)
    weights: Any = np.where((twice == 0) | (twice == whole), 1, np.where(twice < whole, 2, 0))
    weights = cast_to(weights, spectrum.real.dtype)
    return np.moveaxis(np.fft.ifft(spectrum * weights), -1, axis)


def savgol_filter(
    x: Any,
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: Any = 1.0,
    axis: int = -1,
    mode: str = "interp",
    cval: Any = 0.0,
) -> Any:
    """The polynomial that fits a window best, or its derivative, at the middle of every window.

    With mode "interp" the outermost windows' polynomials go on to the ends: a run with NaN or infinity in one of these
    windows fails, and a signal shorter than the window is a ShapeError.
    """
    if polyorder >= window_length:
        raise ValueError("polyorder must be less than window_length.")
    given: Any = array_like(floating(x))
    rows = np.moveaxis(given, axis, -1)
    half, size = window_length // 2, rows.shape[-1]
    middle = half if window_length % 2 else half - 0.5
    factor = 1.0 / delta**deriv
    weights = _fitting(window_length, polyorder, deriv, [middle])[0].astype(rows.dtype)
    if mode != "interp":
        found = convolve1d(rows, weights[::-1], axis=-1, mode=mode, cval=cval)
    else:
        if isinstance(size, int) and size < window_length:
            raise ShapeError(f"a window of {window_length} samples is longer than {size}", place=tracing.user_place())
        places = [*range(half), *range(window_length - half, window_length)]
        ends = _fitting(window_length, polyorder, deriv, places).astype(rows.dtype)
        first = failing.finite(rows[..., :window_length]) @ ends[:half].T
        last = failing.finite(rows[..., size - window_length :]) @ ends[half:].T
        inner = convolve1d(rows, weights[::-1], axis=-1, mode="constant")[..., half : size - half]
        found = np.concatenate([first, inner, last], axis=-1)
    return np.moveaxis(found * cast_to(array_like(factor), rows.dtype), -1, axis)


def _fitting(length: int, order: int, derivative: int, places: Any) -> Any:
    """Rows of weights of the samples 0, 1, ...: what their best polynomial's derivative is at each place."""
    at = np.asarray(places, np.float64)[:, None]
    # About the middle of the window, so that the powers are of about one size.
    centre = 0.5 * (length - 1)
    powers = np.arange(order + 1)
    fit = np.linalg.pinv((np.arange(length) - centre)[:, None] ** powers)
    falling = np.prod([np.maximum(powers - k, 0) for k in range(derivative)], axis=0) * np.ones(order + 1)
    return falling * (at - centre) ** np.maximum(powers - derivative, 0) @ fit
