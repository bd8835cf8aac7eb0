"""Tangents of complex numbers, inverses of sines and tangents, and functions such as expm1 that keep digits near 0.

The formulas are those of W. Kahan, Branch cuts for complex elementary functions (1987): the parts are real functions of
roots, on the right side of each cut even where a part is -0.
"""

from collections.abc import Callable

from primsplit.numpy.complex.arithmetic import Parts, elementwise
from primsplit.numpy.complex.functions import real_form, root
from primsplit.numpy.complex.operands import Pair
from primsplit.ops import op
from primsplit.tracing.array import Array

FAR = 300.0
"""The hyperbolic tangent is 1 there, and the square of a sine is still a number."""

Function = Callable[[Array, Array], Parts]


def _registered(name: str, turned: str, function: Function) -> None:
    """Register f, and its rotation -i f(i z)."""

    @elementwise(name)
    def straight(z: Pair) -> Pair:
        return Pair(*function(*z.whole()))

    @elementwise(turned)
    def rotated(z: Pair) -> Pair:
        x, y = z.whole()
        real, imaginary = function(op.Neg(y), x)
        return Pair(imaginary, op.Neg(real))


def _tanh(x: Array, y: Array) -> Parts:
    tangent, sine = real_form("tan")(y), real_form("sinh")(op.Clip(x, -FAR, FAR))
    growth, square = tangent * tangent + 1.0, sine * sine
    below = growth * square + 1.0
    return growth * op.Sqrt(square + 1.0) * sine / below, tangent / below


def _arctanh(x: Array, y: Array) -> Parts:
    square = y * y
    real = real_form("log1p")(x * 4.0 / ((1.0 - x) * (1.0 - x) + square)) * 0.25
    return real, real_form("arctan2")(y + y, (1.0 - x) * (1.0 + x) - square) * 0.5


def _arcsin(x: Array, y: Array) -> Parts:
    (a, b), (c, d) = root(1.0 - x, op.Neg(y)), root(1.0 + x, y)
    return real_form("arctan2")(x, a * c - b * d), real_form("arcsinh")(a * d - b * c)


_registered("tanh", "tan", _tanh)
_registered("arctanh", "arctan", _arctanh)
_registered("arcsin", "arcsinh", _arcsin)


@elementwise("arccos")
def arccos(z: Pair) -> Pair:
    """From 0 to pi in its real part."""
    x, y = z.whole()
    (a, b), (c, d) = root(1.0 - x, op.Neg(y)), root(1.0 + x, y)
    return Pair(real_form("arctan2")(a, c) * 2.0, real_form("arcsinh")(b * c - a * d))


@elementwise("arccosh")
def arccosh(z: Pair) -> Pair:
    """Not negative in its real part."""
    x, y = z.whole()
    (a, b), (c, d) = root(x - 1.0, y), root(x + 1.0, y)
    return Pair(real_form("arcsinh")(a * c + b * d), real_form("arctan2")(b, c) * 2.0)


@elementwise("expm1")
def expm1(z: Pair) -> Pair:
    """exp(x) cos(y) - 1, in terms that do not cancel, and exp(x) sin(y)."""
    x, y = z.whole()
    half = op.Sin(y * 0.5)
    return Pair(real_form("expm1")(x) * op.Cos(y) - half * half * 2.0, op.Exp(x) * op.Sin(y))


@elementwise("log1p")
def log1p(z: Pair) -> Pair:
    """The logarithm of the size of 1 + z, and the angle of it."""
    x, y = z.whole()
    return Pair(real_form("log1p")(x * (x + 2.0) + y * y) * 0.5, real_form("arctan2")(y, x + 1.0))
