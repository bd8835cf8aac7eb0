"""lgamma and its first two derivatives, computed in float64; a float32 argument is widened and rounded back.

For z in [1/2 or 1, 6] a rational fit, which has the zeros of the function as exact factors; above, Stirling's series
with its tail fitted; below that, one step of the recurrence; below 0, the reflection formula (NIST Digital Library of
Mathematical Functions, 5.5.1-5.5.4, 5.11.1-5.11.2, 5.15.5-5.15.8). Near the zeros at negative x the error is relative
to 1, not to the result. Coefficients: tools/fit_approximations.py.
"""

import math

from primsplit.numpy.approximations.coefficients import FITS
from primsplit.numpy.approximations.error_function import in_float64
from primsplit.numpy.approximations.signs import cos_pi, sin_pi
from primsplit.ops import op
from primsplit.tracing.array import Array

DIGAMMA_ZERO = (1.4616321449683622, 9.549995429965697e-17)
"""The positive zero of digamma, in two parts."""
FIT_ENDS = 6.0
HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


def lgamma(x: Array) -> Array:
    """log|gamma(x)|; infinity at 0, -1, -2, ... and at both infinities. Error 6.4 ulp for x > 0."""
    return in_float64(x, _lgamma)


def digamma(x: Array) -> Array:
    """The derivative of lgamma; NaN at -1, -2, ..., and infinite at 0 with the opposite of its sign.

    Error 3.3 ulp for x > 0.
    """
    return in_float64(x, _digamma)


def trigamma(x: Array) -> Array:
    """The second derivative of lgamma, positive everywhere; infinite at 0, -1, -2, ... Error 5 ulp."""
    return in_float64(x, _trigamma)


def _lgamma(x: Array) -> Array:
    z = _shifted(x, below=0.5)
    magnitude = op.Where(z < FIT_ENDS, _lgamma_near(z), _lgamma_far(z))
    factor = op.Where(x < 0.0, op.Abs(sin_pi(x)) * (1.0 / math.pi), x)
    value = op.Where(x < 0.0, -magnitude, magnitude) - op.Where(x < 0.5, op.Log(factor), 0.0)
    pole = op.And(x <= 0.0, op.Equal(op.Floor(x), x))
    return op.Where(pole, math.inf, value)


def _lgamma_near(z: Array) -> Array:
    """On [1/2, 6]; a larger z is only kept finite."""
    z = op.Min(z, FIT_ENDS)
    return (z - 1.0) * (z - 2.0) * FITS["LGAMMA"](z)


def _lgamma_far(z: Array) -> Array:
    inverse = op.Reciprocal(z)
    return (z - 0.5) * (op.Log(z) - 1.0) + (FITS["STIRLING"](inverse * inverse) * inverse + (HALF_LOG_TWO_PI - 0.5))


def _digamma(x: Array) -> Array:
    z = _shifted(x, below=1.0)
    positive = op.Where(z < FIT_ENDS, _digamma_near(z), _digamma_far(z))
    left = _left(x)
    reflected = positive - math.pi * (cos_pi(left) / sin_pi(left))
    value = op.Where(x < 0.0, reflected, positive - op.Where(x < 1.0, op.Reciprocal(x), 0.0))
    pole = op.And(x < 0.0, op.Equal(op.Floor(x), x))
    return op.Where(pole, math.nan, value)


def _digamma_near(z: Array) -> Array:
    high, low = DIGAMMA_ZERO
    z = op.Min(z, FIT_ENDS)
    return ((z - high) - low) * FITS["DIGAMMA"](z)


def _digamma_far(z: Array) -> Array:
    inverse = op.Reciprocal(z)
    square = inverse * inverse
    return op.Log(z) - (0.5 * inverse + square * FITS["DIGAMMA_TAIL"](square))


def _trigamma(x: Array) -> Array:
    z = _shifted(x, below=1.0)
    positive = op.Where(z < FIT_ENDS, FITS["TRIGAMMA"](op.Min(z, FIT_ENDS)), _trigamma_far(z))
    sine = sin_pi(_left(x)) * (1.0 / math.pi)
    reflected = op.Reciprocal(sine * sine) - positive
    inverse = op.Reciprocal(x)
    return op.Where(x < 0.0, reflected, positive + op.Where(x < 1.0, inverse * inverse, 0.0))


def _trigamma_far(z: Array) -> Array:
    inverse = op.Reciprocal(z)
    square = inverse * inverse
    return inverse + (0.5 * square + square * inverse * FITS["TRIGAMMA_TAIL"](square))


def _left(x: Array) -> Array:
    """A negative x; else 1/2, because a formula with poles at whole numbers would have an infinite slope there."""
    return op.Where(x < 0.0, x, 0.5)


def _shifted(x: Array, *, below: float) -> Array:
    """Return the point where the value for x is computed: 1 - x for negative x, x + 1 below a limit, else x."""
    return op.Where(x < 0.0, 1.0 - x, op.Where(x < below, x + 1.0, x))
