"""scipy.optimize's least values near a start, differentiated as the equation that the gradient is 0 there.

Whichever method is named, the steps are Newton's, damped until the function falls, and end at rounding.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from primsplit import tracing
from primsplit.array import Array, unsupported
from primsplit.broadcasting import reshape_to, zeros_like
from primsplit.calls.primitive import stop_gradient
from primsplit.calls.recorded import StandIn
from primsplit.errors import ShapeError
from primsplit.lifting import array_like
from primsplit.numpy.dense.loop import until
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.scipy.operands import with_args
from primsplit.scipy.optimize.implicit import recorded, root_of
from primsplit.transforms.directions import jacobian_of
from primsplit.transforms.gradient import vector_jacobian

__all__ = ["minimize", "nnls"]

Function = Callable[[Any], Any]
MOST = 500
EPS = 1e-15
LIMIT = 1e14
"""The damping from which on a step is no longer than rounding."""
NOISE = 8 * float(np.finfo(np.float64).eps)
"""Values that are nearer to each other than this part of them are told apart by their gradients."""


class Minimum(NamedTuple):
    """What `minimize` returns; `jac` is the gradient there."""

    x: Any
    fun: Any
    jac: Any
    success: Any


class Box(NamedTuple):
    """Bounds of each unknown, [n] both, infinite where there is none."""

    low: Any
    high: Any

    def clipped(self, x: Any) -> Any:
        """`x` within the bounds."""
        return np.minimum(np.maximum(x, self.low), self.high)

    def is_free(self, x: Any, gradient: Any) -> Any:
        """Where nothing holds an unknown at its bound."""
        held_low, held_high = (x <= self.low) & (gradient > 0), (x >= self.high) & (gradient < 0)
        return ~(held_low | held_high)


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: Any = None,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: Any = None,
    callback: Any = None,
    options: Any = None,
) -> Minimum:
    """The least value near x0, with or without bounds, to rounding; NaN where there is none. Raises ShapeError.

    `jac` and `hess` are not asked: derivatives are those of `fun`. The result has `x`, `fun`, `jac` and `success`.
    Raises UnsupportedFunction for constraints and callbacks.
    """
    if callback is not None or len(np.atleast_1d(np.asarray(constraints, object))):
        raise unsupported("scipy.optimize.minimize with constraints or a callback")
    start = stop_gradient(np.atleast_1d(cast_to(array_like(x0), np.float64)))
    if len(start.shape) != 1:
        raise ShapeError("'x0' must only have one dimension", place=tracing.user_place())
    given = with_args(fun, args)
    whole: Function = (lambda x: given(x)[0]) if jac is True else given

    def value(x: Any) -> Any:
        return reshape_to(cast_to(array_like(whole(x)), np.float64), ())

    box = None if bounds is None else _box(bounds, start)
    x = least(value, start, box)
    found, pullback = vector_jacobian(value, (x,), {}, 0)
    return Minimum(x, found, pullback(np.ones(())), ~np.isnan(np.sum(x)))


def nnls(A: Any, b: Any, maxiter: Any = None, *, atol: Any = None) -> tuple[Any, Any]:
    """The x that is nowhere negative with the least |A x - b|, and that length."""
    matrix, right = (cast_to(array_like(x), np.float64) for x in (A, b))

    def value(x: Any) -> Any:
        rest = matrix @ x - right
        return 0.5 * np.sum(rest * rest)

    start = zeros_like(np.sum(matrix, axis=0))
    x = least(value, start, Box(start, start + math.inf))
    return x, np.linalg.norm(matrix @ x - right)


def _box(bounds: Any, start: Array) -> Box:
    """The bounds as arrays. Raises ShapeError for another number of pairs."""
    if hasattr(bounds, "lb"):
        low, high = bounds.lb, bounds.ub
    else:
        pairs = list(bounds)
        if len(pairs) != start.shape[0]:
            raise ShapeError(f"{len(pairs)} bounds for {start.shape[0]} unknowns", place=tracing.user_place())
        low = np.stack([array_like(-math.inf if a is None else a) * 1.0 for a, _ in pairs])
        high = np.stack([array_like(math.inf if b is None else b) * 1.0 for _, b in pairs])
    ones = start * 0.0
    return Box(*(cast_to(array_like(b), np.float64) + ones for b in (low, high)))


def _gradient(value: Function) -> Function:
    def gradient(x: Any) -> Any:
        _, pullback = vector_jacobian(value, (x,), {}, 0)
        return pullback(np.ones(()))

    return gradient


def least(value: Function, start: Array, box: Box | None) -> Array:
    """The x of the least value. Its equation is that the gradient is 0, of what a bound holds that it is the bound."""
    gradient = _gradient(value)

    def residual(x: Any) -> Any:
        return gradient(x) if box is None else x - box.clipped(x - gradient(x))

    made = recorded(residual, StandIn(start.type))
    held = None if box is None else Box(*map(stop_gradient, box))
    found = stop_gradient(_search(value, start if held is None else held.clipped(start), held))
    return root_of("minimize", [made], [found], lambda _, x: op.Identity(x), coupled=True)


def _search(value: Function, start: Array, box: Box | None) -> Array:
    """Newton's steps (H + mu D)^-1 g, mu less after each that lowers the value, and more after others.

    D is the diagonal of H, or 1 where that is not positive; H + mu D must be positive definite. J. Nocedal and
    S. J. Wright, Numerical Optimization, 2nd ed. (2006), chapter 3, and 16.7 for the bounds. It ends where steps are
    rounding; NaN where that is never so.
    """
    slope = _gradient(value)

    def step(x: Any, at_x: Any, gradient: Any, damping: Any, _: Any) -> list[Any]:
        is_free = np.ones(x.shape, bool) if box is None else box.is_free(x, gradient)
        _, curve = jacobian_of(slope, (x,), {}, 0, mode="forward", chunk=None)
        scale = np.diagonal(curve)
        damped = curve + np.diag(damping * np.where(scale > 0, scale, 1.0))
        damped = np.where(is_free[:, None] & is_free, damped, np.diag(np.where(is_free, 0.0, 1.0)))
        factor = np.linalg.cholesky((damped + damped.T) * 0.5)
        is_convex = ~np.isnan(np.sum(factor))
        safe = np.where(is_convex, damped, np.eye(x.shape[0]))
        moved = x - np.linalg.solve(safe, np.where(is_free, gradient, 0.0))
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
    x, _, __, ___, goes_on = until(settled, step, first, MOST)
    return op.Where(settled(goes_on), x, np.nan)


def _left(x: Any, gradient: Any, box: Box | None) -> Any:
    """The largest element of what the gradient is of where no bound holds."""
    return np.max(np.abs(gradient if box is None else np.where(box.is_free(x, gradient), gradient, 0.0)))


def _is_less(before: Any, after: Any, left_before: Any, left_after: Any) -> Any:
    """Whether the value fell; where rounding hides it, whether the gradient did."""
    alike = np.abs(after - before) <= NOISE * np.abs(before)
    return np.where(alike, left_after < left_before, after < before)
