"""The gamma function of complex numbers, its logarithm, and digamma.

Stirling's series is used far from the negative axis. Nearer to 0 the recurrence leads there, on the left reflection
comes first, and around 1 and 2, where the logarithm is 0, Taylor series are used. D. E. G. Hare, Computing the
principal branch of log-Gamma, J. Algorithms 25 (1997).
"""

import math
from typing import Any

import numpy as np

from primsplit.numpy.approximations.signs import is_negative
from primsplit.special.complex_error_functions import in_complex128

REACH = 7
"""Stirling's series is accurate to the right of this, or this far above or below the real axis."""
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
EULER = 0.57721566490153286061


def _zeta(s: float) -> float:
    """Riemann's zeta function, by Euler-Maclaurin summation."""
    n, count = 200.0, range(1, 200)
    rest = n ** (1 - s) / (s - 1) + 0.5 * n**-s + s * n ** (-s - 1) / 12 - s * (s + 1) * (s + 2) * n ** (-s - 3) / 720
    return float(math.fsum(float(k) ** -s for k in count) + rest)


TAYLOR = [0.0, -EULER, *((-1.0) ** k * _zeta(k) / k for k in range(2, 26))]
"""The logarithm of gamma(1 + u) in powers of u, for |u| up to 0.2."""


class _Regions:
    """The region of each number, and the number on the right from which its function is computed."""

    def __init__(self, z: Any) -> None:
        self.is_far = (z.real > REACH) | (np.abs(z.imag) > REACH)
        self.is_left = ~self.is_far & (z.real < 0.1)
        self.right = np.where(self.is_left, 1 - z, z)
        self.shifted = np.where(self.is_far, self.right, self.right + REACH)
        self.base = np.where(self.is_far, 1, self.right)
        self.is_pole = self.is_left & (z.imag == 0) & (z.real == np.floor(z.real))


def _wave(z: Any) -> tuple[Any, Any]:
    """The sine and cosine of pi z. The cosine of a real half is 0, not -0, which would lie beyond a cut."""
    turn = math.pi * (z.real - 2 * np.round(z.real * 0.5))
    away = math.pi * z.imag
    sine, cosine = np.sin(turn), np.sin(0.5 * math.pi - np.abs(turn))
    wide, steep = np.cosh(away), np.sinh(away)
    return sine * wide + 1j * (cosine * steep), cosine * wide - 1j * (sine * steep)


def _stirling(z: Any) -> Any:
    inverse = 1 / z
    square = inverse * inverse
    terms = [b / (2 * k * (2 * k - 1)) for k, b in enumerate(BERNOULLI, 1)]
    return (z - 0.5) * np.log(z) - z + 0.5 * math.log(2 * math.pi) + inverse * np.polyval(terms[::-1], square)


def _on_the_right(at: _Regions) -> Any:
    """The logarithm for numbers that are not on the left.

    The product of two numbers on the right does not cross the cut.
    """
    v = at.base
    logs = np.log(v * (v + 1)) + np.log((v + 2) * (v + 3)) + np.log((v + 4) * (v + 5)) + np.log(v + 6)
    found = _stirling(at.shifted) - np.where(at.is_far, 0, logs)
    near = [np.abs(v - c) < 0.2 for c in (1, 2)]
    is_one, is_two = (n & ~at.is_far for n in near)
    u = np.where(is_one, v - 1, np.where(is_two, v - 2, 0))
    return np.where(is_one | is_two, np.polyval(TAYLOR[::-1], u) + np.where(is_two, np.log1p(u), 0), found)


@in_complex128("loggamma")
def loggamma(z: Any) -> Any:
    """The principal branch, cut along the negative axis; NaN at the poles."""
    at = _Regions(z)
    found = _on_the_right(at)
    is_below = is_negative(z.imag)
    inside = np.where(at.is_left & ~at.is_pole, z, 0.5)
    sine, _ = _wave(np.where(is_below, np.conj(inside), inside))
    around = math.log(math.pi) + 1j * (2.0 * math.pi * np.floor(0.5 * z.real + 0.25)) - np.log(sine)
    reflected = np.where(is_below, np.conj(around), around) - found
    return np.where(at.is_pole, complex(np.nan, np.nan), np.where(at.is_left, reflected, found))


@in_complex128("gamma")
def gamma(z: Any) -> Any:
    """The exponential of the logarithm; NaN at the poles."""
    return np.exp(loggamma(z))


@in_complex128("rgamma")
def rgamma(z: Any) -> Any:
    """1 / gamma(z), which is 0 at the poles: on the left sin(pi z) gamma(1 - z) / pi."""
    at = _Regions(z)
    found = _on_the_right(at)
    around = _wave(np.where(at.is_left, z, 0.5))[0] / math.pi
    return np.where(at.is_left, around, 1) * np.exp(np.where(at.is_left, found, -found))


@in_complex128("psi")
def psi(z: Any) -> Any:
    """Digamma; NaN at the poles."""
    at = _Regions(z)
    inverse = 1 / at.shifted
    square = inverse * inverse
    terms = [b / (2 * k) for k, b in enumerate(BERNOULLI, 1)]
    found = np.log(at.shifted) - 0.5 * inverse - square * np.polyval(terms[::-1], square)
    steps: Any = sum(1 / (at.base + k) for k in range(REACH))
    found = found - np.where(at.is_far, 0, steps)
    sine, cosine = _wave(np.where(at.is_left & ~at.is_pole, z, 0.5))
    reflected = found - math.pi * cosine / sine
    return np.where(at.is_pole, complex(np.nan, np.nan), np.where(at.is_left, reflected, found))
