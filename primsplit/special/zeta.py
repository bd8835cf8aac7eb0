"""The zeta functions of Riemann and Hurwitz, by Euler-Maclaurin summation, and Lambert's W of real numbers.

NIST Digital Library of Mathematical Functions, 25.11.5 and 25.4.1; R. M. Corless et al., On the Lambert W function,
Adv. Comput. Math. 5 (1996).
"""

import functools
import math
from typing import Any

import numpy as np

from primsplit.numpy.approximations import error_function
from primsplit.numpy.approximations.coefficients import FITS
from primsplit.numpy.approximations.signs import sin_pi, with_end
from primsplit.numpy.ufuncs import elementwise
from primsplit.numpy.units import unit
from primsplit.numpy.validity import lost_at_nan
from primsplit.ops import op
from primsplit.special.incomplete import in_float64
from primsplit.tracing.array import Array

DIRECT = 12
"""The number of terms that are summed one by one."""
FAR = 1e4
NEAR = 0.05
SHIFT = 6.0
"""Stirling's formula is accurate from here on."""
BASE = 0.9367973043891066
"""16 / (2 pi e)."""
LARGEST = 300.0
BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330,
    854513 / 138, -236364091 / 2730,
)  # fmt: skip


def _hurwitz(x: Array, q: Array) -> Array:
    """The sum of (q + k)**-x, for q > 0 and x != 1, also where that is an analytic continuation.

    For large q its first term alone; at infinity the limit.
    """
    is_end = op.Or(op.Equal(x, math.inf), op.Equal(q, math.inf))
    is_far = op.Or(is_end, x > FAR)
    limit = op.Where(q < 1.0, math.inf, op.Where(op.Equal(q, 1.0), 1.0, 0.0))
    has_first = op.And(is_far, op.Not(is_end))
    far = op.Where(is_end, limit, op.Pow(op.Where(has_first, q, 1.0), -op.Where(has_first, x, 1.0)))
    return op.Where(is_far, far, _finite_hurwitz(op.Where(is_far, 2.0, x), op.Where(is_far, 1.0, q)))


def _finite_hurwitz(x: Array, q: Array) -> Array:
    total = op.Pow(q, -x)
    for k in range(1, DIRECT):
        total = total + op.Pow(q + float(k), -x)
    end = q + float(DIRECT)
    last = op.Pow(end, -x)
    total = total + last * (end / (x - 1.0) + 0.5)
    inverse = op.Reciprocal(end)
    factor = last * x * inverse
    for j, number in enumerate(BERNOULLI, start=1):
        total = total + factor * (number / math.factorial(2 * j))
        factor = factor * ((x + (2.0 * j - 1.0)) * (x + 2.0 * j)) * (inverse * inverse)
    return total


def _zeta(x: Array, q: Array) -> Array:
    inside = op.And(x > 1.0, q > 0.0)
    value = _hurwitz(op.Where(inside, x, 2.0), op.Where(inside, q, 1.0))
    is_pole = op.Or(op.Equal(x, 1.0), op.And(x > 1.0, op.And(q <= 0.0, op.Equal(op.Floor(q), q))))
    at_pole = with_end(x - 1.0, math.inf, with_end(q - op.Floor(q), math.inf, math.inf))
    return op.Where(inside, value, op.Where(is_pole, at_pole, math.nan))


@elementwise("_zeta")
def zeta(x: Array, q: Array) -> Array:
    """Hurwitz's zeta function, for x > 1 and q > 0; infinite at x = 1, and NaN elsewhere."""
    return in_float64(_zeta)(x, q)


def _riemann(x: Array) -> Array:
    """By reflection below 0, except near 0, where 1 - x would round x away."""
    is_left, is_pole = x < -NEAR, op.Equal(x, 1.0)
    s = op.Where(is_left, 1.0 - x, op.Where(is_pole, 2.0, x))
    value = _hurwitz(s, op.Where(op.IsNaN(x), x, 1.0))
    bounded = op.Where(is_left, x, -1.0)
    first, second = _reflection(1.0 - bounded)
    reflected = first * (sin_pi(bounded * 0.5) * value * second)
    return with_end(x - 1.0, math.inf, op.Where(is_left, reflected, value))


def _reflection(s: Array) -> tuple[Array, Array]:
    """Two factors of 2 (2 pi)**-s gamma(s) for s > 1: gamma alone overflows from 172 on.

    Stirling's formula, for small s at s + SHIFT. Beyond LARGEST the product is too large for a float.
    """
    is_small = s < SHIFT
    t = op.Clip(op.Where(is_small, s + SHIFT, s), None, LARGEST)
    inverse = op.Reciprocal(t)
    half = op.Pow(t * (1.0 / 16.0), t * 0.5) * op.Pow(np.asarray(BASE), t * 0.5)
    steps = functools.reduce(op.Mul, (s + float(k) for k in range(1, round(SHIFT))), s)
    factor = op.Where(is_small, (2 * math.pi) ** SHIFT / steps, 1.0) * (2 * math.sqrt(2 * math.pi))
    return half, half * op.Exp(FITS["STIRLING"](inverse * inverse) * inverse) * op.Sqrt(inverse) * factor


@elementwise("_riemann_zeta")
def riemann_zeta(x: Array) -> Array:
    """Riemann's zeta function of real numbers; infinite at 1."""
    return error_function.in_float64(x, _riemann)


# Lambert's W.

STEPS = 5
"""Halley steps; each triples the number of accurate digits."""


def _start(x: Array, *, lower: bool) -> Array:
    """A start value: near the branch point a series in a root, else logarithms.

    For the principal branch near 0, x itself.
    """
    root = op.Sqrt(op.Clip(2.0 * (math.e * x + 1.0), 0.0, None))
    root = -root if lower else root
    branch = -1.0 + root * (1.0 + root * (-1 / 3 + root * (11 / 72)))
    if lower:
        logarithm = op.Log(op.Clip(-x, None, 0.2))
        return op.Where(x < -0.2, branch, logarithm - op.Log(-logarithm))
    logarithm = op.Log(op.Clip(x, 3.0, None))
    far = logarithm - op.Log(logarithm)
    near = x / (1.0 + op.Clip(x, -0.5, None))
    return op.Where(x < -0.2, branch, op.Where(x > 3.0, far, near))


def _lambert(x: Array, *, lower: bool) -> Array:
    is_inside = op.And(x >= -math.exp(-1.0), op.And(x < (0.0 if lower else math.inf), op.Not(op.IsNaN(x))))
    safe = op.Where(is_inside, x, -0.25 if lower else 1.0)
    w = _start(safe, lower=lower)
    for _ in range(STEPS):
        power = op.Exp(w)
        rest = w - safe / power
        next_to = w + 1.0
        is_branch = op.Abs(next_to) < 1e-8
        change = rest / (next_to - (w + 2.0) * rest / (2.0 * op.Where(is_branch, 1.0, next_to)))
        w = w - op.Where(is_branch, 0.0, change)
    at_end = op.Where(op.Equal(x, 0.0 if lower else math.inf), -math.inf if lower else math.inf, np.asarray(math.nan))
    return op.Where(is_inside, w, at_end)


def _branch(name: str, *, lower: bool) -> Any:
    def body(x: Array) -> Array:
        return error_function.in_float64(x, lambda wide: _lambert(wide, lower=lower))

    return unit(name, body, lambda dz, x, z: dz / (x + op.Exp(z)))


lambert_principal = lost_at_nan(_branch("lambertw", lower=False))
"""W of x >= -1/e, at least -1."""
lambert_lower = lost_at_nan(_branch("lambertw_lower", lower=True))
"""W of -1/e <= x < 0, at most -1."""
