"""Coefficients of Bessel functions of one order, computed in NumPy when the order is known.

NIST Digital Library of Mathematical Functions (DLMF), chapter 10; N. M. Temme, On the numerical evaluation of the
ordinary Bessel function of the second kind, J. Comput. Phys. 21 (1976) 343-350.

Laplace's integral is computed by quadrature, and fitted by a Chebyshev interpolant of `TERMS` terms. Whole and
fractional orders share this code. A program stores an order as two whole numbers, because a float would be an array.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit.numpy.approximations.rational import horner
from primsplit.tracing.array import Array

Numbers = np.ndarray[Any, np.dtype[Any]]
TERMS = 32
"""Terms of a fit: the next one is below 1e-16 of the first."""
SECOND_FROM = 1.0
"""The least argument for which the fits for K hold."""
HANKEL_FROM = 3.0
"""The least argument for which the fits for J and Y hold."""
SMALLEST = 1e-20
"""The smallest term that a power series keeps, relative to its first term."""


@dataclass(frozen=True)
class Fit:
    """A polynomial on [0, high], as coefficients of powers of a number between -1 and 1."""

    coefficients: tuple[float, ...]
    high: float

    def __call__(self, x: Array) -> Array:
        """The value at x."""
        return horner(self.coefficients, x * (2.0 / self.high) - 1.0)


def fitted(function: Callable[[Numbers], Numbers], high: float) -> Fit:
    """The interpolant at the Chebyshev points.

    It is written out here, because in a second run NumPy's own polynomials are replaced by traced ones.
    """
    turns = np.outer(2 * np.arange(TERMS) + 1, np.arange(TERMS)) % (4 * TERMS)  # whole, so that no angle is rounded
    cosines = np.cos(turns * (np.pi / (2 * TERMS)))
    sums = function((cosines[:, 1] + 1.0) * (high / 2)) @ cosines * (2 / TERMS)
    sums[0] /= 2
    last, polynomial = np.zeros(TERMS), np.eye(1, TERMS)[0]
    found = sums[0] * polynomial
    for k in range(1, TERMS):
        factor = 1 if k == 1 else 2
        last, polynomial = polynomial, factor * np.roll(polynomial, 1) - last
        found = found + sums[k] * polynomial
    return Fit(tuple(map(float, found)), high)


def _laplace(order: float, scale: Numbers) -> Numbers:
    """The integral of exp(-t) t**(v - 1/2) (1 + scale t)**(v - 1/2) over that for scale 0, for v > -1/2.

    The trapezoidal rule for t = exp(u - exp(-u)).
    """
    u = np.arange(-88, 90) / 20
    t = np.exp(u - np.exp(-u))
    weights = np.exp(-t) * t ** (order - 0.5) * t * (1.0 + np.exp(-u))
    found: Numbers = (1.0 + np.multiply.outer(scale, t)) ** (order - 0.5) @ weights / weights.sum()
    return found


@functools.cache
def second_tail(order: float) -> Fit:
    """exp(x) sqrt(2 x / pi) K(x) in 1 / x, for x >= SECOND_FROM; DLMF 10.32.8."""
    return fitted(lambda inverse: _laplace(abs(order), inverse / 2).real, 1 / SECOND_FROM)


@functools.cache
def hankel_tails(order: float) -> tuple[Fit, Fit]:
    """The factors of the cosine and, times x, of the sine in sqrt(pi x / 2) J(x), in 1 / x**2, for x >= HANKEL_FROM.

    K of DLMF 10.32.8 turned to the imaginary axis, 10.27.8.
    """

    def factor(square: Numbers) -> Numbers:
        return _laplace(abs(order), np.sqrt(square) * 0.5j)

    high = HANKEL_FROM**-2
    return fitted(lambda v: factor(v).real, high), fitted(lambda v: factor(v).imag / np.sqrt(v), high)


@functools.cache
def turned_tail(order: float, turn: float, start: float) -> tuple[Fit, Fit]:
    """The parts of exp(z) sqrt(2 z / pi) K(z) in 1 / x, for z = x exp(i pi turn) with |turn| < 1, and x >= start."""

    def tail(inverse: Numbers) -> Numbers:
        return _laplace(order, inverse * (0.5 * np.exp(-1j * np.pi * turn)))

    return fitted(lambda v: tail(v).real, 1 / start), fitted(lambda v: tail(v).imag, 1 / start)


@functools.cache
def first_tail(order: float, start: float) -> Fit:
    """exp(v**2 / (2 x) - x) sqrt(x) I(x) in 1 / x, for x >= start; v >= 0. DLMF 10.32.2, by tanh-sinh quadrature."""
    u = np.arange(-640, 641) / 128
    below, above = (1.0 / (1.0 + np.exp(side * np.pi * np.sinh(u))) for side in (-1.0, 1.0))
    weights = below * above ** (order + 0.5) * np.cosh(u) * (np.pi / 128)

    def scaled(inverse: Numbers) -> Numbers:
        whole = 2.0 / inverse[:, None]
        t = whole * below
        sums = np.sum(np.exp(-t) * t ** (order - 0.5) * whole * weights, axis=1)
        found: Numbers = sums * np.exp(order**2 / 2 * inverse) / (math.gamma(order + 0.5) * math.sqrt(2 * math.pi))
        return found

    return fitted(scaled, 1 / start)


def power_series(order: float, end: float, sign: float) -> tuple[float, ...]:
    """The coefficients of powers of x**2 / 4 in gamma(v + 1) (2 / x)**v times J or I (DLMF 10.2.2), for x <= end."""
    found, size = [1.0], 1.0
    while abs(size) > SMALLEST or len(found) < 2:
        k = len(found)
        found.append(found[-1] * sign / (k * (k + order)))
        size = found[-1] * (end * end / 4) ** k
    return tuple(found)


RECIPROCAL_GAMMA = (
    1.0, 0.5772156649015329, -0.6558780715202539, -0.04200263503409524, 0.16653861138229148, -0.04219773455554433,
    -0.009621971527876973, 0.0072189432466631, -0.0011651675918590652, -0.00021524167411495098, 0.0001280502823881162,
    -2.013485478078824e-05, -1.2504934821426706e-06, 1.133027231981696e-06, -2.056338416977607e-07,
    6.116095104481416e-09, 5.002007644469223e-09, -1.18127457048702e-09, 1.0434267116911005e-10, 7.782263439905071e-12,
    -3.696805618642206e-12, 5.100370287454476e-13,
)  # fmt: skip
"""The power series of 1 / gamma(1 + z); DLMF 5.7.1."""


def gamma_halves(order: float) -> tuple[float, float]:
    """The difference of 1 / gamma(1 - v) and 1 / gamma(1 + v) over 2 v, and half of their sum, for |v| <= 1/2."""
    square = order * order
    odd, even = RECIPROCAL_GAMMA[1::2], RECIPROCAL_GAMMA[::2]
    return -sum(c * square**k for k, c in enumerate(odd)), sum(c * square**k for k, c in enumerate(even))


Sums = tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]
"""Coefficients, in powers of x**2 / 4, of the factors of Temme's first f, p and q."""


@functools.cache
def temme_sums(order: float, end: float, *, oscillating: bool) -> tuple[Sums, Sums]:
    """K of an order in [-1/2, 1/2], and x / 2 times K of the next, for x <= end; for Y, -pi / 2 times these.

    Temme's recurrences for f, p and q are linear in their initial values.
    """
    sign = -1.0 if oscillating else 1.0
    extra = 2.0 / order * math.sin(order * math.pi / 2) ** 2 if oscillating and order else 0.0
    f, p, q, scale = (1.0, 0.0, 0.0), 1.0, 1.0, 1.0
    values: list[tuple[float, ...]] = []
    nexts: list[tuple[float, ...]] = []
    k = 0
    while k < 3 or max(abs(scale), abs(p * scale), abs(q * scale)) * (end * end / 4) ** k > SMALLEST:
        g = (f[0], f[1], f[2] + extra * q)
        values.append(tuple(c * scale for c in g))
        nexts.append((-k * g[0] * scale, (p - k * g[1]) * scale, -k * g[2] * scale))
        k += 1
        divisor = k * k - order * order
        f = (k * f[0] / divisor, (k * f[1] + p) / divisor, (k * f[2] + q) / divisor)
        p, q, scale = p / (k - order), q / (k + order), scale * sign / k
    return _columns(values), _columns(nexts)


def _columns(rows: list[tuple[float, ...]]) -> Sums:
    first, second, third = zip(*rows, strict=True)
    return first, second, third
