"""Error functions of complex numbers, by the Faddeeva function, and by series near 0; and x log(y).

Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.3, 7.1.5 and 7.1.8.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.numpy.complex.arithmetic import elementwise, multiply
from primsplit.numpy.complex.functions import log
from primsplit.numpy.complex.inverses import log1p
from primsplit.numpy.complex.operands import Pair, made
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.special.complex_functions import wofz

ROOT = math.sqrt(math.pi)
ERF = [(-1.0) ** n / (math.factorial(n) * (2 * n + 1)) for n in range(20)]
"""erf(z) sqrt(pi) / 2 z in powers of z**2, for |z| up to 1."""
DAWSON = [(-1.0) ** n * math.prod(2.0 / (2 * k + 1) for k in range(1, n + 1)) for n in range(24)]
"""Dawson's integral over z, likewise."""

Function = Callable[[Any], Any]


def in_complex128(*names: str) -> Callable[[Function], Function]:
    """Register the complex form of these ufuncs: a function of complex128 arrays, whose result is rounded back."""

    def register(function: Function) -> Function:
        @elementwise(*names)
        def of_parts(z: Pair) -> Pair:
            real, imag = z.whole()
            found = function(made(Pair(*(cast_to(p, np.float64) for p in (real, imag)))))
            return Pair(*(cast_to(p, real.dtype) for p in (found.real, found.imag)))

        return function

    return register


def _faddeeva(z: Any) -> Any:
    return made(wofz(Pair(z.real, z.imag)))


def _bell(z: Any) -> Any:
    """exp(-z**2)."""
    x, y = z.real, z.imag
    return np.exp((y - x) * (y + x) - 2j * (x * y))


def _is_near(z: Any) -> Any:
    return z.real**2 + z.imag**2 < 1.0


def _series(z: Any, is_near: Any, coefficients: list[float]) -> Any:
    """The odd series, at 0 where `z` is not near."""
    small = np.where(is_near, z, 0)
    return small * np.polyval(coefficients[::-1], small * small)


def _turned(z: Any, is_turned: Any) -> Any:
    return np.where(is_turned, -z, z)


@in_complex128("erfc")
def erfc(z: Any) -> Any:
    """By the Faddeeva function on the right, from its value at -z on the left."""
    is_left = z.real < 0
    right = _turned(z, is_left)
    found = _bell(right) * _faddeeva(1j * right)
    return np.where(is_left, 2 - found, found)


def _odd(z: Any, is_turned: Function, half: Function, coefficients: list[float], scale: float = 1.0) -> Any:
    """An odd function: `half` where z needs no change of sign, and near 0 its series times `scale`."""
    is_near = _is_near(z)
    far = np.where(is_near, 1, z)
    beyond = _turned(half(_turned(far, is_turned(far))), is_turned(far))
    return np.where(is_near, _series(z, is_near, coefficients) * scale, beyond)


@in_complex128("erf")
def erf(z: Any) -> Any:
    """1 - erfc(z)."""
    return _odd(z, lambda z: z.real < 0, lambda z: 1 - _bell(z) * _faddeeva(1j * z), ERF, 2 / ROOT)


@in_complex128("erfcx")
def erfcx(z: Any) -> Any:
    """w(i z)."""
    return _faddeeva(1j * z)


@in_complex128("erfi")
def erfi(z: Any) -> Any:
    """-i erf(i z)."""
    return -1j * erf(1j * z)


@in_complex128("dawsn")
def dawsn(z: Any) -> Any:
    """Dawson's integral: i sqrt(pi) / 2 (exp(-z**2) - w(z)) above the real axis, an odd function."""
    return _odd(z, lambda z: z.imag < 0, lambda z: (0.5j * ROOT) * (_bell(z) - _faddeeva(z)), DAWSON)


@in_complex128("ndtr")
def ndtr(z: Any) -> Any:
    """The normal distribution function."""
    return 0.5 * erfc(z * -math.sqrt(0.5))


def _product(name: str, logarithm: Callable[[Pair], Pair], zero: float) -> None:
    """Register x times the logarithm, 0 where x is 0 and the logarithm infinite."""

    @elementwise(name)
    def product(x: Pair, y: Pair) -> Pair:
        first, second = x.whole(), y.whole()
        is_zero = op.And(op.Equal(first[0], 0.0), op.Equal(first[1], 0.0))
        at = op.And(op.Equal(second[0], zero), op.Equal(second[1], 0.0))
        is_edge = op.And(is_zero, op.Or(at, op.Or(*(op.IsInf(p) for p in second))))
        real, imag = (op.Where(is_edge, p, q) for p, q in zip((zero + 1.0, 0.0), second, strict=True))
        return multiply(x, logarithm(Pair(real, imag)))


_product("xlogy", log, 0.0)
_product("xlog1py", log1p, -1.0)
