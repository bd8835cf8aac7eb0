"""The modified Bessel functions I0 and I1.

Everything is written with g_n(x) = I_n(x) / x**n, which is even, smooth at 0, and has the derivative x g_(n+1)(x)
(NIST Digital Library of Mathematical Functions, 10.29.4). So derivatives of any order are exact at 0 too.
"""

import math
from typing import Any

import numpy as np

from primsplit.array import Array, implements
from primsplit.calls.primitive import Function, primitive, rrule
from primsplit.numpy.axes import array_like
from primsplit.numpy.ufuncs import cast_to, elementwise
from primsplit.ops import op
from primsplit.passes.compositions.coefficients import BESSEL_I0_TAIL, BESSEL_I1_TAIL
from primsplit.passes.compositions.error_function import in_float64
from primsplit.passes.compositions.rational import horner

NEAR = 8.0
TERMS = 26
"""At |x| = 8 the next term of the power series is below 1e-22 of the sum."""
OVERFLOWN = 1000.0
"""I0 is infinite from here on, in float64."""


@primitive
def bessel_quotient(x: Array, order: int) -> Array:
    """I_order(x) / x**order. Error of order 0 and 1 below 5 units in the last place."""
    return in_float64(x, lambda wide: _quotient(op.Abs(wide), order))


@rrule(bessel_quotient)
def _bessel_quotient_rule(x: Array, order: int) -> tuple[Array, Function]:
    """The next order, times x."""
    return bessel_quotient(x, order), lambda dz: (dz * (x * bessel_quotient(x, order + 1)), None)


def _quotient(size: Array, order: int) -> Array:
    return op.Where(size > NEAR, _far(op.Max(size, NEAR), order), _near(size, order))


def _near(x: Array, order: int) -> Array:
    """The power series (10.25.2), whose terms are all positive."""
    terms = [2.0**-order / (math.factorial(k) * math.factorial(k + order)) for k in range(TERMS)]
    return horner(terms, x * x * 0.25)


def _far(x: Array, order: int) -> Array:
    """Fits of orders 0 and 1, and the recurrence (10.29.1) upwards.

    The exponential is taken in two halves: alone it would overflow before the result does.
    """
    finite = op.Where(x > OVERFLOWN, OVERFLOWN, x)
    inverse = op.Reciprocal(finite)
    root = op.Sqrt(inverse)
    last, found = BESSEL_I0_TAIL(inverse) * root, BESSEL_I1_TAIL(inverse) * (root * inverse)
    for n in range(1, order):
        last, found = found, (last - found * (2.0 * n)) * (inverse * inverse)
    half = op.Exp(finite * 0.5)
    return half * (last if order == 0 else found) * half


@elementwise("i0")
def i0(x: Array) -> Array:
    """The modified Bessel function of order 0; its derivative is I1."""
    found: Array = bessel_quotient(x, 0)
    return found


@elementwise("i1")
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
