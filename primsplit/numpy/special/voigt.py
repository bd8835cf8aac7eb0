"""The Voigt profile, a Gaussian and a Lorentzian folded, by the Faddeeva function, whose steps are differentiated."""

import math

from primsplit.array import Array
from primsplit.numpy.special.faddeeva import faddeeva
from primsplit.numpy.special.incomplete import in_float64
from primsplit.numpy.ufuncs import elementwise
from primsplit.ops import op


def _profile(x: Array, sigma: Array, gamma: Array) -> Array:
    has_width = sigma > 0.0
    scale = op.Where(has_width, sigma, 1.0) * math.sqrt(2.0)
    folded = faddeeva(x / scale, gamma / scale)[0] / (scale * math.sqrt(math.pi))
    safe = op.Where(has_width, 1.0, x * x + gamma * gamma)
    return op.Where(has_width, folded, gamma / (safe * math.pi))


@elementwise("voigt_profile")
def voigt_profile(x: Array, sigma: Array, gamma: Array) -> Array:
    """The density of a normal and a Cauchy number's sum, to 1e-14 of its peak where sigma is above 0."""
    return in_float64(_profile)(x, sigma, gamma)
