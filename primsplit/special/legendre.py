"""Associated Legendre functions of known degrees and orders, with the Condon-Shortley phase.

NIST Digital Library of Mathematical Functions, 14.7.10, 14.9.3 and 14.10.3; the normalized ones are those of spherical
harmonics, 14.30.1.
"""

import math
from collections.abc import Callable

import numpy as np

from primsplit.ir.dims import broadcast_shapes
from primsplit.numpy.approximations.error_function import in_float64
from primsplit.numpy.ufuncs import elementwise
from primsplit.ops import op
from primsplit.tracing.array import Array, unsupported
from primsplit.tracing.broadcasting import expand_to


def of_degrees(name: str, n: Array, m: Array, function: Callable[[int, int], Array]) -> Array:
    """The function of each known degree and order. Raises UnsupportedFunction for others."""
    degrees, orders = n.known(), m.known()
    if degrees is None or orders is None or np.any(degrees % 1) or np.any(orders % 1):
        raise unsupported(f"scipy.special.{name}, but of known whole degrees and orders,")
    degrees, orders = np.broadcast_arrays(degrees, orders)
    pairs = sorted({*zip(map(int, degrees.flat), map(int, orders.flat), strict=True)}) or [(0, 0)]
    found = function(*pairs[0])
    for degree, order in pairs[1:]:
        found = op.Where((degrees == degree) & (orders == order), function(degree, order), found)
    return expand_to(found, broadcast_shapes(degrees.shape, found.shape))


@elementwise("lpmv")
def lpmv(m: Array, v: Array, x: Array) -> Array:
    """The function of order m and degree v; NaN for |x| > 1 unless the order is 0."""
    return in_float64(x, lambda wide: of_degrees("lpmv", v, m, lambda n, k: _associated(n, k, wide)))


def _associated(n: int, m: int, x: Array) -> Array:
    n, k = n if n >= 0 else -n - 1, abs(m)
    if -m > n:
        return x * math.nan
    square = 1.0 - x * x
    value = x * 0.0 + (float((-1) ** k * math.prod(range(1, 2 * k, 2))) if k <= n else 0.0)
    for _ in range(k // 2):
        value = value * square
    value = value * op.Sqrt(square) if k % 2 else value
    last = x * 0.0
    for j in range(k + 1, n + 1):
        last, value = value, ((2 * j - 1.0) * x * value - (j + k - 1.0) * last) / float(j - k)
    if m < 0:
        value = value * ((-1) ** k * math.factorial(n - k) / math.factorial(n + k))
    return op.Where(op.Abs(x) > 1.0, math.nan, value) if m else value


def normalized(n: int, m: int, theta: Array) -> Array:
    """A spherical harmonic at longitude 0, by a recurrence in the degree that does not overflow.

    0 for orders beyond.
    """
    k = abs(m)
    if n < k:
        return theta * 0.0
    cosine, sine = op.Cos(theta), op.Sin(theta)
    sine = op.Where(sine < 0.0, -sine, sine)
    size = math.sqrt((2 * k + 1) / (4 * math.pi) * math.prod((2 * j - 1) / (2 * j) for j in range(1, k + 1)))
    value, last = theta * 0.0 + size, theta * 0.0
    for _ in range(k):
        value = value * sine
    value = -value if m > 0 and m % 2 else value
    for j in range(k + 1, n + 1):
        rise = math.sqrt((4 * j * j - 1) / (j * j - k * k))
        fall = math.sqrt(((j - 1) ** 2 - k * k) / (4 * (j - 1) ** 2 - 1)) if j > k + 1 else 0.0
        last, value = value, (cosine * value - fall * last) * rise
    return value
