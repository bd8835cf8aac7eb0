"""SciPy's error functions, and the distribution function of the normal distribution."""

import math

from primsplit.numpy.approximations import error_function
from primsplit.numpy.approximations.rational import horner
from primsplit.numpy.ufuncs import ELEMENTWISE, elementwise
from primsplit.numpy.units import unit
from primsplit.ops import op
from primsplit.ops.namespace import later
from primsplit.tracing.array import Array

ROOT_PI = math.sqrt(math.pi)

ELEMENTWISE["erf"] = later.Erf


def gaussian(x: Array) -> Array:
    """exp(-x**2)."""
    return op.Exp(-(x * x))


erfc = elementwise("erfc", is_total=True)(
    unit("erfc", error_function.erfc, lambda dz, x, z: dz * (gaussian(x) * (-2.0 / ROOT_PI)))
)

FAR = 25.0
"""Beyond it the slope of erfcx comes from its asymptotic series, because 2 x erfcx(x) - 2 / sqrt(pi) cancels."""


def _erfcx_slope(x: Array, z: Array) -> Array:
    """NIST Digital Library of Mathematical Functions, 7.12.1, differentiated."""
    inverse = op.Reciprocal(op.Where(x > FAR, x, FAR))
    t = inverse * inverse * -0.5
    terms = [math.prod(range(1, 2 * k, 2)) * (2 * k + 1) for k in range(8)]
    series = horner(terms, t) * (inverse * inverse) * (-1.0 / ROOT_PI)
    return op.Where(x > FAR, series, 2.0 * (x * z) - 2.0 / ROOT_PI)


erfcx = elementwise("erfcx", is_total=True)(
    unit("erfcx", error_function.erfcx, lambda dz, x, z: dz * _erfcx_slope(x, z))
)
erfinv = elementwise("erfinv")(
    unit("erfinv", error_function.erfinv, lambda dz, y, z: dz * (op.Exp(z * z) * (ROOT_PI / 2)))
)
erfcinv = elementwise("erfcinv")(
    unit("erfcinv", error_function.erfcinv, lambda dz, x, z: dz * (op.Exp(z * z) * (-ROOT_PI / 2)))
)
ndtri = elementwise("ndtri")(
    unit("ndtri", error_function.ndtri, lambda dz, p, z: dz * (op.Exp(z * z * 0.5) * math.sqrt(2 * math.pi)))
)
ndtr = elementwise("ndtr", is_total=True)(
    unit("ndtr", error_function.ndtr, lambda dz, x, z: dz * (op.Exp(x * x * -0.5) * math.sqrt(0.5 / math.pi)))
)
log_ndtr = elementwise("log_ndtr", is_total=True)(
    unit(
        "log_ndtr",
        error_function.log_ndtr,
        lambda dz, x, z: dz * (math.sqrt(2 / math.pi) / erfcx(x * -math.sqrt(0.5))),
    )
)
