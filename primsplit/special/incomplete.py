"""Helpers of the incomplete gamma and beta functions: convergence of Loops, logarithms, refused derivatives."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.ir.dims import broadcast_shapes
from primsplit.ir.errors import MissingRule
from primsplit.numpy.approximations.coefficients import FITS
from primsplit.numpy.approximations.exponential import log1p
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import expand_to
from primsplit.tracing.calls.primitive import Primitive, rrule

MOST = 20_000
"""The most steps: enough for shapes up to 1e7. Elements that have not converged by then are NaN."""
EPS = float(np.finfo(np.float64).eps)
LOG_EPS = -36.0
TINY = 1e-300
STIRLINGS = 10.0
"""From this shape on, the gamma function comes from Stirling's formula."""


def in_float64(function: Callable[..., Array]) -> Callable[..., Array]:
    """A function of some arrays, broadcast to each other and computed in float64."""

    def wide(*given: Array) -> Array:
        shape = broadcast_shapes(*(x.shape for x in given))
        dtype = given[0].dtype
        found = function(*(expand_to(op.Cast(x, to=np.float64) if x.dtype != np.float64 else x, shape) for x in given))
        return found if dtype == np.float64 else op.Cast(found, to=dtype)

    return wide


def _identity(x: Array) -> Array:
    return op.Identity(x)


def held(name: str, argument: str) -> Primitive:
    """The identity, for an argument in which a function has no derivative: differentiating it raises MissingRule."""
    made = Primitive(_identity, f"{name}.{argument}")

    @rrule(made)
    def refused(x: Array) -> Any:
        raise MissingRule(
            f"{name} has no derivative in its argument {argument}: there is no closed form",
            cure=f"If it needs no gradient, write stop_gradient({argument}).",
        )

    return made


def converged(worked: Array) -> Array:
    """Return whether no element is above 0, a scalar."""
    return op.Equal(op.ReduceSum(op.Cast(op.Greater(worked, 0.0), to=np.int32), keepdims=0), 0)


def nothing(dz: Array) -> Array:
    """A placeholder cotangent for an argument with `held`; its value is never used."""
    return dz * 0.0


def settled_factor(factor: Array) -> tuple[Array, Array]:
    """A factor of Lentz's method, and its distance from 1.

    A factor that is 1 up to rounding becomes 1, so elements that have converged do not drift while others continue.
    """
    change = op.Abs(factor - 1.0)
    settled = change <= 2 * EPS
    return op.Where(settled, 1.0, factor), op.Where(settled, 0.0, change)


def all_settled(*carries: Array) -> Array:
    """Return whether the last carry, the change of Lentz's method, is 0 everywhere."""
    return converged(carries[-1])


def number(value: float) -> Array:
    """A float64 scalar that a Loop can start from."""
    return op.Identity(np.asarray(value))


def stirling_rest(x: Array) -> Array:
    """The remainder of Stirling's formula for the logarithm of gamma."""
    inverse = op.Reciprocal(x)
    return FITS["STIRLING"](inverse * inverse) * inverse


def log_of_ratio(x: Array, start: Array, away: Array) -> Array:
    """log(x / start), where x is start + away."""
    ratio = away / start
    return op.Where(op.Abs(ratio) > 0.5, op.Log(x) - op.Log(start), log1p(ratio))
