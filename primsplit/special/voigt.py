"""The Voigt profile, the convolution of a Gaussian and a Lorentzian, by the Faddeeva function.

The steps of the Faddeeva function are differentiated. Equations are those of the NIST Digital Library of Mathematical
Functions.
"""

import math

from primsplit.numpy.ufuncs import elementwise
from primsplit.ops import op
from primsplit.special.faddeeva import faddeeva
from primsplit.special.incomplete import in_float64
from primsplit.tracing.array import Array


def _profile(x: Array, sigma: Array, gamma: Array) -> Array:
    """Re w(z) of z = (x + i gamma) / scale; below the real axis it is 2 Re exp(-z**2) less that above (7.4.3)."""
    has_width = op.Not(op.Equal(sigma, 0.0))
    scale = op.Where(has_width, sigma, 1.0) * math.sqrt(2.0)
    place, height = x / scale, gamma / scale
    is_below = height < 0.0
    above = faddeeva(place, op.Where(is_below, -height, height))[0]
    held, depth = op.Where(is_below, place, 0.0), op.Where(is_below, height, 0.0)
    turned = 2.0 * op.Exp(depth * depth - held * held) * op.Cos(2.0 * held * depth) - above
    folded = op.Where(is_below, turned, above) / (scale * math.sqrt(math.pi))
    square = x * x + gamma * gamma
    is_peak = op.And(op.Equal(gamma, 0.0), op.Not(op.IsNaN(square)))
    narrow = gamma / (op.Where(op.Or(has_width, is_peak), 1.0, square) * math.pi)
    narrow = op.Where(is_peak, op.Where(op.Equal(x, 0.0), math.inf, 0.0), narrow)
    return op.Where(has_width, folded, narrow)


@elementwise("voigt_profile")
def voigt_profile(x: Array, sigma: Array, gamma: Array) -> Array:
    """The density of the sum of a normal and a Cauchy variable, accurate to 1e-14 of its peak where sigma is above 0.

    Negative widths define no density; the formula is used for them all the same, as in SciPy.
    """
    return in_float64(_profile)(x, sigma, gamma)
