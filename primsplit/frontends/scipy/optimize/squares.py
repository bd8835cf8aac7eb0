"""scipy.optimize's least squares: Levenberg-Marquardt steps, differentiated through the equation of a zero gradient."""

import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from primsplit.frontends.scipy.operands import as_vector, of_at_least, with_args
from primsplit.frontends.scipy.optimize.implicit import recorded, root_of
from primsplit.numpy import failing
from primsplit.numpy.axes import size_as
from primsplit.numpy.complex.operands import holds_complex
from primsplit.numpy.dense.loop import until
from primsplit.numpy.refusing import refusing
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.tracing.array import Array, unsupported
from primsplit.tracing.asarray import array_like, plain_or_traced
from primsplit.tracing.broadcasting import reshape_to
from primsplit.tracing.calls.primitive import stop_gradient
from primsplit.tracing.calls.recorded import StandIn
from primsplit.transforms.directions import jacobian_of
from primsplit.transforms.gradient import vector_jacobian

__all__ = ["curve_fit", "least_squares", "leastsq"]

Function = Callable[[Any], Any]
MOST = 300


class Fit(NamedTuple):
    """The result of `least_squares`; `grad` is the gradient of the cost, half the sum of squares."""

    x: Any
    cost: Any
    fun: Any
    jac: Any
    grad: Any
    success: Any


def _slopes(f: Function, x: Any) -> tuple[Any, Any]:
    """The residuals [m], and their Jacobian [m, n]."""
    values, slopes = jacobian_of(f, (x,), {}, 0, mode="forward", chunk=None)
    return values, reshape_to(slopes, (math.prod(values.shape), x.shape[0]))


def _gradient(f: Function) -> Function:
    def gradient(x: Any) -> Any:
        values, pullback = vector_jacobian(f, (x,), {}, 0)
        return pullback(values)

    return gradient


def _search(f: Function, start: Array) -> Array:
    """Steps of (J^T J + mu diag(J^T J)) s = -J^T r, `mu` smaller after each that lowers the sum of squares.

    J. J. More, The Levenberg-Marquardt Algorithm (1978). It ends where steps are rounding;
    NaN where that is never so, or a residual is NaN.
    """

    def step(x: Any, cost: Any, damping: Any, _: Any) -> list[Any]:
        values, slopes = _slopes(f, x)
        square, gradient = slopes.T @ slopes, slopes.T @ values
        scale = np.diagonal(square)
        held = np.where(scale > 0, scale, 1.0)
        moved = x - failing.nan_where_singular.solve(square + np.diag(damping * held), gradient)
        tried = f(moved)
        after = np.sum(tried * tried)
        falls = after < cost
        length = np.max(np.abs(moved - x) - EPS * (np.abs(x) + EPS))
        goes_on = np.where(falls, length, np.where(damping > LIMIT, -1.0, 1.0))
        return [np.where(falls, moved, x), np.where(falls, after, cost), damping * np.where(falls, 0.2, 6.0), goes_on]

    def settled(*carries: Any) -> Any:
        return ~(carries[-1] > 0)

    values = f(start)
    first = [start, np.sum(values * values), op.Identity(np.asarray(1e-3)), op.Identity(np.asarray(1.0))]
    x, cost, _, goes_on = until(settled, step, first, MOST)
    return op.Where(settled(goes_on) & ~np.isnan(cost), x, np.nan)


EPS = 1e-14
LIMIT = 1e12
"""The damping from which on a step is no longer than rounding."""


def _fitted(function: Function, start: Array) -> Array:
    """The x whose residuals have the least squares near the start."""
    f = as_vector(function)
    made = recorded(_gradient(f), StandIn(start.type))
    found = stop_gradient(_search(f, start))
    return root_of("least_squares", [made], [found], lambda _, x: op.Identity(x), coupled=True)


def least_squares(
    fun: Callable[..., Any],
    x0: Any,
    jac: Any = "2-point",
    bounds: Any = None,
    *_: Any,
    loss: str = "linear",
    args: Any = (),
    kwargs: Any = None,
    **tolerances: Any,
) -> Fit:
    """The least sum of squares near x0, to rounding; NaN where there is none.

    A run whose residuals at x0 are not finite fails. Raises UnsupportedFunction for bounds, and for losses that are not
    linear.
    """
    if bounds is not None or loss != "linear":
        raise unsupported("scipy.optimize.least_squares with bounds or a loss")

    def function(x: Any) -> Any:
        return fun(x, *args, **(kwargs or {}))

    start = _start(x0)
    wrong = ValueError("Residuals are not finite in the initial point.")
    return _fit(function, refusing(start, ~np.isfinite(as_vector(function)(start)), wrong))


def _start(x0: Any) -> Array:
    found: Array = stop_gradient(np.atleast_1d(cast_to(array_like(x0), np.float64)))
    return found


def _fit(function: Function, start: Array) -> Fit:
    x = _fitted(function, start)
    values, slopes = _slopes(as_vector(function), x)
    return Fit(x, np.sum(values * values) / 2, values, slopes, slopes.T @ values, ~np.isnan(np.sum(x)))


def leastsq(
    func: Callable[..., Any], x0: Any, args: Any = (), Dfun: Any = None, full_output: bool = False, **_: Any
) -> Any:
    """The least sum of squares near x0, to rounding, and 1; NaN, and 5, where there is none.

    With `full_output` also the inverse of J^T J, what the function is there, and no words.
    """
    fit = _fit(with_args(func, args), _start(x0))
    flag = np.where(fit.success, 1, 5)
    if not full_output:
        return fit.x, flag
    return fit.x, failing.nan_where_singular.inv(fit.jac.T @ fit.jac), {"fvec": fit.fun}, "", flag


REACHES = {"epsfcn", "ftol", "gtol", "max_nfev", "maxfev", "xtol"}
"""The options that determine when a search ends."""


def curve_fit(
    f: Callable[..., Any],
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    check_finite: Any = None,
    bounds: Any = None,
    method: Any = None,
    jac: Any = None,
    **options: Any,
) -> tuple[Any, Any]:
    """The parameters that fit f(xdata, *parameters) to ydata, and their covariance. Raises UnsupportedFunction.

    Of the options those that say how far SciPy searches: here it is to rounding.
    """
    if bounds is not None or options.keys() - REACHES or (sigma is not None and np.ndim(sigma) != 1):
        raise unsupported("scipy.optimize.curve_fit with bounds, a matrix sigma or full_output")
    start = np.ones(len(inspect.signature(f).parameters) - 1) if p0 is None else p0
    weights = 1.0 if sigma is None else 1.0 / array_like(sigma)
    given = stop_gradient(np.atleast_1d(cast_to(array_like(start), np.float64)))
    count = int(given.shape[0])
    ydata = of_at_least(array_like(ydata), count, 0)
    if check_finite or check_finite is None:
        ydata = failing.finite(ydata)
        if isinstance(xdata, Array | np.ndarray | list | tuple) and not holds_complex(xdata):
            places = plain_or_traced(xdata)
            xdata = failing.finite(places)

    def residuals(p: Any) -> Any:
        return (f(xdata, *(p[i] for i in range(count))) - ydata) * weights

    fitted = _fitted(residuals, given)
    values, slopes = _slopes(as_vector(residuals), fitted)
    covariance = failing.nan_where_singular.inv(slopes.T @ slopes)
    if absolute_sigma:
        return fitted, covariance
    freedom = size_as(values.shape[0], np.dtype(np.float64)) - float(count)
    return fitted, covariance * (np.sum(values * values) / freedom)
