"""Signs, zeros and integers of floating-point arrays.

onnxruntime's Where returns +0.0 for a -0.0 taken from its second input, but keeps a -0.0 from its third. Functions here
that keep the sign of zero therefore put the branch that may be -0.0 last. Their condition is never a Not, because
onnxruntime removes a Not and swaps the branches.
"""

import math

import numpy as np

from primsplit.ir.runtimes import fault
from primsplit.ops import op
from primsplit.tracing.array import Array


@fault(
    "where_of_minus_zero",
    kind="wrong",
    operators=("Where",),
    says="Where turns a -0.0 that comes from its second input into 0.0.",
)
def odd(x: Array, value: Array) -> Array:
    """An odd function that is 0 at 0, from its value at |x|. Keeps -0.0 and NaN of x."""
    return op.Where(x > 0.0, value, op.Where(x < 0.0, -value, x))


def sided(x: Array) -> tuple[Array, Array]:
    """The sign of x, 1 at zeros, and the size x times the sign, -0.0 at -0.0.

    An odd function is the sign times a function of the size, an even one that function alone. Their derivatives are
    those of the formula at 0 too, where the size by Abs has the slope 0.
    """
    sign = op.Where(x < 0.0, np.asarray(-1.0, x.dtype), np.asarray(1.0, x.dtype))
    return sign, x * sign


def with_end(x: Array, limit: Array | float, value: Array | float) -> Array:
    """The value, but a limit where x is 0, with a derivative of NaN there: that of the limit alone would be 0.

    At 0 the square root of x**3 has the derivative inf * 0. It has the sign of the limit, so that roots cancel in no
    sum whose infinite limits do not.
    """
    is_end = op.Equal(x, 0.0)
    held = op.Where(is_end, x, 1.0)
    root = op.Sqrt(held * held * held)
    is_negative_limit = isinstance(limit, float) and limit < 0.0
    return op.Where(is_end, limit - root if is_negative_limit else limit + root, value)


def is_negative(x: Array) -> Array:
    """Return whether the sign bit is set: True for -0.0, False for NaN."""
    return op.Or(op.Less(x, 0.0), op.Less(op.Reciprocal(x), 0.0))


def is_odd(whole: Array) -> Array:
    """Return whether an integral float is odd; False beyond 2**53, where all floats are even."""
    return op.Equal(whole - op.Floor(whole * 0.5) * 2.0, 1.0)


def sin_pi(x: Array) -> Array:
    """sin(pi x), exact at integers. Reduction x - round(x) is exact, so the error is that of Sin on [-pi/2, pi/2]."""
    whole = op.Round(x)
    wave = op.Sin((x - whole) * math.pi)
    return op.Where(is_odd(whole), -wave, wave)


def cos_pi(x: Array) -> Array:
    """cos(pi x), to the rounding of 1; a quotient with sin_pi(x) is accurate near the poles."""
    whole = op.Round(x)
    wave = op.Cos((x - whole) * math.pi)
    return op.Where(is_odd(whole), -wave, wave)
