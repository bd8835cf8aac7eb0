"""Newton steps downhill, damped until the function decreases."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.frontends.scipy.optimize.bounds import Box
from primsplit.numpy import failing
from primsplit.numpy.creation import eye
from primsplit.numpy.dense.loop import until
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.transforms.directions import jacobian_of
from primsplit.transforms.gradient import vector_jacobian

Function = Callable[[Any], Any]
MOST = 500
EPS = 1e-15
LIMIT = 1e14
"""The damping from which on a step is no longer than rounding."""
NOISE = 8 * float(np.finfo(np.float64).eps)
"""Values that are nearer to each other than this part of them are told apart by their gradients."""


def gradient_of(value: Function) -> Function:
    """The gradient as a function."""

    def gradient(x: Any) -> Any:
        _, pullback = vector_jacobian(value, (x,), {}, 0)
        return pullback(np.ones(()))

    return gradient


def descent(value: Function, start: Array, box: Box | None) -> Array:
    """The x of a least value, by steps (H + mu D)^-1 g: mu is less after each that lowers the value, more after others.

    D is the diagonal of H, or 1 where that is not positive; H + mu D must be positive definite. J. Nocedal and
    S. J. Wright, Numerical Optimization, 2nd ed. (2006), chapter 3, and 16.7 for the bounds. It ends where steps are
    rounding; NaN where that is never so, or the value is NaN.
    """
    slope = gradient_of(value)

    def step(x: Any, at_x: Any, gradient: Any, damping: Any, _: Any) -> list[Any]:
        is_free = np.ones_like(x, dtype=bool) if box is None else box.is_free(x, gradient)
        _, curve = jacobian_of(slope, (x,), {}, 0, mode="forward", chunk=None)
        scale = np.diagonal(curve)
        damped = curve + np.diag(damping * np.where(scale > 0, scale, 1.0))
        damped = np.where(is_free[:, None] & is_free, damped, np.diag(np.where(is_free, 0.0, 1.0)))
        factor = failing.nan_where_singular.cholesky((damped + damped.T) * 0.5)
        is_convex = ~np.isnan(np.sum(factor))
        safe = np.where(is_convex, damped, eye(x.shape[0]))
        moved = x - failing.nan_where_singular.solve(safe, np.where(is_free, gradient, 0.0))
        moved = moved if box is None else box.clipped(moved)
        tried, new = value(moved), slope(moved)
        falls = is_convex & _is_less(at_x, tried, _left(x, gradient, box), _left(moved, new, box))
        length = np.max(np.abs(moved - x) - EPS * (np.abs(x) + EPS))
        goes_on = np.where(falls, length, np.where(damping > LIMIT, -1.0, 1.0))
        return [
            *(np.where(falls, a, b) for a, b in ((moved, x), (tried, at_x), (new, gradient))),
            damping * np.where(falls, 0.1, 8.0),
            goes_on,
        ]

    def settled(*carries: Any) -> Any:
        return ~(carries[-1] > 0)

    first = [start, value(start), slope(start), op.Identity(np.asarray(1e-3)), op.Identity(np.asarray(1.0))]
    x, at_x, _, __, goes_on = until(settled, step, first, MOST)
    return op.Where(settled(goes_on) & ~np.isnan(at_x), x, np.nan)


def _left(x: Any, gradient: Any, box: Box | None) -> Any:
    """The largest element of what the gradient is of where no bound holds."""
    return np.max(np.abs(gradient if box is None else np.where(box.is_free(x, gradient), gradient, 0.0)))


def _is_less(before: Any, after: Any, left_before: Any, left_after: Any) -> Any:
    """Whether the value fell; where rounding hides it, whether the gradient did."""
    alike = np.abs(after - before) <= NOISE * np.abs(before)
    return np.where(alike, left_after < left_before, after < before)
