"""Roots from a start value: Newton's, Halley's and secant steps, and fixed points, in Loops.

All elements of an array continue until the last has settled, as in SciPy. The result is NaN where they do not end.
"""

import math
from collections.abc import Callable
from typing import Any

from primsplit.numpy.dense.loop import until
from primsplit.ops import op
from primsplit.tracing.array import Array

Function = Callable[[Array], Array]


def _near(tol: float, rtol: float) -> Callable[[Array, Array], Array]:
    """Whether two numbers are as near to each other as np.isclose wants; True for NaN, which never moves again."""

    def near(x: Array, before: Array) -> Array:
        apart = op.Abs(x - before)
        return op.Or(apart <= tol + rtol * op.Abs(before), op.IsNaN(apart))

    return near


def _everywhere(condition: Array) -> Array:
    """Whether it holds for all elements, a scalar."""
    return op.Equal(op.ReduceSum(op.Cast(op.Not(condition), to="int32"), keepdims=0), 0)


def newton(tol: float, rtol: float, most: int, *, halley: bool = False) -> Callable[..., Array]:
    """Newton's steps by the function and its derivative, with `halley` by the second one too.

    Where a derivative is 0, an element stays where it is; a number that is no root there is NaN.
    """
    near = _near(tol, rtol)

    def search(f: Function, slope: Function, *rest: Any) -> Array:
        *second, start = rest

        def step(x: Array, _: Array) -> list[Array]:
            value, steep = f(x), slope(x)
            is_flat = op.Equal(steep, 0.0)
            change = value / op.Where(is_flat, 1.0, steep)
            if halley:
                bend = change * second[0](x) / op.Where(is_flat, 1.0, steep) * 0.5
                change = op.Where(op.Abs(bend) < 1.0, change / (1.0 - bend), change)
            moved = op.Where(op.Or(is_flat, op.Equal(value, 0.0)), x, x - change)
            return [moved, x]

        x, before = until(lambda x, before: _everywhere(near(x, before)), step, [start, start + math.inf], most)
        is_found = near(x, before)
        if not start.shape:
            is_stuck = op.And(op.Equal(x, before), op.Equal(slope(x), 0.0))
            is_found = op.And(is_found, op.Not(op.And(is_stuck, op.Not(op.Equal(f(x), 0.0)))))
        return op.Where(is_found, x, math.nan)

    return search


def secant(tol: float, rtol: float, most: int) -> Callable[[Function, Array, Array], Array]:
    """Steps to where the line through the last two points is 0; a number is NaN where the line is flat, as no root."""
    near = _near(tol, rtol)

    def search(f: Function, first: Array, second: Array) -> Array:
        def step(before: Array, x: Array, at_before: Array, at_x: Array) -> list[Array]:
            is_flat = op.Equal(at_x, at_before)
            moved = x - at_x * (x - before) / op.Where(is_flat, 1.0, at_x - at_before)
            moved = op.Where(is_flat, (x + before) * 0.5 if first.shape else math.nan, moved)
            is_there = op.Or(op.Equal(at_x, 0.0), near(x, before))
            moved = op.Where(is_there, x, moved)
            return [x, moved, at_x, f(moved)]

        def settled(before: Array, x: Array, _: Array, at_x: Array) -> Array:
            return _everywhere(op.Or(near(x, before), op.Equal(at_x, 0.0)))

        end = until(settled, step, [first, second, f(first), f(second)], most)
        return op.Where(op.Or(near(end[1], end[0]), op.Equal(end[3], 0.0)), end[1], math.nan)

    return search


def fixed_point(xtol: float, most: int, *, accelerated: bool) -> Callable[[Function, Array], Array]:
    """x = x - f(x) until it stays; `accelerated` by Aitken's extrapolation (Burden, Faires, Numerical Analysis, 2.5).

    `f` is x less the function whose fixed point is looked for.
    """

    def search(f: Function, start: Array) -> Array:
        def step(x: Array, _: Array) -> list[Array]:
            once = x - f(x)
            if not accelerated:
                return [once, x]
            twice = once - f(once)
            bend = twice - 2.0 * once + x
            is_straight = op.Equal(bend, 0.0)
            ahead = x - (once - x) * (once - x) / op.Where(is_straight, 1.0, bend)
            return [op.Where(is_straight, twice, ahead), x]

        def near(x: Array, before: Array) -> Array:
            apart = op.Abs(x - before)
            is_near = apart < xtol * op.Where(op.Equal(before, 0.0), 1.0, op.Abs(before))
            return op.Or(is_near, op.Or(op.Equal(apart, 0.0), op.IsNaN(apart)))

        x, before = until(lambda x, before: _everywhere(near(x, before)), step, [start, start + math.inf], most)
        return op.Where(near(x, before), x, math.nan)

    return search
