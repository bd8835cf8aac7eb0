"""The Voigt profile, a Gaussian and a Lorentzian folded, by the Faddeeva function on the upper half plane.

J. A. C. Weideman, Computation of the Complex Error Function, SIAM J. Numer. Anal. 31 (1994), with 48 terms: a
polynomial of a Moebius transform of z, whose coefficients are a Fourier transform. All its steps are differentiated.
"""

import math

import numpy as np

from primsplit.array import Array
from primsplit.numpy.special.incomplete import in_float64
from primsplit.numpy.ufuncs import elementwise
from primsplit.ops import op

TERMS = 48
SCALE = math.sqrt(TERMS / math.sqrt(2.0))


def _coefficients() -> list[float]:
    """The coefficients of the polynomial, the highest power first."""
    half = 2 * TERMS
    t = SCALE * np.tan(np.arange(1 - half, half) * (math.pi / (2 * half)))
    samples = np.concatenate([[0.0], np.exp(-t * t) * (SCALE**2 + t * t)])
    found = np.fft.fft(np.fft.fftshift(samples)).real / (2 * half)
    return [float(c) for c in found[TERMS:0:-1]]


COEFFICIENTS = _coefficients()


def faddeeva_real(x: Array, y: Array) -> Array:
    """The real part of w(x + i y) = exp(-z**2) erfc(-i z), y >= 0, to 1e-14 of |w|."""
    below, side = SCALE + y, x
    over = op.Reciprocal(below * below + side * side)
    u, v = below * over, side * over  # 1 / (L - i z)
    above = SCALE - y
    real, imag = above * u - side * v, above * v + side * u  # Z = (L + i z) / (L - i z)
    a, b = real * 0.0 + COEFFICIENTS[0], imag * 0.0
    for c in COEFFICIENTS[1:]:
        a, b = a * real - b * imag + c, a * imag + b * real
    square, cross = u * u - v * v, 2.0 * (u * v)
    return 2.0 * (a * square - b * cross) + u * (1.0 / math.sqrt(math.pi))


def _profile(x: Array, sigma: Array, gamma: Array) -> Array:
    has_width = sigma > 0.0
    scale = op.Where(has_width, sigma, 1.0) * math.sqrt(2.0)
    folded = faddeeva_real(x / scale, gamma / scale) / (scale * math.sqrt(math.pi))
    safe = op.Where(has_width, 1.0, x * x + gamma * gamma)
    return op.Where(has_width, folded, gamma / (safe * math.pi))


@elementwise("voigt_profile")
def voigt_profile(x: Array, sigma: Array, gamma: Array) -> Array:
    """The density of a normal and a Cauchy number's sum, to 1e-14 of its peak where sigma is above 0."""
    return in_float64(_profile)(x, sigma, gamma)
