"""The Faddeeva function on the upper half plane, the function of convolved Gaussians and Lorentzians.

J. A. C. Weideman, Computation of the Complex Error Function, SIAM J. Numer. Anal. 31 (1994), with 48 terms: a
polynomial of a Moebius transform of z, whose coefficients are a Fourier transform. All its steps are differentiated.
"""

import math

import numpy as np

from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.calls.primitive import stop_gradient

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


def faddeeva(x: Array, y: Array) -> tuple[Array, Array]:
    """The parts of w(x + i y) = exp(-z**2) erfc(-i z) for y >= 0, accurate to 2e-15 of |w|; 0 at infinity.

    x and y are float64 arrays of one shape.
    """
    is_far = op.Equal(op.Max(op.Abs(x), y), math.inf)
    x, y = (op.Where(is_far, 0.0, part) for part in (x, y))
    scale = stop_gradient(op.Reciprocal(op.Max(op.Abs(x), SCALE + y)))  # so that squares do not overflow
    below, side = (SCALE + y) * scale, x * scale
    over = scale / (below * below + side * side)
    u, v = below * over, side * over  # 1 / (L - i z)
    above, side = SCALE - y, x
    real, imag = above * u - side * v, above * v + side * u  # Z = (L + i z) / (L - i z)
    a, b = real * 0.0 + COEFFICIENTS[0], imag * 0.0
    for c in COEFFICIENTS[1:]:
        a, b = a * real - b * imag + c, a * imag + b * real
    square, cross = u * u - v * v, 2.0 * (u * v)
    over_root = 1.0 / math.sqrt(math.pi)
    first, second = 2.0 * (a * square - b * cross) + u * over_root, 2.0 * (a * cross + b * square) + v * over_root
    return op.Where(is_far, 0.0, first), op.Where(is_far, 0.0, second)
