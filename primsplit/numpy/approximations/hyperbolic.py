"""Hyperbolic functions and their inverses in float64; float32 has onnxruntime's own."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.numpy.approximations.exponential import log1p
from primsplit.numpy.approximations.signs import odd
from primsplit.ops import op
from primsplit.tracing.array import Array

# Above it, x**2 + 1 is x**2 and sqrt(x**2 + 1) is x, and neither has overflowed, in float32 and float64.
SQUARE_RULES = 1e17


def sinh(x: Array) -> Array:
    """2 s / (1 - s**2) with s = tanh(x / 2) for |x| < 1; else from exp(|x| - 1), which does not overflow before sinh.

    Error 3.3 ulp.
    """
    if x.dtype != np.float64:
        return op.Sinh(x)
    s = op.Tanh(x * 0.5)
    growth = op.Exp(op.Abs(x) - 1.0)
    large = growth * (math.e / 2) - 0.5 / math.e / growth
    return op.Where(op.Abs(x) >= 1.0, odd(x, large), 2.0 * s / (1.0 - s * s))


def cosh(x: Array) -> Array:
    """(1 + s**2) / (1 - s**2) with s = tanh(x / 2) for |x| < 1; else from exp(|x| - 1). Error 3.1 ulp."""
    if x.dtype != np.float64:
        return op.Cosh(x)
    s = op.Tanh(x * 0.5)
    square = s * s
    growth = op.Exp(op.Abs(x) - 1.0)
    large = growth * (math.e / 2) + 0.5 / math.e / growth
    return op.Where(op.Abs(x) < 1.0, (1.0 + square) / (1.0 - square), large)


def asinh(x: Array) -> Array:
    """log1p(a + a**2 / (1 + sqrt(1 + a**2))) with the sign of x, for a = |x|; log(2 a) where a**2 might overflow.

    Error 1.8 ulp.
    """
    if x.dtype != np.float64:
        return op.Asinh(x)
    a = op.Abs(x)
    square = a * a
    argument = a + square / (op.Sqrt(square + 1.0) + 1.0)
    return odd(x, log1p_or_log_twice(a, argument))


def acosh(x: Array) -> Array:
    """log1p(t + sqrt(t) sqrt(t + 2)) for t = x - 1; NaN below 1. Error 2.7 ulp."""
    if x.dtype != np.float64:
        return op.Acosh(x)
    t = x - 1.0
    return log1p_or_log_twice(x, t + op.Sqrt(t) * op.Sqrt(t + 2.0))


def log1p_or_log_twice(x: Array, argument: Array) -> Array:
    """log1p(argument), but log(2 x) for huge x."""
    huge = x > SQUARE_RULES
    return log1p(op.Where(huge, x, argument)) + op.Where(huge, math.log(2.0), 0.0)


def atanh(x: Array) -> Array:
    """log1p(2 a / (1 - a)) / 2 with the sign of x, for a = |x|; NaN beyond 1. Error 2 ulp."""
    if x.dtype != np.float64:
        return op.Atanh(x)
    a = op.Abs(x)
    return odd(x, log1p(2.0 * a / (1.0 - a)) * 0.5)


COMPOSITIONS: dict[str, Callable[..., Any]] = {
    "Sinh": sinh,
    "Cosh": cosh,
    "Asinh": asinh,
    "Acosh": acosh,
    "Atanh": atanh,
}
