"""Functions of scipy.special with complex results: Faddeeva's, Kelvin's in pairs, and Hankel's of real arguments."""

from collections.abc import Callable

import numpy as np

from primsplit.ir.dims import broadcast_shapes
from primsplit.numpy.approximations.signs import is_negative
from primsplit.numpy.complex.arithmetic import ALWAYS_COMPLEX
from primsplit.numpy.complex.operands import Pair
from primsplit.numpy.ufuncs import ELEMENTWISE
from primsplit.ops import op
from primsplit.special.faddeeva import faddeeva
from primsplit.special.kelvin import PARTS
from primsplit.tracing.broadcasting import expand_to
from primsplit.tracing.complex_array import refused


def wofz(z: Pair) -> Pair:
    """exp(-z**2) erfc(-i z), accurate to 2e-15 of its size.

    Below the real axis 2 exp(-z**2) - w(-z), to that of the larger.
    """
    parts = z.whole()
    shape = broadcast_shapes(*(p.shape for p in parts))
    x, y = (expand_to(op.Cast(p, to=np.float64), shape) for p in parts)
    is_below = is_negative(y)
    real, imaginary = faddeeva(op.Where(is_below, -x, x), op.Where(is_below, -y, y))
    down, across = op.Where(is_below, y, 0.0), op.Where(is_below, x, 0.0)
    size, turn = 2.0 * op.Exp((down - across) * (down + across)), 2.0 * (down * across)
    turn = op.Where(op.Or(op.IsInf(turn), op.IsNaN(turn)), 0.0, turn)
    sine = op.Where(op.And(op.IsInf(size), op.Equal(turn, 0.0)), 0.0, size * op.Sin(turn))
    lower = size * op.Cos(turn) - real, -sine - imaginary
    found = (op.Where(is_below, *both) for both in zip(lower, (real, imaginary), strict=True))
    return Pair(*(op.Cast(f, to=parts[0].dtype) for f in found))


def kelvin(x: Pair) -> tuple[Pair, ...]:
    """ber + i bei, ker + i kei, and their derivatives."""
    names = (("ber", "bei"), ("ker", "kei"), ("berp", "beip"), ("kerp", "keip"))
    return tuple(Pair(PARTS[real](x.some), PARTS[imaginary](x.some)) for real, imaginary in names)


def _hankel(name: str, *, sign: float, is_scaled: bool) -> Callable[[Pair, Pair], Pair]:
    """J + i Y, or J - i Y, of x > 0; if scaled, times exp(-i x), or exp(i x). NaN for other real numbers."""

    def hankel(order: Pair, x: Pair) -> Pair:
        if x.imag is not None:
            raise refused(f"scipy.special.{name}", "Pass real numbers.")
        is_inside = x.some > 0.0
        point = op.Where(is_inside, x.some, 1.0)
        first, second = (ELEMENTWISE[n](order.some, point) for n in ("jv", "yv"))
        second = op.Mul(second, sign)
        if is_scaled:
            cos, sin = op.Cos(point), op.Mul(op.Sin(point), -sign)
            first, second = first * cos - second * sin, first * sin + second * cos
        return Pair(*(op.Where(is_inside, p, np.asarray(np.nan, p.dtype)) for p in (first, second)))

    return hankel


def _hankels() -> dict[str, Callable[[Pair, Pair], Pair]]:
    found = {}
    for kind, sign in ((1, 1.0), (2, -1.0)):
        for end in ("", "e"):
            name = f"hankel{kind}{end}"
            found[name] = _hankel(name, sign=sign, is_scaled=bool(end))
    return found


ALWAYS_COMPLEX.update(wofz=wofz, kelvin=kelvin, **_hankels())
