"""Roots between two points where a function has opposite signs: the steps of SciPy's C code, in a Loop.

R. P. Brent, Algorithms for Minimization without Derivatives (1973), chapter 4; C. J. F. Ridders, IEEE Trans. Circuits
and Systems 26 (1979). All numbers are float64 scalars.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from primsplit.numpy.dense.loop import until
from primsplit.ops import op
from primsplit.tracing.array import Array

Function = Callable[[Array], Array]


class Stop(NamedTuple):
    """When a search ends: within xtol + rtol |x| of the root, or after a number of steps, with NaN."""

    xtol: float
    rtol: float
    most: int

    def within(self, x: Array) -> Array:
        """Return the distance from a root at which the search ends."""
        return self.xtol + self.rtol * op.Abs(x)


class _Points(NamedTuple):
    """The point before, the best one, and one on the other side of the root, what the function is there, two steps."""

    before: Array
    best: Array
    across: Array
    at_before: Array
    at_best: Array
    at_across: Array
    last_step: Array
    step: Array


def _bracketed(p: _Points) -> _Points:
    """The points with the root between the best one and the one across, the function least at the best one."""
    is_new = op.And(_differ(p.at_before, p.at_best), op.Not(op.Equal(p.at_before, 0.0)))
    across, at_across = op.Where(is_new, p.before, p.across), op.Where(is_new, p.at_before, p.at_across)
    width = p.best - p.before
    step, last = op.Where(is_new, width, p.step), op.Where(is_new, width, p.last_step)
    is_better = op.Abs(at_across) < op.Abs(p.at_best)
    before, at_before = op.Where(is_better, p.best, p.before), op.Where(is_better, p.at_best, p.at_before)
    best, at_best = op.Where(is_better, across, p.best), op.Where(is_better, at_across, p.at_best)
    across, at_across = op.Where(is_better, before, across), op.Where(is_better, at_before, at_across)
    return _Points(before, best, across, at_before, at_best, at_across, last, step)


def _differ(a: Array, b: Array) -> Array:
    """Whether two numbers have opposite signs, or one is 0."""
    return op.Sign(a) * op.Sign(b) <= 0.0


def brent(stop: Stop, *, hyperbolic: bool = False) -> Callable[[Function, Array, Array], Array]:
    """Brent's search: interpolation where it closes in fast enough, else halves. `brenth` extrapolates a hyperbola."""

    def search(f: Function, a: Array, b: Array) -> Array:
        at_a, at_b = f(a), f(b)
        none = a * 0.0

        def step(*carries: Array) -> list[Array]:
            p = _Points(*carries)
            least, half = stop.within(p.best) * 0.5, (p.across - p.best) * 0.5
            tried = _interpolated(p, hyperbolic=hyperbolic)
            size = op.Abs(p.last_step)
            is_tried = op.And(size > least, op.Abs(p.at_best) < op.Abs(p.at_before))
            limit = op.Min(size, 3.0 * op.Abs(half) - least)
            is_good = op.And(is_tried, 2.0 * op.Abs(tried) < limit)
            last, now = op.Where(is_good, p.step, half), op.Where(is_good, tried, half)
            moved = p.best + op.Where(op.Abs(now) > least, now, op.Where(half > 0.0, least, -least))
            return list(_bracketed(_Points(p.best, moved, p.across, p.at_best, f(moved), p.at_across, last, now)))

        def settled(*carries: Array) -> Array:
            p = _Points(*carries)
            is_near = op.Abs(p.across - p.best) * 0.5 < stop.within(p.best) * 0.5
            return op.Or(op.Equal(p.at_best, 0.0), op.Or(is_near, op.IsNaN(p.at_best)))

        start = _bracketed(_Points(a, b, none, at_a, at_b, none, none, none))
        end = _Points(*until(settled, step, start, stop.most))
        return _checked(end.best, settled(*end), a, b, at_a, at_b)

    return search


def _interpolated(p: _Points, *, hyperbolic: bool) -> Array:
    """The step to where a line through two points, or a parabola of x through three, is 0."""
    line = -p.at_best * (p.best - p.before) / (p.at_best - p.at_before)
    first = (p.at_before - p.at_best) / (p.before - p.best)
    second = (p.at_across - p.at_best) / (p.across - p.best)
    if hyperbolic:
        curve = -p.at_best * (p.at_across - p.at_before) / (p.at_across * first - p.at_before * second)
    else:
        over = second * first * (p.at_across - p.at_before)
        curve = -p.at_best * (p.at_across * second - p.at_before * first) / over
    return op.Where(op.Equal(p.before, p.across), line, curve)


def _checked(x: Array, is_settled: Array, a: Array, b: Array, at_a: Array, at_b: Array) -> Array:
    """The root: an end that is one, NaN where the search has not ended or the ends have the same sign."""
    found = op.Where(op.And(is_settled, _differ(at_a, at_b)), x, math.nan)
    return op.Where(op.Equal(at_a, 0.0), a, op.Where(op.Equal(at_b, 0.0), b, found))


def bisect(stop: Stop) -> Callable[[Function, Array, Array], Array]:
    """Halves of the interval, until one is short enough."""

    def search(f: Function, a: Array, b: Array) -> Array:
        at_a, at_b = f(a), f(b)

        def step(low: Array, width: Array, middle: Array, at_middle: Array) -> list[Array]:
            half = width * 0.5
            middle = low + half
            at_middle = f(middle)
            return [op.Where(at_middle * at_a >= 0.0, middle, low), half, middle, at_middle]

        def settled(low: Array, width: Array, middle: Array, at_middle: Array) -> Array:
            is_near = op.Abs(width) < stop.within(middle)
            return op.Or(op.Equal(at_middle, 0.0), op.Or(is_near, op.IsNaN(at_middle)))

        # The function is asked for the middle at least once.
        start = [a, b - a, a * 1.0, op.Where(op.Equal(at_a, 0.0), at_b, at_a)]
        end = until(settled, step, start, stop.most)
        return _checked(end[2], settled(*end), a, b, at_a, at_b)

    return search


def ridder(stop: Stop) -> Callable[[Function, Array, Array], Array]:
    """Ridders' search: an exponential makes a line of the function at the ends and the middle."""

    def search(f: Function, a: Array, b: Array) -> Array:
        at_a, at_b = f(a), f(b)

        def step(low: Array, high: Array, at_low: Array, at_high: Array, best: Array, at_best: Array) -> list[Array]:
            half = (high - low) * 0.5
            middle = low + half
            at_middle = f(middle)
            ratio = half * op.Sign(at_low - at_high) * at_middle
            moved = ratio / op.Sqrt(at_middle * at_middle - at_low * at_high)
            tolerance = stop.within(middle)
            bound = op.Abs(half) - tolerance * 0.5
            best = middle + op.Sign(moved) * op.Min(op.Abs(moved), op.Abs(bound))
            at_best = f(best)
            is_middle = _differ(at_best, at_middle)
            is_low = _differ(at_best, at_low)
            next_low = op.Where(is_middle, middle, op.Where(is_low, low, best))
            next_high = op.Where(is_middle, best, op.Where(is_low, best, high))
            at_next_low = op.Where(is_middle, at_middle, op.Where(is_low, at_low, at_best))
            at_next_high = op.Where(is_middle, at_best, op.Where(is_low, at_best, at_high))
            return [next_low, next_high, at_next_low, at_next_high, best, at_best]

        def settled(low: Array, high: Array, _: Any, __: Any, best: Array, at_best: Array) -> Array:
            is_near = op.Abs(high - low) < stop.within(best)
            return op.Or(op.Equal(at_best, 0.0), op.Or(is_near, op.IsNaN(at_best)))

        end = until(settled, step, [a, b, at_a, at_b, a * 1.0, op.Where(op.Equal(at_a, 0.0), at_b, at_a)], stop.most)
        return _checked(end[4], settled(*end), a, b, at_a, at_b)

    return search
