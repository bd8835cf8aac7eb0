"""NumPy's ufuncs that round, and those that divide with a remainder."""

from typing import Any

import numpy as np

from primsplit.numpy.axes import array_like, delivered
from primsplit.numpy.ufuncs import cast_to, elementwise
from primsplit.numpy.units import is_bool, is_signed, is_whole, same, unit
from primsplit.ops import op
from primsplit.tracing.array import Array, implements


@elementwise("floor")
def floor(x: Array) -> Array:
    """The next integer below."""
    return same(x) if is_whole(x) else op.Floor(x)


@elementwise("ceil")
def ceil(x: Array) -> Array:
    """The next integer above."""
    return same(x) if is_whole(x) else op.Ceil(x)


@elementwise("trunc")
def trunc(x: Array) -> Array:
    """The next integer towards 0."""
    return same(x) if is_whole(x) else op.Where(x > 0.0, op.Floor(x), op.Ceil(x))


@elementwise("rint", "round")
def rint(x: Array) -> Array:
    """The nearest integer, the even one of two."""
    return op.Round(x)


@implements(np.round, np.around)
def round_to(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """Like NumPy, x * 10**decimals rounded to even and divided again; integers change for negative decimals only."""
    x = array_like(a)
    if is_bool(x):
        return delivered(cast_to(x, np.float16), out)
    if is_whole(x):
        return delivered(same(x) if decimals >= 0 else _round_integers(x, -decimals), out)
    scale = 10.0 ** abs(decimals)
    if decimals == 0:
        return delivered(op.Round(x), out)
    rounded = op.Round(x * scale) / scale if decimals > 0 else op.Round(x / scale) * scale
    return delivered(rounded, out)


def _round_integers(x: Array, digits: int) -> Array:
    wide = cast_to(x, np.float64)
    return cast_to(op.Round(wide / 10.0**digits) * 10.0**digits, x.dtype)


@implements(np.fix)
def fix(x: Any, out: Any = None) -> Any:
    """The next integer towards 0."""
    return delivered(trunc(array_like(x)), out)


@elementwise("modf")
def modf(x: Array) -> tuple[Array, Array]:
    """Fraction and integer part, both with the sign of x. An infinity has fraction 0. The derivatives are 1 and 0."""
    finite = op.Where(op.IsInf(x), op.Sign(x), x)
    return op.Mod(finite, np.ones((), x.dtype), fmod=1), trunc(x)


# Division with remainder. onnxruntime stops the process at an integer division by 0, and at the lowest integer
# divided by -1; NumPy gives 0 for the first and wraps around for the second.


def _trap(y: Array) -> Array | None:
    """Return where an integer divisor must not reach onnxruntime; None if it is known to be harmless."""
    known = y.known()
    if known is not None and not np.isin(known, (0, -1)).any():
        return None
    zero = op.Equal(y, np.zeros((), y.dtype))
    return op.Or(zero, op.Equal(y, np.array(-1, y.dtype))) if is_signed(y) else zero


def _integer_floor_divide(x: Array, y: Array) -> Array:
    trap = _trap(y)
    divisor = y if trap is None else op.Where(trap, 1, y)
    quotient = op.Div(x, divisor)
    if is_signed(x):
        inexact = op.Not(op.Equal(op.Mod(x, divisor), 0))
        below = op.And(inexact, op.Xor(op.Less(x, 0), op.Less(divisor, 0)))
        quotient = op.Sub(quotient, cast_to(below, x.dtype))
    return quotient if trap is None else op.Where(trap, op.Mul(x, y), quotient)


def _integer_remainder(x: Array, y: Array) -> Array:
    trap = _trap(y)
    return op.Mod(x, y) if trap is None else op.Where(trap, 0, op.Mod(x, op.Where(trap, 1, y)))


def _integer_fmod(x: Array, y: Array) -> Array:
    trap = _trap(y)
    divisor = y if trap is None else op.Where(trap, 1, y)
    return op.Sub(x, op.Mul(op.Div(x, divisor), divisor))


def _parts(x: Array, y: Array) -> tuple[Array, Array]:
    """The remainder with the sign of x, which is exact, and whether its sign is the wrong one for y."""
    rest = op.Mod(x, y, fmod=1)
    return rest, op.And(op.Not(op.Equal(rest, 0.0)), op.Xor(rest < 0.0, y < 0.0))


def _float_remainder(x: Array, y: Array) -> Array:
    """The remainder of a positive divisor, whose zero is +0.0, with the sign of y."""
    sign, size = op.Sign(y), op.Abs(y)
    rest = op.Mod(x * sign, size, fmod=1)
    return (rest + op.Where(rest < 0.0, size, 0.0)) * sign


float_remainder = unit(
    "remainder",
    _float_remainder,
    lambda dz, x, y, z: dz,
    lambda dz, x, y, z: -dz * op.Round((x - z) / y),
)
"""d/dx = 1 and d/dy = -floor(x / y), also at whole quotients, where the function jumps."""


@elementwise("remainder")
def remainder(x: Array, y: Array) -> Array:
    """The remainder with the sign of y, one of 0 too. Of integers, 0 where y is 0."""
    return _integer_remainder(x, y) if is_whole(x) else float_remainder(x, y)


@elementwise("fmod")
def fmod(x: Array, y: Array) -> Array:
    """The remainder with the sign of x. Of integers, 0 where y is 0."""
    return _integer_fmod(x, y) if is_whole(x) else op.Mod(x, y, fmod=1)


@elementwise("floor_divide")
def floor_divide(x: Array, y: Array) -> Array:
    """floor(x / y), from the exact remainder. Of integers, 0 where y is 0. It has no gradient.

    A quotient of 0 has the sign of x / y, and stands last: see `compositions.signs`. It is rounded, since what varies
    smoothly with x would hide that the derivative is 0.
    """
    if is_whole(x):
        return _integer_floor_divide(x, y)
    rest, wrong = _parts(x, y)
    exact = op.Round((x - rest) / y) - cast_to(wrong, x.dtype)
    quotient = op.Round(x / y)
    return op.Where(op.Equal(y, 0.0), quotient, op.Where(op.Abs(exact) > 0.0, exact, quotient * 0.0))


@elementwise("divmod")
def divmod_(x: Array, y: Array) -> tuple[Array, Array]:
    """Floor quotient and remainder."""
    return floor_divide(x, y), remainder(x, y)
