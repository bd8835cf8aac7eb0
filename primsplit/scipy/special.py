"""scipy.special for traced arrays and NumPy arrays: logsumexp, softmax, log_softmax."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.array import Array
from primsplit.calls.primitive import primitive, rrule, stop_gradient
from primsplit.lifting import array_like
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op

__all__ = ["log_softmax", "logsumexp", "softmax"]

Axis = int | tuple[int, ...] | None


def _floating(x: Any) -> Any:
    """A traced or NumPy array of a float dtype; integers become float64."""
    if not isinstance(x, Array):
        array = np.asarray(x)
        return array if array.dtype.kind == "f" else array.astype(np.float64)
    traced = array_like(x)
    return traced if traced.type.is_float else cast_to(traced, np.float64)


def _axes(x: Any, axis: Axis) -> tuple[int, ...]:
    rank = len(x.shape)
    every = tuple(range(rank)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    return tuple(a % rank for a in every)


def logsumexp(a: Any, axis: Axis = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """log(sum(b exp(a))) without overflow; with `return_sign`, the log of the absolute value, and the sign.

    The gradient where every element is -inf is 0.
    """
    a = _floating(a)
    axes = _axes(a, axis)
    if b is None and not return_sign:
        found = _log_sum_exp(a, axes=axes)
        return found if keepdims else np.squeeze(found, axes)
    weights = 1.0 if b is None else b
    top = stop_gradient(_finite_maximum(a, axes))
    total = np.sum(weights * np.exp(a - top), axis=axes, keepdims=True)
    sign = np.sign(total)
    found = np.log(sign * total if return_sign else total) + top
    if not keepdims:
        found, sign = np.squeeze(found, axes), np.squeeze(sign, axes)
    return (found, sign) if return_sign else found


def _finite_maximum(a: Any, axes: tuple[int, ...]) -> Any:
    """The maximum along the axes, kept; 0 where it is infinite or NaN."""
    top = np.max(a, axis=axes, keepdims=True)
    return np.where(np.isfinite(top), top, np.zeros((), top.dtype))


@primitive
def _log_sum_exp(a: Any, *, axes: tuple[int, ...]) -> Any:
    """log(sum(exp(a))) along the axes, kept. Four passes over `a`."""
    top = _finite_maximum(a, axes)
    with np.errstate(divide="ignore"):
        return np.log(np.sum(np.exp(a - top), axis=axes, keepdims=True)) + top


@rrule(_log_sum_exp)
def _log_sum_exp_rule(a: Array, *, axes: tuple[int, ...]) -> tuple[Any, Callable[..., Any]]:
    """da = dy exp(a - y): the softmax, from the input and the output."""
    y = _log_sum_exp(a, axes=axes)

    def pullback(dy: Array) -> tuple[Any]:
        finite = np.where(np.isneginf(y), np.zeros((), y.dtype), y)
        return (dy * np.exp(a - finite),)

    return y, pullback


def softmax(x: Any, axis: Axis = None) -> Any:
    """exp(x) / sum(exp(x)) along the axes."""
    x = _floating(x)
    axes = _axes(x, axis)
    if isinstance(x, Array) and len(axes) == 1:
        return op.Softmax(x, axis=axes[0])
    return np.exp(log_softmax(x, axis))


def log_softmax(x: Any, axis: Axis = None) -> Any:
    """x - log(sum(exp(x))) along the axes."""
    x = _floating(x)
    axes = _axes(x, axis)
    if isinstance(x, Array) and len(axes) == 1:
        return op.LogSoftmax(x, axis=axes[0])
    return x - _log_sum_exp(x, axes=axes)
