"""Further functions of complex arrays: signs, sinc, statistics of several variables, integrals, series of numbers."""

import math
from typing import Any

import numpy as np

from primsplit import dims, tracing
from primsplit.array import FUNCTIONS
from primsplit.errors import ShapeError
from primsplit.numpy.axes import one_axis
from primsplit.numpy.complex.arithmetic import elementwise
from primsplit.numpy.complex.dispatch import offers
from primsplit.numpy.complex.functions import absolute
from primsplit.numpy.complex.handle import refused
from primsplit.numpy.complex.operands import Pair, as_complex, holds_complex, operand
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


def _variables(m: Any, y: Any, rowvar: bool) -> Any:
    """The observations as a complex matrix, a row a variable."""
    parts: list[Any] = [as_complex(v) for v in (m, y) if v is not None]
    if any(p.ndim > 2 for p in parts):
        raise ShapeError("np.cov takes arrays with one or two axes", place=tracing.user_place())
    rows = []
    for position, part in enumerate(parts):
        matrix = part if part.ndim == 2 else np.reshape(part, (1, -1))
        is_turned = not rowvar and part.ndim == 2 and not (position == 1 and dims.is_one(part.shape[0]))
        rows.append((matrix.T if is_turned else matrix).astype(np.complex128))
    return np.concatenate(rows)


@offers(np.cov)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """The means of the products of distances from the means, of which the second is conjugated; complex128."""
    if dtype is not None or fweights is not None or aweights is not None:
        raise refused("np.cov with weights or dtype=", "Write it out: x = z - mean; (x * w) @ x.conj().T / w.sum().")
    x = _variables(m, y, rowvar)
    apart = x - np.mean(x, axis=1, keepdims=True)
    count: Any = FUNCTIONS[np.sum](np.ones_like(apart.real[:1]))
    left = np.maximum(count - ((0 if bias else 1) if ddof is None else ddof), 0)
    found = apart @ np.conj(apart).T / left
    return np.reshape(found, ()) if dims.is_one(x.shape[0]) else found


@offers(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """`cov` over the standard deviations, both parts clipped to [-1, 1] as in NumPy."""
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    deviation = np.sqrt(np.diagonal(c.real))
    scaled = c / deviation[:, None] / deviation
    return np.clip(scaled.real, -1.0, 1.0) + 1j * np.clip(scaled.imag, -1.0, 1.0)


@offers(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    """The sums of means of neighbours times the way from one to the other, which may be complex."""
    values: Any = operand(y)
    place = one_axis(axis, values.ndim)
    rows = np.moveaxis(values, place, -1)
    if x is None:
        steps = dx
    else:
        points: Any = operand(x)
        own = one_axis(axis, points.ndim) if points.ndim > 1 else 0
        steps = np.moveaxis(np.diff(points, axis=own), own, -1)
    return np.sum(steps * (rows[..., 1:] + rows[..., :-1]) / 2.0, axis=-1)


@offers(np.logspace)
def logspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:
    """`base` to the power of numbers evenly from `start` to `stop`."""
    if dtype is not None or holds_complex(base) or np.ndim(base):
        raise refused("np.logspace with dtype=, or a base that is complex or an array")
    return np.power(base, np.linspace(start, stop, num, endpoint=endpoint, axis=axis))


@offers(np.geomspace)
def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    """Numbers in equal ratios, along a spiral from `start` to `stop`; the ends are exact."""
    if dtype is not None or not isinstance(num, int):
        raise refused("np.geomspace with dtype=, or a number of elements that only the run knows")
    first, last = (as_complex(v) for v in np.broadcast_arrays(operand(start), operand(stop)))
    shares = np.reshape(np.linspace(0.0, 1.0, num, endpoint=endpoint)[1 : num - endpoint], (-1, *(1,) * first.ndim))
    inner = first * np.exp(shares * np.log(last / first))
    found = np.concatenate([first[None], inner, last[None]] if endpoint else [first[None], inner])[:num]
    return np.moveaxis(found, 0, axis)


@offers(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    """Columns of powers, as many as there are points where `N` does not tell; their number is known when tracing."""
    points: Any = as_complex(x)
    count = points.shape[0] if N is None else N
    if not isinstance(count, int):
        raise refused("np.vander of points whose number only the run knows", "Give N.")
    columns = [np.ones_like(points)]
    while len(columns) < count:
        columns.append(columns[-1] * points)
    columns = columns[:count]
    if not columns:
        return np.zeros((points.shape[0], 0), points.dtype)
    return np.stack(columns if increasing else columns[::-1], axis=1)


@offers(np.poly)
def poly(seq_of_zeros: Any) -> Any:
    """The monic polynomial with these zeros, or of a matrix; real where they are their own conjugates, as in NumPy."""
    zeros: Any = as_complex(seq_of_zeros)
    zeros = np.linalg.eigvals(zeros) if zeros.ndim == 2 else np.atleast_1d(zeros)
    if not isinstance(zeros.shape[0], int):
        raise refused("np.poly of zeros whose number only the run knows", "Give the axis a fixed size in the spec.")
    found: Any = np.ones_like(zeros[:1])
    for zero in zeros:
        found = np.append(found, 0) - zero * np.append(0, found)
    is_real: Any = np.all(np.sort(zeros) == np.sort(np.conj(zeros))) if zeros.shape[0] else True
    return found.real if is_real else found


@offers(np.polymul)
def polymul(a1: Any, a2: Any) -> Any:
    """The product, of a length that is one less than the lengths' sum."""
    first, second = (np.atleast_1d(operand(a)) for a in (a1, a2))
    return np.convolve(first, second)


@offers(np.polydiv)
def polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    """Quotient and remainder by long division; the remainder is one shorter than `v`, or [0]."""
    top, bottom = (np.atleast_1d(as_complex(p)) for p in (u, v))
    size, divisor = top.shape[0], bottom.shape[0]
    if not (isinstance(size, int) and isinstance(divisor, int)):
        raise refused("np.polydiv of lengths that only the run knows", "Give the axes fixed sizes in the spec.")
    if size < divisor:
        return np.zeros_like(top[:1]), top
    quotient: list[Any] = []
    for _ in range(size - divisor + 1):
        quotient.append(top[:1] / bottom[0])
        top = np.concatenate([top[1:divisor] - quotient[-1] * bottom[1:], top[divisor:]])
    return np.concatenate(quotient), top if divisor > 1 else np.zeros_like(quotient[0])
