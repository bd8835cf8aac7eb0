"""Exponentials and logarithms that ONNX has no operator for, in float32 and float64 by the same code.

Written from onnxruntime's Exp, Log, Tanh and Pow, whose errors in float64 are at most 1.5, 1.5, 2 and 1 ulp. The error
of a composition is its largest in units in the last place over a random and special-value grid of its whole domain.
"""

import math

import numpy as np

from primsplit.numpy.approximations.limits import float_limits
from primsplit.ops import op
from primsplit.tracing.array import Array

TANH_IS_IDENTITY = 1e-9


def log1p(x: Array) -> Array:
    """log(1 + x): the logarithm of the rounded sum w, plus what the rounding lost, (x - (w - 1)) / w.

    Source: W. Kahan's device, in N. Higham, Accuracy and Stability of Numerical Algorithms (2002), section 1.14.1.
    Domain x > -1; -inf at -1, NaN below. Error 1.5 ulp, in float32 3.4. Clip keeps inf - inf out at inf, and the
    smallest normal number, which changes no other w than 0, keeps 0 / 0 out at -1. 0 - log(w) rather than -log(w) gives
    log1p(-0.0) its sign. Where would take three times as long as either. The slope of these operators is 1 / (x + 1)
    below -1 too, where a lower bound of Clip would make it infinite.
    """
    limits = float_limits(x)
    w = x + 1.0
    finite = op.Clip(w, None, float(limits.max))
    lost = (x - (finite - 1.0)) / (finite + float(limits.tiny))
    return lost - (0.0 - op.Log(w))


def expm1(x: Array) -> Array:
    """exp(x) - 1, for |x| < 1 as tanh(x / 2) (exp(x) + 1), which is the same and does not cancel.

    onnxruntime's float32 Tanh is inaccurate below 1e-37, hence the identity near 0. Error 3.2 ulp, in float32 4.4.
    """
    power = op.Exp(x)
    distance, half = op.Abs(x), x * 0.5
    tangent = op.Where(distance > TANH_IS_IDENTITY, op.Tanh(half), half)
    return op.Where(distance >= 1.0, power - 1.0, tangent * (power + 1.0))


def exp2(x: Array) -> Array:
    """2**x, by Pow, so that integers give exact powers. Error 0.5 ulp."""
    return op.Pow(np.asarray(2.0, x.dtype), x)


def log2(x: Array) -> Array:
    """log(x) / log(2), exact at powers of two. Error 2.2 ulp, in float32 2.8."""
    return logarithm(x, base=2.0, scale=math.log2(math.e))


def log10(x: Array) -> Array:
    """log(x) / log(10), exact at the powers of ten that floats hold exactly. Error 2.2 ulp, in float32 3."""
    return logarithm(x, base=10.0, scale=math.log10(math.e))


def logarithm(x: Array, *, base: float, scale: float) -> Array:
    """scale log(x) for scale = 1 / log(base), but the nearest integer where base to that power is x."""
    value = op.Log(x) * scale
    whole = op.Round(value)
    return op.Where(op.Equal(op.Pow(np.asarray(base, x.dtype), whole), x), whole, value)


def logaddexp(x: Array, y: Array) -> Array:
    """log(exp(x) + exp(y)) = max + log1p(exp(-|x - y|)); equal arguments, infinite ones too, give x + log(2).

    Error 1.6 ulp; near the zeros of the result, an ulp of the larger argument.
    """
    spread = op.Where(op.Equal(x, y), 0.0, op.Abs(x - y))
    return op.Max(x, y) + log1p(op.Exp(-spread))


def cbrt(x: Array) -> Array:
    """The real cube root: Pow(|x|, 1/3) and one Newton step, whose quotient carries the sign. Error 0.7 ulp."""
    power = op.Pow(op.Abs(x), np.asarray(1.0 / 3.0, x.dtype))
    root = op.Where(x < 0.0, -power, power)
    better = root - (root - x / (root * root)) * (1.0 / 3.0)
    distance = op.Abs(x)
    return op.Where(op.And(distance > 0.0, distance < math.inf), better, x)


def hypot(x: Array, y: Array) -> Array:
    """sqrt(x**2 + y**2) without overflow: m sqrt(1 + (n / m)**2) for the larger m and the smaller n. Error 1.6 ulp."""
    x, y = op.Abs(x), op.Abs(y)
    large, small = op.Max(x, y), op.Min(x, y)
    ratio = small / large
    length = op.Where(op.Equal(large, 0.0), large, large * op.Sqrt(ratio * ratio + 1.0))
    return op.Where(op.Or(op.Equal(x, math.inf), op.Equal(y, math.inf)), math.inf, length)
