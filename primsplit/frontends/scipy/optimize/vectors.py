"""scipy.optimize's root finders of several unknowns, with its names and arguments, for functions of traced values."""

from typing import Any, NamedTuple

import numpy as np

from primsplit.frontends.scipy.operands import of_at_least, with_args
from primsplit.frontends.scipy.optimize.implicit import Function, recorded, root_of
from primsplit.frontends.scipy.optimize.systems import damped_newton
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.tracing.array import Array, unsupported
from primsplit.tracing.asarray import array_like
from primsplit.tracing.calls.primitive import stop_gradient
from primsplit.tracing.calls.recorded import StandIn

__all__ = ["fsolve", "root"]


ROWS = ("hybr", "lm")
"""The methods that take a number for a row of one."""


class Solution(NamedTuple):
    """The result of `root`."""

    x: Any
    success: Any
    fun: Any


def fsolve(
    func: Function,
    x0: Any,
    args: Any = (),
    fprime: Any = None,
    full_output: Any = 0,
    col_deriv: Any = 0,
    xtol: float = 1.49012e-8,
    **_: Any,
) -> Any:
    """The roots of as many equations as unknowns, by Newton's steps with the exact Jacobian; NaN where none are found.

    With `full_output` also what the function is there, whether it was found (1, else 5), and no words.
    """
    x = _solved(func, of_at_least(np.atleast_1d(array_like(x0)), 1), args, xtol)
    if not full_output:
        return x
    fvec = array_like(with_args(func, args)(x))
    return x, {"fvec": fvec}, np.where(_is_found(x), 1, 5), ""


def root(
    fun: Function, x0: Any, args: Any = (), method: str = "hybr", jac: Any = None, tol: Any = None, **_: Any
) -> Any:
    """The roots in the shape of `x0`, in a row of one for a number; the result has `x`, `fun` and `success`.

    Raises UnsupportedFunction for `jac=True`.
    """
    if jac is True:
        raise unsupported("scipy.optimize.root with a Jacobian beside the function's value")
    x = _solved(
        fun,
        np.atleast_1d(array_like(x0)) if method in ROWS else array_like(x0),
        args,
        1.49012e-8 if tol is None else tol,
    )
    return Solution(x, _is_found(x), with_args(fun, args)(x))


def _solved(function: Function, x0: Any, args: Any, xtol: float) -> Array:
    start = stop_gradient(cast_to(x0, np.float64))
    made = recorded(with_args(function, args), StandIn(start.type))
    return root_of("root", [made], [start], damped_newton(xtol), coupled=True)


def _is_found(x: Array) -> Array:
    return op.Not(op.IsNaN(op.ReduceSum(x, keepdims=0)))
