"""scipy.special's functions that are not ufuncs, for traced arrays; logsumexp and softmax also for NumPy arrays."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.frontends.scipy.counts import comb, factorial, lambertw, perm, polygamma
from primsplit.frontends.scipy.operands import floating, not_empty
from primsplit.frontends.scipy.spherical import sph_harm_y, spherical_in, spherical_jn, spherical_kn, spherical_yn
from primsplit.numpy.complex.operands import holds_complex, operand
from primsplit.numpy.log_sums import finite_greatest, log_sum_exp
from primsplit.numpy.refusing import refusing
from primsplit.numpy.ufuncs import ELEMENTWISE, cast_to
from primsplit.numpy.units import nan_where
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import array_like, plain_or_traced
from primsplit.tracing.broadcasting import sum_to
from primsplit.tracing.calls.primitive import primitive, rrule, stop_gradient
from primsplit.tracing.complex_array import refused

__all__ = [
    "comb", "factorial", "lambertw", "log_softmax", "logsumexp", "multigammaln", "perm", "polygamma", "softmax",
    "sph_harm_y", "spherical_in", "spherical_jn", "spherical_kn", "spherical_yn",
]  # fmt: skip

Axis = int | tuple[int, ...] | None


def _axes(x: Any, axis: Axis) -> tuple[int, ...]:
    rank = len(x.shape)
    every = tuple(range(rank)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    return tuple(a % rank for a in every)


def logsumexp(a: Any, axis: Axis = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """log(sum(b exp(a))) without overflow; with `return_sign`, the log of the absolute value, and the sign.

    An element whose weight is 0 adds nothing, whatever it is. The gradient where nothing is added is NaN, but 0 for a
    cotangent of 0.
    """
    if holds_complex(a) or holds_complex(b):
        return _complex_log_sum_exp(a, axis, b, keepdims, return_sign)
    a = floating(a)
    if b is None and not return_sign:
        found = log_sum_exp(a, axis=_axes(a, axis))
        return found if keepdims else np.squeeze(found, _axes(a, axis))
    b = floating(np.ones((), a.dtype) if b is None else b)
    # The dtype and the shape that both have together.
    dtype = np.result_type(a, b)
    counted = np.where(b == 0, np.asarray(-np.inf, dtype), a.astype(dtype))
    axes = _axes(counted, axis)
    top = stop_gradient(finite_greatest(counted, axes))
    total = np.sum(_weighted_power(b.astype(dtype), a.astype(dtype) - top), axis=axes, keepdims=True)
    sign = np.sign(total)
    found = _log_of_sum(sign * total if return_sign else total) + top
    if not keepdims:
        found, sign = np.squeeze(found, axes), np.squeeze(sign, axes)
    return (found, sign) if return_sign else found


@primitive
def _weighted_power(b: Any, x: Any) -> Any:
    """b exp(x), but 0 where b is 0 and exp(x) is infinite or NaN; its slope in b is infinite there."""
    is_left_out = _has_no_product(b, np.exp(x))
    power = np.exp(np.where(is_left_out, np.zeros((), x.dtype), x))
    return np.where(is_left_out, np.sqrt(np.where(is_left_out, b, np.ones((), b.dtype))), b * power)


def _has_no_product(weights: Any, powers: Any) -> Any:
    """Return where a weight of 0 meets an infinite or missing power."""
    return np.logical_and(weights == 0, np.logical_not(np.isfinite(powers)))


@rrule(_weighted_power)
def _weighted_power_rule(b: Array, x: Array) -> tuple[Any, Callable[..., Any]]:
    z = _weighted_power(b, x)
    return z, lambda dz: (sum_to(dz * np.exp(x), b.shape), sum_to(dz * _weighted_power(b, x), x.shape))


@primitive
def _log_of_sum(total: Any) -> Any:
    """log(total)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(total)


@rrule(_log_of_sum)
def _log_of_sum_rule(total: Array) -> tuple[Any, Callable[..., Any]]:
    """The slope at 0, and below it, where there is no logarithm, is undefined: only a cotangent of 0 stays 0."""

    def pullback(dz: Array) -> Any:
        is_undefined = np.logical_not(total > 0)
        return nan_where(is_undefined, dz) / np.where(is_undefined, np.ones((), total.dtype), total)

    return _log_of_sum(total), pullback


def _complex_log_sum_exp(a: Any, axis: Axis, b: Any, keepdims: bool, return_sign: bool) -> Any:
    """The principal logarithm; an element whose weight is 0 adds nothing.

    Raises UnsupportedFunction for the sign, which is the sum over its size.
    """
    if return_sign:
        raise refused("scipy.special.logsumexp with return_sign=True", "Take exp(1j * z.imag) of the result.")
    given, weights = operand(a), operand(np.ones(()) if b is None else b)
    real = np.where(weights == 0, -np.inf, given.real)
    axes = _axes(real, axis)
    top = stop_gradient(finite_greatest(real, axes))
    shifted = np.where(_has_no_product(weights, np.exp(given.real - top)), 0.0, given - top)
    total = np.sum(weights * np.exp(shifted), axis=axes, keepdims=True)
    found = np.log(total) + top
    return found if keepdims else np.squeeze(found, axes)


def softmax(x: Any, axis: Axis = None) -> Any:
    """exp(x) / sum(exp(x)) along the axes; of nothing a run fails, as SciPy does."""
    if holds_complex(x):
        return _shares(x, axis)[0]
    if _is_narrow(x):
        return _as_exponentials(softmax(floating(x), axis), x)
    axes = _axes(x := floating(x), axis)
    x = not_empty(x, axes)
    if isinstance(x, Array) and len(axes) == 1:
        return op.Softmax(x, axis=axes[0])
    return np.exp(log_softmax(x, axis))


def _is_narrow(x: Any) -> bool:
    """Whether a value has integers of 8 or 16 bits, whose exponentials NumPy rounds to few digits."""
    dtype = plain_or_traced(x).dtype
    return dtype.kind in "iu" and dtype.itemsize < 4


def _as_exponentials(found: Any, x: Any) -> Any:
    """`found` in the dtype of np.exp(x), as SciPy has it."""
    return found.astype(np.exp(np.zeros((), plain_or_traced(x).dtype)).dtype)


def _shares(x: Any, axis: Axis) -> tuple[Any, Any]:
    """exp(z) / sum(exp(z)), and its logarithm beside the largest element, for one axis or all of them."""
    axes = _axes(operand(x), axis)
    given: Any = not_empty(operand(x), axes)
    if len(axes) not in {1, given.ndim}:
        raise refused("scipy.special.softmax over some of several axes", "Reshape them to one.")
    largest = np.max(given, axis=None if len(axes) == given.ndim else axes[0], keepdims=True)
    apart = given - (stop_gradient(largest.real) + 1j * stop_gradient(largest.imag))
    powers = np.exp(apart)
    total = np.sum(powers, axis=axes, keepdims=True)
    return powers / total, apart - np.log(total)


def log_softmax(x: Any, axis: Axis = None) -> Any:
    """x - log(sum(exp(x))) along the axes."""
    if holds_complex(x):
        return _shares(x, axis)[1]
    if _is_narrow(x):
        return _as_exponentials(log_softmax(floating(x), axis), x)
    axes = _axes(x := floating(x), axis)
    x = not_empty(x, axes)
    if isinstance(x, Array) and len(axes) == 1:
        return op.LogSoftmax(x, axis=axes[0])
    return x - log_sum_exp(x, axis=axes)


def multigammaln(a: Any, d: int) -> Any:
    """The logarithm of the gamma function of `d` dimensions, for a > (d - 1) / 2, in float64; in traced code alone."""
    a = cast_to(array_like(floating(a)), np.float64)
    a = refusing(a, a <= 0.5 * (d - 1), ValueError(f"condition a > {0.5 * (d - 1)} of multigammaln is not met"))
    terms = (ELEMENTWISE["gammaln"](a - 0.5 * i) for i in range(d))
    return sum(terms, 0.25 * d * (d - 1) * math.log(math.pi))
