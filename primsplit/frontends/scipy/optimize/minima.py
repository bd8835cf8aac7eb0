"""scipy.optimize's minima near a start, differentiated through the equation that the gradient is 0 there.

Whichever method is named, the steps are Newton's, damped until the function decreases, and end at rounding.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from primsplit import tracing
from primsplit.frontends.scipy.operands import with_args
from primsplit.frontends.scipy.optimize.bounds import Box, box_of
from primsplit.frontends.scipy.optimize.constraints import least_within, limits_of
from primsplit.frontends.scipy.optimize.descent import descent, gradient_of
from primsplit.frontends.scipy.optimize.implicit import recorded, root_of
from primsplit.ir.errors import ShapeError
from primsplit.numpy import failing
from primsplit.numpy.refusing import refusing
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.tracing.array import Array, unsupported
from primsplit.tracing.asarray import array_like
from primsplit.tracing.broadcasting import reshape_to
from primsplit.tracing.calls.primitive import stop_gradient
from primsplit.tracing.calls.recorded import StandIn
from primsplit.transforms.gradient import vector_jacobian

__all__ = ["lsq_linear", "minimize", "nnls"]

Function = Callable[[Any], Any]


class Minimum(NamedTuple):
    """The result of `minimize`; `jac` is the gradient there."""

    x: Any
    fun: Any
    jac: Any
    success: Any


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
    """The least value near x0, within bounds and constraints, to rounding; NaN where there is none. Raises ShapeError.

    `jac` and `hess` are not asked: derivatives are those of `fun`. The result has `x`, `fun`, `jac` and `success`.
    Raises UnsupportedFunction for callbacks, and for traced sides of a LinearConstraint or NonlinearConstraint.
    """
    if callback is not None:
        raise unsupported("scipy.optimize.minimize with a callback")
    start = stop_gradient(np.atleast_1d(cast_to(array_like(x0), np.float64)))
    if len(start.shape) != 1:
        raise ShapeError("'x0' must only have one dimension", place=tracing.user_place())
    given = with_args(fun, args)
    whole: Function = (lambda x: given(x)[0]) if jac is True else given

    def value(x: Any) -> Any:
        return reshape_to(cast_to(array_like(whole(x)), np.float64), ())

    box = None if bounds is None else box_of(bounds, start)
    limits = limits_of(constraints)
    x = least_within(value, start, box, limits) if any(limits) else least(value, start, box)
    found, pullback = vector_jacobian(value, (x,), {}, 0)
    return Minimum(x, found, pullback(np.ones(())), ~np.isnan(np.sum(x)))


def nnls(A: Any, b: Any, maxiter: Any = None, *, atol: Any = None) -> tuple[Any, Any]:
    """The x that is nowhere negative with the least |A x - b|, and that length."""
    matrix, right = (cast_to(array_like(x), np.float64) for x in (A, b))
    matrix, right = map(failing.finite, (matrix, right))

    def value(x: Any) -> Any:
        rest = matrix @ x - right
        return 0.5 * np.sum(rest * rest)

    start: Any = np.zeros_like(np.sum(matrix, axis=0))
    x = least(value, start, Box(start, start + math.inf))
    return x, np.linalg.norm(matrix @ x - right)


class Squares(NamedTuple):
    """The result of `lsq_linear`; `cost` is half the sum of squares, and `fun` the residual of each equation."""

    x: Any
    cost: Any
    fun: Any
    success: Any


def lsq_linear(A: Any, b: Any, bounds: Any = (-math.inf, math.inf), **options: Any) -> Squares:
    """The x within bounds with the least |A x - b|^2, to rounding whatever the options say.

    A run fails for NaN or infinity in A; x is NaN for one in b.
    """
    matrix, right = (cast_to(array_like(x), np.float64) for x in (A, b))
    matrix = failing.finite(matrix, np.linalg.LinAlgError("SVD did not converge in Linear Least Squares"))
    known: Any = np.where(np.isinf(right), np.nan, right)
    start: Any = np.zeros_like(np.sum(matrix, axis=0))
    low, high = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    low, high = (cast_to(array_like(end), np.float64) + start for end in (low, high))
    crossed = ValueError("Each lower bound must be strictly less than each upper bound.")
    box = Box(refusing(low, low >= high, crossed), high)

    def value(x: Any) -> Any:
        rest = matrix @ x - known
        return 0.5 * np.sum(rest * rest)

    x = least(value, start, box)
    return Squares(x, value(x), matrix @ x - known, ~np.isnan(np.sum(x)))


def least(value: Function, start: Array, box: Box | None) -> Array:
    """The x of the least value. Its equation is that the gradient is 0, of what a bound holds that it is the bound."""
    gradient = gradient_of(value)

    def residual(x: Any) -> Any:
        return gradient(x) if box is None else x - box.clipped(x - gradient(x))

    made = recorded(residual, StandIn(start.type))
    held = None if box is None else Box(*map(stop_gradient, box))
    found = stop_gradient(descent(value, start if held is None else held.clipped(start), held))
    return root_of("minimize", [made], [found], lambda _, x: op.Identity(x), coupled=True)
