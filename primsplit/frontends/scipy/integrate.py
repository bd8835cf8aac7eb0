"""scipy.integrate for traced arrays and NumPy arrays: the rules for integrals of samples."""

from typing import Any

import numpy as np

from primsplit.frontends.scipy.operands import of_at_least, of_length
from primsplit.ir import dims
from primsplit.ir.dims import Dim, Size
from primsplit.numpy.axes import size_as
from primsplit.tracing.asarray import holds_traced, plain_or_traced
from primsplit.tracing.broadcasting import full

__all__ = ["simpson"]


def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """Simpson's rule along an axis.

    Of an even number of samples the last interval is that of the parabola through the last three (K. V. Cartwright,
    Simpson's Rule Cumulative Integration with MS Excel and Irregularly-spaced Data, JMSME 12, 2017).
    """
    y = of_at_least(np.moveaxis(plain_or_traced(y), axis, -1), 1)
    count = y.shape[-1]
    widths = dx * _ones(dims.maximum(count - 1, 0)) if x is None else _widths(plain_or_traced(x), axis, count)
    if isinstance(count, Size):
        odd = dims.maximum(dims.floor_divide(count + 1, 2) * 2 - 1, 0)
        return _parabolas(y[..., :odd], widths[..., : dims.maximum(odd - 1, 0)]) + _even_end(y, widths)
    if count == 2:
        return _trapezoid(y, widths)
    odd = count - 1 + count % 2
    found = _parabolas(y[..., :odd], widths[..., : odd - 1])
    return found if count % 2 or count == 0 else found + _last_parabola(y, widths)


def _over(x: Any, y: Any) -> Any:
    """x / y, and 0 where y is 0, as SciPy takes what two sites at one place have no parabola for."""
    if not holds_traced(y) and np.all(y != 0):
        return x / y
    is_none = y == 0
    return np.where(is_none, 0.0, x / np.where(is_none, 1.0, y))


def _ones(count: Dim) -> Any:
    return full((count,), np.ones(())) if isinstance(count, Size) else np.ones(count)


def _trapezoid(y: Any, widths: Any) -> Any:
    """The integral of the line through the last two samples."""
    return 0.5 * widths[..., -1] * (y[..., -2] + y[..., -1])


def _last_parabola(y: Any, widths: Any) -> Any:
    """The integral over the last interval of the parabola through the last three samples."""
    before, last = widths[..., -2], widths[..., -1]
    alpha = _over(2 * last**2 + 3 * before * last, 6 * (before + last))
    beta = _over(last**2 + 3 * before * last, 6 * before)
    eta = _over(last**3, 6 * before * (before + last))
    return alpha * y[..., -1] + beta * y[..., -2] - eta * y[..., -3]


def _even_end(y: Any, widths: Any) -> Any:
    """The integral over the last interval where the run finds an even number of samples, else 0."""
    count = size_as(y.shape[-1], np.int64)
    few = y.ndim - 1
    y = np.pad(y, [(0, 0)] * few + [(3, 0)])
    widths = np.pad(widths, [(0, 0)] * (widths.ndim - 1) + [(2, 0)], constant_values=1.0)
    found = np.where(count == 2, _trapezoid(y, widths), _last_parabola(y, widths))
    return np.where((count % 2 == 0) & (count > 0), found, 0.0)


def _parabolas(y: Any, widths: Any) -> Any:
    """The integrals of the parabolas through three samples each, of an odd number of samples."""
    first, second = widths[..., ::2], widths[..., 1::2]
    both, ratio = first + second, _over(first, second)
    left, middle, right = y[..., :-2:2], y[..., 1::2], y[..., 2::2]
    terms = left * (2 - _over(1.0, ratio)) + middle * (both * _over(both, first * second)) + right * (2 - ratio)
    return np.sum(both / 6 * terms, axis=-1)


def _widths(x: Any, axis: int, count: Dim) -> Any:
    """The distances of so many samples along the last axis."""
    x = of_length(x if x.ndim == 1 else np.moveaxis(x, axis, -1), count)
    return x[..., 1:] - x[..., :-1]
