"""Polynomials with complex coefficients or roots, and the series and powers that they need."""

from typing import Any

import numpy as np

from primsplit.numpy.complex.dispatch import offers
from primsplit.numpy.complex.operands import as_complex, holds_complex, operand
from primsplit.tracing.complex_array import refused


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
    """Return columns of powers, as many as there are points if `N` is None; their number must be known when tracing."""
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
