"""Tangent and the inverse trigonometric functions in float64; float32 has onnxruntime's own."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.numpy.approximations.signs import is_negative, is_odd, sin_pi
from primsplit.ops import op
from primsplit.tracing.array import Array

# pi / 2 in parts of 33 bits, so that k * part is exact for |k| < 2**20 (Cody and Waite, Software Manual for the
# Elementary Functions, 1980); the last part is what remains.
HALF_PI = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)
EXACT_REDUCTION = 2.0**20
ATAN_IS_HALF_PI = 1e18


def tan(x: Array) -> Array:
    """sin / cos of x - k pi/2, inverted for odd k. Beyond 2**20 of x itself, whose sine onnxruntime reduces well.

    Error 4.2 ulp.
    """
    if x.dtype != np.float64:
        return op.Tan(x)
    near = op.Abs(x) < EXACT_REDUCTION
    k = op.Where(near, op.Round(x * (2.0 / math.pi)), 0.0)
    rest = x
    for part in HALF_PI:
        rest = rest - k * part
    sine, cosine = op.Sin(rest), op.Cos(rest)
    flipped = is_odd(k)
    return op.Where(flipped, -cosine, sine) / op.Where(flipped, sine, cosine)


def atan(x: Array) -> Array:
    """The float32 arctangent y, corrected by tan(atan(x) - y) = (x cos y - sin y) / (cos y + x sin y).

    The correction is at most 2e-7, where the tangent is the identity to 1e-14 of it. Error 4.2 ulp.
    """
    if x.dtype != np.float64:
        return op.Atan(x)
    bounded = op.Clip(x, -ATAN_IS_HALF_PI, ATAN_IS_HALF_PI)
    rough = op.Cast(op.Atan(op.Cast(bounded, to=np.float32)), to=np.float64)
    sine, cosine = op.Sin(rough), op.Cos(rough)
    better = rough + (bounded * cosine - sine) / (cosine + bounded * sine)
    return op.Where(op.Abs(x) > 0.0, better, x)


def asin(x: Array) -> Array:
    """atan(x / sqrt((1 - x) (1 + x))); NaN outside [-1, 1]. Error 3.5 ulp."""
    if x.dtype != np.float64:
        return op.Asin(x)
    return atan(x / op.Sqrt((1.0 - x) * (1.0 + x)))


def acos(x: Array) -> Array:
    """2 atan(sqrt((1 - x) / (1 + x))); NaN outside [-1, 1]. Error 3.2 ulp."""
    if x.dtype != np.float64:
        return op.Acos(x)
    return atan(op.Sqrt((1.0 - x) / (1.0 + x))) * 2.0


def atan2(y: Array, x: Array) -> Array:
    """The angle of (x, y), with NumPy's answers at zeros of either sign and infinities. The quotient is at most 1.

    Error 3 ulp.
    """
    is_left, side = is_negative(x), op.Where(is_negative(y), np.asarray(-1.0, y.dtype), 1.0)
    up, along = y * side, op.Where(is_left, -x, x)
    is_steep = up > along
    large, small = op.Where(is_steep, up, along), op.Where(is_steep, along, up)
    quotient = op.Where(op.Equal(small, math.inf), 1.0, small / large)
    angle = atan(op.Where(op.Equal(large, 0.0), 0.0, quotient))
    angle = op.Where(is_steep, math.pi / 2 - angle, angle)
    angle = op.Where(is_left, math.pi - angle, angle) * side
    return op.Where(op.Or(op.IsNaN(x), op.IsNaN(y)), x + y, angle)  # comparisons choose another number for NaN


def sinc(x: Array) -> Array:
    """sin(pi x) / (pi x), 1 at 0; exactly 0 at the other integers, where NumPy gives 4e-17. Error 3.4 ulp."""
    return op.Where(op.Equal(x, 0.0), 1.0, sin_pi(x) / (x * math.pi))


COMPOSITIONS: dict[str, Callable[..., Any]] = {"Tan": tan, "Atan": atan, "Asin": asin, "Acos": acos}
