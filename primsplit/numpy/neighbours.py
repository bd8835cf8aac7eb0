"""np.spacing and np.nextafter: distances between adjacent floats, from the exponents that `frexp` finds."""

import math

import numpy as np

from primsplit.numpy.approximations.limits import float_limits
from primsplit.numpy.arithmetic import frexp, ldexp
from primsplit.numpy.ufuncs import elementwise
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import ones_like
from primsplit.tracing.calls.primitive import stop_gradient


def _steps(x: Array) -> tuple[Array, Array]:
    """The distances from |x|, which is finite, to the next larger float and to the next smaller one."""
    limits = float_limits(x)
    least = float(limits.minexp - limits.nmant)
    mantissa, exponent = frexp(x)
    up = op.Max(op.Cast(exponent, to=np.float64) - float(limits.nmant + 1), least)
    is_power = op.Equal(op.Abs(mantissa), np.asarray(0.5, x.dtype))
    down = op.Where(op.And(is_power, up > least), up - 1.0, up)
    # frexp gives 0 the exponent 0.
    up, down = (op.Where(op.Equal(x, np.zeros((), x.dtype)), least, power) for power in (up, down))
    return ldexp(ones_like(x), up), ldexp(ones_like(x), down)


@elementwise("spacing")
def spacing(x: Array) -> Array:
    """The distance to the next float away from 0, with the sign of x; of float16 to the next larger, as NumPy has it.

    NaN for infinite x, infinite for the largest float.
    """
    largest = np.asarray(float_limits(x).max, x.dtype)
    up, down = _steps(x)
    is_negative = x < 0.0
    if x.dtype == np.float16:
        found = op.Where(is_negative, op.Where(op.Equal(x, -largest), up, down), up)
        is_largest = op.Equal(x, largest)
    else:
        found = op.Where(is_negative, -up, up)
        is_largest = op.Equal(op.Abs(x), largest)
    found = op.Where(is_largest, np.copysign(np.asarray(math.inf, x.dtype), 1) * op.Sign(x), found)
    return op.Where(op.Abs(x) < math.inf, found, np.asarray(math.nan, x.dtype))


@elementwise("nextafter")
def nextafter(x: Array, y: Array) -> Array:
    """The float next to x on the way to y; y where both are equal. The derivative is that of x."""
    limits = float_limits(x)
    start = stop_gradient(x)
    up, down = _steps(start)
    rises = start < y
    away = op.Or(op.Equal(start, np.zeros((), x.dtype)), op.Equal(rises, start > 0.0))
    step = op.Where(away, up, down)
    found = x + op.Where(rises, step, -step)
    inward = op.And(op.IsInf(start), op.Not(op.Equal(start, y)))
    found = op.Where(inward, op.Sign(start) * np.asarray(limits.max, x.dtype), found)
    found = op.Where(op.Or(rises, start > y), found, y)
    return op.Where(op.Or(op.IsNaN(start), op.IsNaN(y)), x + y, found)
