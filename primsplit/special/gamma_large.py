"""The incomplete gamma functions of large shapes, by expansions about the normal distribution.

N. M. Temme, The asymptotic expansion of the incomplete gamma functions, SIAM J. Math. Anal. 10 (1979) 757; NIST Digital
Library of Mathematical Functions, 8.12. With x = a (1 + m) and eta^2 / 2 = m - log(1 + m), the lower function is
ndtr(y) - exp(-y^2 / 2) / sqrt(2 pi a) sum_k C_k(eta) / a^k, where y = eta sqrt(a). The formulas are differentiated as
they are: nothing in them cancels.
"""

import math
from collections.abc import Callable

from primsplit.numpy.approximations.rational import horner
from primsplit.ops import op
from primsplit.special.error_functions import ndtr, ndtri
from primsplit.tracing.array import Array

MANY = 1e6
"""From this shape on, the expansions with the terms here are accurate to rounding."""
NEAR = 0.05
"""The largest |m|. Beyond it the functions of such shapes are 0 or 1."""
ARC = (1 / 3, 1 / 5, 1 / 7, 1 / 9, 1 / 11)
"""(artanh(s) / s - 1) / s^2 in powers of s^2."""
TEMME = (
    (-1 / 3, 1 / 12, -2 / 135, 1 / 864, 1 / 2835, -139 / 777600, 1 / 25515, -571 / 261273600, -281 / 151559100),
    (-1 / 540, -1 / 288, 1 / 378, -77 / 77760, 1 / 4860),
    (25 / 6048, -139 / 51840),
)
"""C_0, C_1 and C_2 in powers of eta: 8.12.12."""
RATIO = (1.0, 1 / 3, 1 / 36, -1 / 270, 1 / 4320, 1 / 17010, -139 / 5443200, 1 / 204120, -571 / 2351462400)
"""m / eta in powers of eta: 8.12.7, inverted."""
ROOT_TWO_PI = math.sqrt(2.0 * math.pi)

Function = Callable[[Array, Array], Array]


def by_size(few: Function, many: Function) -> Function:
    """A function of a shape and a number: `many` where the shape is large and both are finite, else another."""

    def both(a: Array, x: Array) -> Array:
        is_many = op.And(op.And(a > MANY, a < math.inf), op.And(x > 0.0, x < math.inf))
        found = many(op.Where(is_many, a, MANY), op.Where(is_many, x, MANY))
        return op.Where(is_many, found, few(op.Where(is_many, 1.0, a), op.Where(is_many, 1.0, x)))

    return both


def bend(m: Array) -> Array:
    """2 (m - log(1 + m)) / m^2 for numbers up to `NEAR`."""
    over = op.Reciprocal(m + 2.0)
    s = m * over
    return over * 2.0 - horner(ARC, s * s) * s * over * over * 4.0


def _places(a: Array, x: Array) -> tuple[Array, Array, Array]:
    """m, eta / m and y."""
    m = op.Clip((x - a) / a, -NEAR, NEAR)
    root = op.Sqrt(bend(m))
    return m, root, m * root * op.Sqrt(a)


def _sum(a: Array, eta: Array) -> Array:
    first, second, third = (horner(c, eta) for c in TEMME)
    total: Array = first + (second + third / a) / a
    return total


def lower_of_many(a: Array, x: Array) -> Array:
    """The regularized lower incomplete gamma function."""
    m, root, y = _places(a, x)
    found: Array = ndtr(y) - op.Exp(y * y * -0.5) * _sum(a, m * root) / (op.Sqrt(a) * ROOT_TWO_PI)
    return found


def upper_of_many(a: Array, x: Array) -> Array:
    """The regularized upper incomplete gamma function."""
    m, root, y = _places(a, x)
    found: Array = ndtr(-y) + op.Exp(y * y * -0.5) * _sum(a, m * root) / (op.Sqrt(a) * ROOT_TWO_PI)
    return found


def density_of_many(a: Array, x: Array) -> Array:
    """x**(a - 1) exp(-x) / gamma(a)."""
    _, _, y = _places(a, x)
    return op.Exp(y * y * -0.5 - 1.0 / (a * 12.0)) * op.Sqrt(a) / (x * ROOT_TWO_PI)


def shape_slope_of_many(a: Array, x: Array) -> Array:
    """The derivative of the lower function in the shape."""
    m, root, y = _places(a, x)
    eta, width = m * root, op.Sqrt(a)
    s = m / (m + 2.0)
    y_slope = -(horner(ARC, s * s) * s * s + 1.0) * 2.0 / ((m + 2.0) * root * width)
    total = _sum(a, eta)
    in_eta = horner([n * c for n, c in enumerate(TEMME[0])][1:], eta)
    in_eta = in_eta + horner([n * c for n, c in enumerate(TEMME[1])][1:], eta) / a
    total_slope = -in_eta / (a * root) - horner(TEMME[1], eta) / (a * a)
    change = y_slope * (1.0 + y * total / width) + (total / (a * 2.0) - total_slope) / width
    return op.Exp(y * y * -0.5) * change / ROOT_TWO_PI


def inverse_of_many(a: Array, low: Array, high: Array) -> Array:
    """The x where the lower and the upper function have these values, which sum to 1, by Newton steps in y."""
    width, is_low = op.Sqrt(a), low <= 0.5
    side = op.Where(is_low, 1.0, -1.0)
    goal = op.Where(is_low, low, high)
    y = side * ndtri(goal)
    for _ in range(3):
        over = side * (ndtr(side * y) - goal) * op.Exp(y * y * 0.5) * ROOT_TWO_PI
        shift = _sum(a, y / width) / width
        y = y - (over - shift) / (1.0 + y * shift)
    eta = y / width
    found: Array = a + a * (horner(RATIO, eta) * eta)
    return found
