"""Signs, rounding and sinc of complex numbers."""

import math
from typing import Any

import numpy as np

from primsplit.numpy.complex.arithmetic import elementwise
from primsplit.numpy.complex.dispatch import offers
from primsplit.numpy.complex.functions import absolute
from primsplit.numpy.complex.operands import Pair, as_complex
from primsplit.numpy.complex.powers import power
from primsplit.ops import op

elementwise("float_power")(power)


@elementwise("sign")
def sign(z: Pair) -> Pair:
    """z / |z|, 0 at 0; where a part is infinite, its sign alone."""
    x, y = z.whole()
    size = absolute(Pair(x, y))
    is_infinite = op.IsInf(size)
    length = op.Where(op.Or(op.Equal(size, 0.0), is_infinite), 1.0, size)
    x, y = (op.Where(is_infinite, op.Where(op.IsInf(p), op.Sign(p), 0.0), op.Div(p, length)) for p in (x, y))
    both = op.And(op.Equal(op.Abs(x), 1.0), op.Equal(op.Abs(y), 1.0))
    return Pair(*(op.Where(both, np.asarray(np.nan, p.dtype), p) for p in (x, y)))


@elementwise("rint")
def rint(z: Pair) -> Pair:
    """Both parts rounded, halves to even numbers."""
    return Pair(*(None if p is None else op.Round(p) for p in z))


SERIES = [(-1.0) ** k / math.factorial(2 * k + 1) for k in range(13)]
"""sin(u) / u in powers of u**2."""


@offers(np.sinc)
def sinc(x: Any) -> Any:
    """sin(pi z) / (pi z), 1 at 0: near 0 by its series."""
    u: Any = as_complex(x) * math.pi
    is_near = u.real**2 + u.imag**2 < 1.0
    small, large = np.where(is_near, u, 0), np.where(is_near, 1, u)
    return np.where(is_near, np.polyval(SERIES[::-1], small * small), np.sin(large) / large)
