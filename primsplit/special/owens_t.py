"""Owen's T function, by a quadrature whose terms are all positive, so that its tails do not cancel.

D. B. Owen, Tables for computing bivariate normal probabilities, Ann. Math. Statist. 27 (1956) 1075-1090.
"""

import math

from primsplit.numpy.approximations.error_function import exact_square
from primsplit.numpy.approximations.signs import sided
from primsplit.numpy.ufuncs import elementwise
from primsplit.numpy.units import unit
from primsplit.ops import op
from primsplit.ops.namespace import later
from primsplit.special.error_functions import gaussian, ndtr
from primsplit.special.incomplete import in_float64
from primsplit.special.quadrature import gauss_jacobi
from primsplit.tracing.array import Array

NODES = 22
WIDEST = 8.6
"""The range of the integral in units of 1 / h: the part beyond is below 1e-17 of it."""
LARGEST = 1e150


def _within(h: Array, a: Array) -> Array:
    """T for h >= 0 and 0 <= a <= 1, the integral over x**2 in [0, b**2]."""
    most = WIDEST / op.Clip(h, WIDEST, None)
    b = op.Where(a > most, most, a)
    square = b * b
    steepness = op.Clip(h, None, LARGEST) * b
    steepness = steepness * steepness * -0.5
    total = b * 0.0
    for node, weight in gauss_jacobi(NODES, -0.5, 0.0):
        total = total + op.Exp(steepness * node) / (1.0 + square * node) * (weight / (4 * math.pi))
    whole, rest = exact_square(h)
    return op.Exp(whole * -0.5) * op.Exp(rest * -0.5) * (b * total)


def _owens_t(h: Array, a: Array) -> Array:
    """Equation 2.3 of Owen for |a| > 1, in upper tails, which cancel to half at most."""
    height = op.Abs(h)
    sign, size = sided(a)
    is_wide = size > 1.0
    slope = op.Where(is_wide, size, 1.0)
    product = op.Where(op.Equal(height, 0.0), 0.0, height * slope)
    inner = _within(product, op.Where(is_wide, op.Reciprocal(slope), size))
    near, far = ndtr(-height), ndtr(-product)
    value = op.Where(is_wide, 0.5 * (near + far) - near * far - inner, inner)
    return op.Where(op.IsNaN(h), h, sign * value)


def _height_slope(h: Array, a: Array) -> Array:
    product = h * op.Where(op.Equal(op.Abs(a), math.inf), op.Where(op.Equal(h, 0.0), 0.0, a), a)
    within: Array = later.Erf(product * math.sqrt(0.5))
    return gaussian(h * math.sqrt(0.5)) * within * (-0.5 / math.sqrt(2 * math.pi))


def _ratio_slope(h: Array, a: Array) -> Array:
    beyond = 1.0 + a * a
    return op.Exp(h * h * beyond * -0.5) / (beyond * (2 * math.pi))


owens_t = elementwise("owens_t")(
    unit(
        "owens_t",
        in_float64(_owens_t),
        lambda dz, h, a, z: dz * _height_slope(h, a),
        lambda dz, h, a, z: dz * _ratio_slope(h, a),
    )
)
"""The probability of X > h and 0 < Y < a X, for two independent standard normal variables."""
