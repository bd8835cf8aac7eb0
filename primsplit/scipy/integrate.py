"""scipy.integrate for traced arrays and NumPy arrays: the rules of sums over samples."""

from typing import Any

import numpy as np

from primsplit.asked import literal_size
from primsplit.lifting import holds_traced
from primsplit.numpy.axes import array_like

__all__ = ["cumulative_trapezoid", "simpson", "trapezoid"]


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The trapezoidal rule along an axis."""
    return np.trapezoid(_array(y), None if x is None else _array(x), dx, axis)


def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    """The trapezoidal rule up to each sample but the first; with `initial`, which is 0, from the first on."""
    y = np.moveaxis(_array(y), axis, -1)
    widths = dx if x is None else _widths(_array(x), axis)
    sums = np.cumsum((y[..., 1:] + y[..., :-1]) * widths / 2.0, axis=-1)
    if initial is not None:
        sums = np.concatenate([np.zeros_like(y[..., :1], dtype=sums.dtype), sums], axis=-1)
    return np.moveaxis(sums, -1, axis)


def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """Simpson's rule along an axis whose size is known when tracing.

    Of an even number of samples the last interval is that of the parabola through the last three (K. V. Cartwright,
    Simpson's Rule Cumulative Integration with MS Excel and Irregularly-spaced Data, JMSME 12, 2017).
    Raises NumberAsked for a size that only the run knows.
    """
    y = np.moveaxis(_array(y), axis, -1)
    count = literal_size(y.shape[-1], "scipy.integrate.simpson")
    widths = dx * np.ones(max(count - 1, 0)) if x is None else _widths(_array(x), axis)
    if count == 2:
        return 0.5 * widths[..., 0] * (y[..., 0] + y[..., 1])
    odd = count - 1 + count % 2
    found = _parabolas(y[..., :odd], widths[..., : odd - 1])
    if count % 2 or count == 0:
        return found
    before, last = widths[..., -2], widths[..., -1]
    alpha = (2 * last**2 + 3 * before * last) / (6 * (before + last))
    beta = (last**2 + 3 * before * last) / (6 * before)
    eta = last**3 / (6 * before * (before + last))
    return found + alpha * y[..., -1] + beta * y[..., -2] - eta * y[..., -3]


def _parabolas(y: Any, widths: Any) -> Any:
    """The integrals of the parabolas through three samples each, of an odd number of samples."""
    first, second = widths[..., ::2], widths[..., 1::2]
    both, ratio = first + second, first / second
    left, middle, right = y[..., :-2:2], y[..., 1::2], y[..., 2::2]
    terms = left * (2 - 1 / ratio) + middle * (both * both / (first * second)) + right * (2 - ratio)
    return np.sum(both / 6 * terms, axis=-1)


def _widths(x: Any, axis: int) -> Any:
    """The distances of samples along the last axis."""
    x = x if x.ndim == 1 else np.moveaxis(x, axis, -1)
    return x[..., 1:] - x[..., :-1]


def _array(value: Any) -> Any:
    return array_like(value) if holds_traced(value) else np.asarray(value)
