"""The error function and the normal distribution, computed in float64; a float32 argument is widened and rounded back.

Two fits serve all: erf(x) / x near 0, and (1 + 2 x) exp(x**2) erfc(x) elsewhere, a smooth function of
t = (x - k) / (x + k) on all of x >= 0 (M. Shepherd and J. Laframboise, Math. Comp. 36 (1981) 249-253). The Gaussian
factor is taken of a rounded argument first, as the relative error of exp(-x**2) is x**2 times that of x**2
(W. J. Cody, Math. Comp. 23 (1969) 631-637). Coefficients: tools/fit_approximations.py.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.numpy.approximations.coefficients import FITS
from primsplit.numpy.approximations.exponential import log1p
from primsplit.numpy.approximations.signs import odd
from primsplit.ops import op
from primsplit.tracing.array import Array

ERFCX_SCALE = 4.0
NEAR = 0.5
ROOT_HALF = math.sqrt(0.5)
# A multiple of 2**-20 below 2**6 has an exact square.
GRAIN = 2.0**20
CENTRE_OF_ERFINV = 6.0
TAIL_OF_ERFINV = 6.1
"""The square root of w from which on, of numbers near 0, the far fit counts."""


def in_float64(x: Array, function: Callable[[Array], Array]) -> Array:
    """A function of a float64 array, of any float array."""
    if x.dtype == np.float64:
        return function(x)
    return op.Cast(function(op.Cast(x, to=np.float64)), to=x.dtype)


def erf(x: Array) -> Array:
    """The error function; float32 has onnxruntime's own. Error 1.5 ulp."""
    return in_float64(x, _erf) if x.dtype == np.float64 else op.Erf(x)


def erfc(x: Array) -> Array:
    """1 - erf(x), relatively accurate in the right tail down to the smallest float. Error 3.1 ulp."""
    return in_float64(x, _erfc)


def erfcx(x: Array) -> Array:
    """exp(x**2) erfc(x), for x >= 0 without underflow. Error 3.1 ulp."""
    return in_float64(x, _erfcx)


def ndtr(x: Array) -> Array:
    """The normal distribution function, relatively accurate in the left tail. Error 3.8 ulp."""
    return in_float64(x, _ndtr)


def log_ndtr(x: Array) -> Array:
    """log(ndtr(x)), relatively accurate in both tails. Error 5 ulp."""
    return in_float64(x, _log_ndtr)


def erfinv(y: Array) -> Array:
    """The inverse of erf: y F(w) for w = -log(1 - y**2) below 6, sqrt(w) G(sqrt(w)) above. NaN outside [-1, 1].

    The choice of w is M. Giles's (Approximating the erfinv function, GPU Computing Gems Jade, 2012). Error 4.6 ulp.
    """
    return in_float64(y, _erfinv)


def erfcinv(x: Array) -> Array:
    """The inverse of erfc, relatively accurate down to the smallest float. NaN outside [0, 2]. Error 5 ulp."""
    return in_float64(x, _erfcinv)


def ndtri(p: Array) -> Array:
    """The inverse of ndtr, relatively accurate in the left tail. NaN outside [0, 1]. Error 6 ulp."""
    return in_float64(p, lambda wide: _erfcinv(wide * 2.0) * -math.sqrt(2.0))


def _erf(x: Array) -> Array:
    a = op.Abs(x)
    return op.Where(a >= NEAR, odd(x, 1.0 - _erfc_of_positive(a)), _erf_near(x))


def _erfc(x: Array) -> Array:
    a = op.Abs(x)
    far = _erfc_of_positive(a)
    return op.Where(a < NEAR, 1.0 - _erf_near(x), op.Where(x < 0.0, 2.0 - far, far))


def _erfcx(x: Array) -> Array:
    a = op.Abs(x)
    square, correction = exact_square(a)
    growth = op.Exp(square) * op.Exp(correction)
    right = _erfcx_of_positive(a)
    far = op.Where(x < 0.0, 2.0 * growth - right, right)
    return op.Where(a < NEAR, growth * (1.0 - _erf_near(x)), far)


def _ndtr(x: Array) -> Array:
    a = op.Abs(x)
    z = a * ROOT_HALF
    square, correction = exact_square(a)
    tail = op.Exp(square * -0.5) * op.Exp(correction * -0.5) * (_erfcx_of_positive(z) * 0.5)
    near = 0.5 + 0.5 * _erf_near(x * ROOT_HALF)
    return op.Where(z < NEAR, near, op.Where(x < 0.0, tail, 1.0 - tail))


def _log_ndtr(x: Array) -> Array:
    z = op.Abs(x) * ROOT_HALF
    left = op.Log(_erfcx_of_positive(z) * 0.5) - 0.5 * x * x
    return op.Where(x < -1.0, left, log1p(-_ndtr(-x)))


def _erfinv(y: Array) -> Array:
    w = -op.Log((1.0 - y) * (1.0 + y))
    s = op.Sqrt(w)
    tail = op.Where(op.Equal(op.Abs(y), 1.0), math.inf, s * FITS["ERFINV_TAIL"](s))
    return op.Where(w >= CENTRE_OF_ERFINV, odd(y, tail), y * FITS["ERFINV_CENTRE"](w))


def _erfcinv(x: Array) -> Array:
    """By w = -log(x (2 - x)), as erfinv."""
    y = 1.0 - x
    product = x * (2.0 - x)
    w = -op.Log(product)
    s = op.Sqrt(op.Max(w, CENTRE_OF_ERFINV))
    tail = s * op.Where(s > TAIL_OF_ERFINV, FITS["ERFINV_FAR"](s), FITS["ERFINV_TAIL"](op.Min(s, TAIL_OF_ERFINV)))
    tail = op.Where(op.Equal(product, 0.0), math.inf, tail)
    return op.Where(w >= CENTRE_OF_ERFINV, odd(y, tail), y * FITS["ERFINV_CENTRE"](w))


def _erf_near(x: Array) -> Array:
    """erf for |x| < 1/2."""
    return x * FITS["ERF"](x * x)


def _erfc_of_positive(a: Array) -> Array:
    square, correction = exact_square(a)
    return op.Exp(-square) * op.Exp(-correction) * _erfcx_of_positive(a)


def _erfcx_of_positive(a: Array) -> Array:
    """exp(a**2) erfc(a) for a >= 1/2, infinity too."""
    t = 1.0 - 2.0 * ERFCX_SCALE / (a + ERFCX_SCALE)
    return 0.5 * FITS["ERFCX"](t) / (a + 0.5)


def exact_square(a: Array) -> tuple[Array, Array]:
    """a**2 as an exact number and a small one; beyond 40, where exp(-a**2) is 0, some large number."""
    bounded = op.Clip(a, 0.0, 40.0)
    rounded = op.Floor(bounded * GRAIN) * (1.0 / GRAIN)
    return rounded * rounded, (bounded - rounded) * (bounded + rounded)


COMPOSITIONS: dict[str, Callable[..., Any]] = {"Erf": erf}
