"""scipy.optimize.minimize_scalar: the minimum in an interval, given or found from two points.

The interval is cut by the golden section; from its middle, `minima` continues to rounding.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from primsplit import tracing
from primsplit.frontends.scipy.operands import with_args
from primsplit.frontends.scipy.optimize.bounds import Box
from primsplit.frontends.scipy.optimize.minima import least
from primsplit.ir.errors import ShapeError
from primsplit.numpy import failing
from primsplit.numpy.dense.loop import until
from primsplit.numpy.refusing import refusing
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import array_like
from primsplit.tracing.branching.raising import checked
from primsplit.tracing.broadcasting import reshape_to
from primsplit.tracing.calls.primitive import stop_gradient

__all__ = ["minimize_scalar"]

Function = Callable[[Any], Any]
GOLDEN = (math.sqrt(5) - 1) / 2
WIDTH = 1e-6
"""The part of its size to which an interval is cut: Newton's steps do the rest."""
MOST = 200


class Minimum(NamedTuple):
    """The result of `minimize_scalar`."""

    x: Any
    fun: Any
    success: Any


def minimize_scalar(
    fun: Callable[..., Any],
    bracket: Any = None,
    bounds: Any = None,
    args: Any = (),
    method: Any = None,
    tol: Any = None,
    options: Any = None,
) -> Minimum:
    """A least value within bounds, or in a bracket of two or three points, else from 0 and 1 on; to rounding.

    Where there are several it may be another than SciPy's. NaN where none is found. The result has `x`, `fun` and
    `success`. Raises ShapeError for a bracket or bounds of another length.
    """
    given = with_args(fun, args)

    def value(x: Any) -> Any:
        return reshape_to(cast_to(array_like(given(x)), np.float64), ())

    points = [_number(x) for x in ((0.0, 1.0) if bracket is None else bracket)]
    if bounds is not None:
        low, high = (cast_to(array_like(b), np.float64) for b in _pair(bounds))
        low, high = (failing.finite(b, ValueError("Optimization bounds must be finite scalars.")) for b in (low, high))
        low = refusing(low, low > high, ValueError("The lower bound exceeds the upper bound."))
        start = _cut(value, *(stop_gradient(b) for b in (low, high)))
        box = Box(np.reshape(low, (1,)), np.reshape(high, (1,)))
    else:
        ends = _bracketed(value, *points[:2]) if len(points) == 2 else _sides(points)
        start, box = _cut(value, *ends), None
    x = least(lambda x: value(x[0]), reshape_to(start, (1,)), box)
    found = x[0]
    return Minimum(found, value(found), ~np.isnan(found))


def _number(x: Any) -> Array:
    found: Array = stop_gradient(cast_to(array_like(x), np.float64))
    return found


def _pair(bounds: Any) -> tuple[Any, Any]:
    if len(bounds) != 2:
        raise ShapeError("bounds are two numbers", place=tracing.user_place())
    low, high = bounds
    return low, high


def _sides(points: list[Array]) -> tuple[Array, Array]:
    if len(points) != 3:
        raise ShapeError("a bracket is two or three numbers", place=tracing.user_place())
    low, high = op.Min(points[0], points[2]), op.Max(points[0], points[2])
    outside = op.Not(op.And(op.Less(low, points[1]), op.Less(points[1], high)))
    unordered = ValueError("Bracketing values (xa, xb, xc) do not fulfill this requirement: (xa < xb) and (xb < xc)")
    return checked(low, outside, unordered), high


def _bracketed(f: Function, a: Array, b: Array) -> tuple[Array, Array]:
    """The ends of an interval in which the function falls and rises: downhill from two points, by growing steps."""
    is_uphill = f(b) > f(a)
    first, second = op.Where(is_uphill, b, a), op.Where(is_uphill, a, b)
    third = second + (second - first) / GOLDEN

    def step(a: Any, b: Any, c: Any, at_b: Any, at_c: Any) -> list[Any]:
        ahead = c + (c - b) / GOLDEN
        return [b, c, ahead, at_c, f(ahead)]

    def settled(a: Any, b: Any, c: Any, at_b: Any, at_c: Any) -> Any:
        return ~(at_c < at_b)

    a, _, c, *__ = until(settled, step, [first, second, third, f(second), f(third)], MOST)
    return op.Min(a, c), op.Max(a, c)


def _cut(f: Function, low: Array, high: Array) -> Array:
    """The middle of the interval after the golden section has cut it short. J. Kiefer, Proc. AMS 4 (1953) 502-506."""

    def within(low: Any, high: Any) -> tuple[Any, Any]:
        width = (high - low) * GOLDEN
        return high - width, low + width

    def step(low: Any, high: Any, left: Any, right: Any, at_left: Any, at_right: Any) -> list[Any]:
        is_left = at_left < at_right
        low, high = np.where(is_left, low, left), np.where(is_left, right, high)
        point = np.where(is_left, high - (high - low) * GOLDEN, low + (high - low) * GOLDEN)
        at_point = f(point)
        return [
            low, high, np.where(is_left, point, right), np.where(is_left, left, point),
            np.where(is_left, at_point, at_right), np.where(is_left, at_left, at_point),
        ]  # fmt: skip

    def settled(low: Any, high: Any, left: Any, *_: Any) -> Any:
        return ~(high - low > WIDTH * (1.0 + np.abs(left)))

    left, right = within(low, high)
    low, high, *_ = until(settled, step, [low, high, left, right, f(left), f(right)], MOST)
    return (low + high) * 0.5
