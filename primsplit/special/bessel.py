"""The Bessel functions J0 and J1, and the modified ones I0 and I1, also scaled.

Everything is written with g_n(x) = I_n(x) / x**n, which is even, smooth at 0, and has the derivative x g_(n+1)(x) (NIST
Digital Library of Mathematical Functions, 10.29.4), and with J_n(x) / x**n, whose derivative has the other sign
(10.6.6). Derivatives of any order are therefore exact at 0 too.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.numpy.approximations.coefficients import FITS
from primsplit.numpy.approximations.error_function import in_float64
from primsplit.numpy.approximations.rational import Rational, horner
from primsplit.numpy.axes import array_like
from primsplit.numpy.ufuncs import cast_to, elementwise
from primsplit.ops import op
from primsplit.tracing.array import Array, implements
from primsplit.tracing.calls.primitive import Function, primitive, rrule

BESSEL_J_ZEROS = (
    ((2.404825557695773, -1.176691651530894e-16), (5.520078110286311, 8.088597146146722e-17)),
    ((3.8317059702075125, -1.5269184090088067e-16), (7.015586669815619, -9.414165653410389e-17)),
)
"""The first two positive zeros of J0 and of J1, each in two parts."""
NEAR = 8.0
TERMS = 26
"""At |x| = 8 the next term of the power series is below 1e-22 of the sum."""
LARGEST = 10**300
OVERFLOWN = 1000.0
"""I0 is infinite from here on, in float64."""
SMALL = 3.0
"""Below it, or below n, J_n is summed for n > 1; above, it is computed from J0 and J1."""
WIDER = 3.0
"""Up to so many times n, where the recurrence upwards would lose digits, I_n is summed."""


@primitive
def bessel_quotient(x: Array, order: int) -> Array:
    """I_order(x) / x**order. The error of orders 0 and 1 is below 5 units in the last place."""
    return in_float64(x, lambda wide: _quotient(op.Abs(wide), order))


@rrule(bessel_quotient)
def _bessel_quotient_rule(x: Array, order: int) -> tuple[Array, Function]:
    """The next order, times x."""
    return bessel_quotient(x, order), lambda dz: (dz * (x * bessel_quotient(x, order + 1)), None)


def _quotient(size: Array, order: int) -> Array:
    end = max(NEAR, WIDER * order)
    near = _near(size, order, TERMS + round(2 * (end - NEAR)))
    return op.Where(size > end, _far(op.Clip(size, end, None), order), near)


def _near(x: Array, order: int, count: int) -> Array:
    """The power series (10.25.2), whose terms are all positive."""
    return horner(_series(order, count, 1.0), x * x * 0.25)


def _series(order: int, count: int, sign: float) -> list[float]:
    """The coefficients of powers of x**2 / 4, as far as they are no less than the smallest numbers."""
    products = ((k, math.factorial(k) * math.factorial(k + order)) for k in range(count))
    return [sign**k * 2.0**-order / product for k, product in products if product < LARGEST]


def _far(x: Array, order: int) -> Array:
    """Fits for orders 0 and 1, and the recurrence (10.29.1) upwards.

    The exponential is applied in two halves: in one step it would overflow before the result does.
    """
    finite = op.Where(x > OVERFLOWN, OVERFLOWN, x)
    inverse = op.Reciprocal(finite)
    root = op.Sqrt(inverse)
    last, found = FITS["BESSEL_I0_TAIL"](inverse) * root, FITS["BESSEL_I1_TAIL"](inverse) * (root * inverse)
    for n in range(1, order):
        last, found = found, (last - found * (2.0 * n)) * (inverse * inverse)
    half = op.Exp(finite * 0.5)
    return half * (last if order == 0 else found) * half


@elementwise("i0", is_total=True)
def i0(x: Array) -> Array:
    """The modified Bessel function of order 0; its derivative is I1."""
    found: Array = bessel_quotient(x, 0)
    return found


@elementwise("i1", is_total=True)
def i1(x: Array) -> Array:
    """The modified Bessel function of order 1."""
    quotient: Array = bessel_quotient(x, 1)
    return x * quotient


@implements(np.i0)
def i0_of(x: Any) -> Array:
    """np.i0; integers become float64."""
    given = array_like(x)
    found: Array = i0(given if given.type.is_float else cast_to(given, np.float64))
    return found


@elementwise("i0e", is_total=True)
def i0e(x: Array) -> Array:
    """exp(-|x|) I0(x). At 0, where it has a kink, the derivative is 0."""
    return in_float64(x, lambda wide: _scaled(wide, lambda near: bessel_quotient(near, 0), FITS["BESSEL_I0_TAIL"]))


@elementwise("i1e", is_total=True)
def i1e(x: Array) -> Array:
    """exp(-|x|) I1(x)."""

    def signed(wide: Array) -> Array:
        tail = _scaled(wide, lambda near: near * bessel_quotient(near, 1), FITS["BESSEL_I1_TAIL"])
        return op.Where(wide < -NEAR, -tail, tail)

    return in_float64(x, signed)


def _scaled(x: Array, function: Callable[[Array], Array], tail: Rational) -> Array:
    """exp(-|x|) times the function near 0, else the fit, whose own derivative cancels nothing."""
    size = op.Abs(x)
    is_far = size > NEAR
    inside = op.Where(is_far, 0.0, x)
    inverse = op.Reciprocal(op.Where(is_far, size, NEAR))
    return op.Where(is_far, tail(inverse) * op.Sqrt(inverse), op.Exp(-op.Abs(inside)) * function(inside))


@primitive
def oscillating_quotient(x: Array, order: int) -> Array:
    """J_order(x) / x**order.

    Orders 0 and 1 are accurate to 1e-15, and up to |x| = 8 to a few units in the last place.
    """
    return in_float64(x, lambda wide: _oscillating(op.Abs(wide), order))


@rrule(oscillating_quotient)
def _oscillating_quotient_rule(x: Array, order: int) -> tuple[Array, Function]:
    """The next order, times -x."""
    return oscillating_quotient(x, order), lambda dz: (-dz * (x * oscillating_quotient(x, order + 1)), None)


def _oscillating(size: Array, order: int) -> Array:
    """Fits for orders 0 and 1.

    Higher orders by the recurrence (10.6.1) upwards, and near 0 by the power series (10.2.2).
    """
    is_far = size > NEAR
    near, far = op.Clip(size, None, NEAR), op.Where(is_far, size, NEAR)
    last, found = (op.Where(is_far, _wave(far, n), _between_zeros(near, n)) for n in (0, 1))
    if order < 2:
        return last if order == 0 else found
    end = max(SMALL, float(order))
    inverse = op.Reciprocal(op.Where(size > end, size, end))
    for n in range(1, order):
        last, found = found, (found * (2.0 * n) - last) * (inverse * inverse)
    small = op.Clip(size, None, end)
    found = op.Where(size > end, found, horner(_series(order, TERMS + 2 * order, -1.0), small * small * 0.25))
    return op.Where(op.IsNaN(size), size, found)


def _between_zeros(x: Array, order: int) -> Array:
    """J_order(x) / x**order for |x| up to 8, with the zeros as factors."""
    found = FITS["BESSEL_J1" if order else "BESSEL_J0"](x * x)
    for high, low in BESSEL_J_ZEROS[order]:
        found = found * ((x - high - low) * (x + high))
    return found


def _wave(x: Array, order: int) -> Array:
    """J_order(x) / x**order from x = 8 on, by Hankel's form (10.17.3); the phase is in two parts, so not rounded."""
    inverse = op.Reciprocal(x)
    square = inverse * inverse
    cosine, sine = op.Cos(x), op.Sin(x)
    even, odd = cosine + sine, sine - cosine
    if order == 0:
        found = FITS["BESSEL_J0_P"](square) * even - FITS["BESSEL_J0_Q"](square) * inverse * odd
    else:
        found = (FITS["BESSEL_J1_P"](square) * odd + FITS["BESSEL_J1_Q"](square) * inverse * even) * inverse
    return found * (op.Sqrt(inverse) * math.sqrt(1 / math.pi))


@elementwise("j0", is_total=True)
def j0(x: Array) -> Array:
    """The Bessel function of order 0; its derivative is -J1."""
    found: Array = oscillating_quotient(x, 0)
    return found


@elementwise("j1", is_total=True)
def j1(x: Array) -> Array:
    """The Bessel function of order 1."""
    quotient: Array = oscillating_quotient(x, 1)
    return x * quotient
