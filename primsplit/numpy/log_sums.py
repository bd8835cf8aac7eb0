"""The logarithm of a sum of exponentials, recorded by name: `call::logsumexp`, listed as `logsumexp(x, axis=(1,))`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.numpy.axes import reduced
from primsplit.numpy.extrema import extremum, is_half
from primsplit.numpy.units import nan_where
from primsplit.tracing.array import Array
from primsplit.tracing.calls.named import named
from primsplit.tracing.calls.primitive import rrule


def _greatest(a: Any, axes: tuple[int, ...]) -> Any:
    """The greatest along the axes, kept; -inf of none, as the sum of none is 0."""
    return extremum("max", a, axes, True) if isinstance(a, Array) else np.max(a, axes, keepdims=True, initial=-np.inf)


def _where_finite(top: Any) -> Any:
    """These numbers; 0 where one is infinite or NaN."""
    return np.where(np.isfinite(top), top, np.zeros((), top.dtype))


def finite_greatest(a: Any, axes: tuple[int, ...]) -> Any:
    """The greatest along the axes, kept; 0 where that is infinite or NaN."""
    return _where_finite(_greatest(a, axes))


@named("logsumexp")
def log_sum_exp(a: Any, *, axis: tuple[int, ...]) -> Any:
    """log(sum(exp(a))) along the axes, kept, also of NumPy's arrays. Four passes over `a`.

    The maximum itself is added, -inf too: onnxruntime before 1.21 makes 6e-309 of exp(-inf). It may pass over a NaN:
    the sum of the exponentials is NaN then.
    """
    top = reduced("ReduceMax", a, axis, True) if isinstance(a, Array) else _greatest(a, axis)
    with np.errstate(divide="ignore"):
        return np.log(np.sum(np.exp(a - _where_finite(top)), axis=axis, keepdims=True)) + top


def _shared(dy: Array, a: Array, y: Any) -> Any:
    """dy exp(a - y); for a y of -inf NaN, unless dy is 0."""
    is_nothing = np.isneginf(y)
    return nan_where(is_nothing, dy) * np.exp(a - np.where(is_nothing, np.zeros((), a.dtype), y))


@rrule(log_sum_exp)
def _log_sum_exp_rule(a: Array, *, axis: tuple[int, ...]) -> tuple[Any, Callable[..., Any]]:
    """da = dy exp(a - y): the softmax, from the input and the output, which 16 bits would round too much."""
    y = log_sum_exp(a, axis=axis)

    def pullback(dy: Array) -> tuple[Any]:
        if not is_half(a):
            return (_shared(dy, a, y),)
        wide = a.astype(np.float32)
        return (_shared(dy.astype(np.float32), wide, log_sum_exp(wide, axis=axis)).astype(a.dtype),)

    return y, pullback
