"""Roots of systems: Newton steps with the Jacobian, shortened until the function decreases, in a Loop."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.numpy import failing
from primsplit.numpy.dense.loop import until
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to
from primsplit.transforms.directions import jacobian_of

Function = Callable[[Array], Array]

MOST = 300
"""The most steps, short ones too."""


def damped_newton(xtol: float) -> Callable[[Function, Array], Array]:
    """x is moved by t times Newton's step where the sum of squares falls; else t is a quarter of what it was.

    It ends where the step is within `xtol` of |x|, or the function is 0; NaN where that never happens.
    """

    def search(f: Function, start: Array) -> Array:
        size = math.prod(start.shape)

        def step_at(x: Array, value: Array) -> Array:
            _, slope = jacobian_of(f, (x,), {}, 0, mode=None, chunk=None)
            found: Any = failing.nan_where_singular.solve(reshape_to(slope, (size, size)), reshape_to(value, (size,)))
            return reshape_to(found, start.shape)

        def step(x: Array, value: Array, newton: Array, share: Array) -> list[Array]:
            tried = x - share * newton
            at_tried = f(tried)
            falls = _squares(at_tried) < _squares(value)
            x, value = op.Where(falls, tried, x), op.Where(falls, at_tried, value)
            longer = op.Min(share * 4.0, 1.0)
            return [x, value, step_at(x, value), op.Where(falls, longer, share * 0.25)]

        def settled(x: Array, value: Array, newton: Array, share: Array) -> Array:
            size_of_step, size_of_x = _squares(newton), _squares(x)
            is_near = size_of_step <= xtol * xtol * size_of_x
            return op.Or(op.Equal(_squares(value), 0.0), op.Or(is_near, op.IsNaN(size_of_step)))

        value = f(start)
        whole = op.Identity(np.ones((), start.dtype))
        carries = [start, value, step_at(start, value), whole]
        end = until(settled, step, carries, MOST)
        # One whole step more: it is within the tolerance, and squares what is left of the error.
        return op.Where(settled(*end), end[0] - end[2], np.nan)

    return search


def _squares(x: Array) -> Array:
    return op.ReduceSum(op.Mul(x, x), keepdims=0)
