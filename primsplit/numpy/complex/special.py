"""Functions of scipy.special whose results are complex: the Faddeeva function, and Kelvin's in pairs."""

import numpy as np

from primsplit.broadcasting import expand_to
from primsplit.infer import broadcast_shapes
from primsplit.numpy.complex.arithmetic import ALWAYS_COMPLEX
from primsplit.numpy.complex.operands import Pair
from primsplit.numpy.special.faddeeva import faddeeva
from primsplit.numpy.special.kelvin import PARTS
from primsplit.ops import op
from primsplit.passes.compositions.signs import is_negative


def wofz(z: Pair) -> Pair:
    """exp(-z**2) erfc(-i z), to 2e-15 of its size; below the real axis 2 exp(-z**2) - w(-z), to that of the larger."""
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


ALWAYS_COMPLEX.update(wofz=wofz, kelvin=kelvin)
