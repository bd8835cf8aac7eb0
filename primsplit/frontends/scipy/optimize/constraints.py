"""Minima under constraints: multipliers by the augmented Lagrangian, then Newton steps on the active equations.

J. Nocedal and S. J. Wright, Numerical Optimization, 2nd ed. (2006): 17.3 for the multipliers, 12.3 for the optimality
conditions. The conditions are an equation, in which a constraint that may be slack is mu = max(0, mu - g); this
equation is differentiated.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from primsplit import tracing
from primsplit.frontends.scipy.operands import as_vector, with_args
from primsplit.frontends.scipy.optimize.bounds import Box
from primsplit.frontends.scipy.optimize.descent import descent
from primsplit.frontends.scipy.optimize.implicit import recorded, root_of
from primsplit.frontends.scipy.optimize.systems import damped_newton
from primsplit.ir import Type
from primsplit.ir.errors import ShapeError
from primsplit.numpy.dense.loop import until
from primsplit.ops import op
from primsplit.tracing.array import Array, unsupported
from primsplit.tracing.asarray import holds_traced
from primsplit.tracing.calls.primitive import stop_gradient
from primsplit.tracing.calls.recorded import StandIn
from primsplit.transforms.gradient import vector_jacobian

Function = Callable[[Any], Any]
MOST = 60
NEAR = 1e-9
"""The largest violation of the constraints at which Newton's steps begin."""
FAR = 1e-3
"""The part of x that Newton's steps may move it by: further away is what they find that is no minimum."""
TOLERATED = 1e-6
"""The largest violation of the constraints in a result, where a larger weight does not reduce it."""
STEEPEST = 1e9
"""The most that a missed constraint is weighed with."""


class Limits(NamedTuple):
    """Constraints as functions of x with vector results: `equal` must be 0, `above` not below 0; empty for none."""

    equal: tuple[Function, ...]
    above: tuple[Function, ...]


def limits_of(constraints: Any) -> Limits:
    """The constraints of SciPy: dictionaries, LinearConstraints and NonlinearConstraints, one or several.

    Raises ShapeError for a kind that there is none of, UnsupportedFunction for traced sides of a constraint.
    """
    several = constraints if isinstance(constraints, list | tuple) else [constraints]
    found = [_of_one(c) for c in several]
    return Limits(
        tuple(f for limits in found for f in limits.equal), tuple(f for limits in found for f in limits.above)
    )


def _of_one(constraint: Any) -> Limits:
    if isinstance(constraint, dict):
        function = as_vector(with_args(constraint["fun"], constraint.get("args", ())))
        kind = str(constraint["type"]).lower()
        if kind not in {"eq", "ineq"}:
            raise ShapeError(f"a constraint is of type 'eq' or 'ineq', not {kind!r}", place=tracing.user_place())
        return Limits((function,), ()) if kind == "eq" else Limits((), (function,))
    if holds_traced((constraint.lb, constraint.ub)):
        raise unsupported("a constraint of scipy.optimize with traced sides")
    function = as_vector((lambda x: constraint.A @ x) if hasattr(constraint, "A") else constraint.fun)
    low, high = np.broadcast_arrays(np.atleast_1d(constraint.lb), np.atleast_1d(constraint.ub))
    is_equal = low == high

    def rows(which: Any, side: Any, sign: float) -> tuple[Function, ...]:
        if not which.any():
            return ()
        if which.all():
            return (lambda x: sign * (function(x) - side),)
        places = np.flatnonzero(which)
        return (lambda x: sign * (function(x)[places] - side[places]),)

    lower, upper = ~is_equal & np.isfinite(low), ~is_equal & np.isfinite(high)
    return Limits(rows(is_equal, low, 1.0), (*rows(lower, low, 1.0), *rows(upper, high, -1.0)))


class _Point(NamedTuple):
    """An x, and the multipliers of each constraint."""

    x: Any
    equal: list[Any]
    above: list[Any]

    def all(self) -> list[Any]:
        """One after another."""
        return [self.x, *self.equal, *self.above]

    def like(self, values: Sequence[Any]) -> "_Point":
        """As many values."""
        x, *rest = values
        return _Point(x, list(rest[: len(self.equal)]), list(rest[len(self.equal) :]))


def least_within(value: Function, start: Array, box: Box | None, limits: Limits) -> Array:
    """The x of the least value near the start for which the constraints hold; NaN where none is found."""
    held = None if box is None else Box(*map(stop_gradient, box))
    found = _with_multipliers(value, start if held is None else held.clipped(start), held, limits)
    sizes = [p.shape[0] for p in found.all()]
    ends = [sum(sizes[: i + 1], start=0) for i in range(len(sizes))]

    def parts(z: Any) -> _Point:
        return found.like([z[e - s : e] for s, e in zip(sizes, ends, strict=True)])

    def residual(z: Any) -> Any:
        point = parts(z)
        misses = [f(point.x) for f in limits.equal]
        slack = [m - np.maximum(0.0, m - f(point.x)) for f, m in zip(limits.above, point.above, strict=True)]
        return np.concatenate([_stationary(value, point, box, limits), *misses, *slack])

    def solve(f: Function, z: Any) -> Any:
        solved = damped_newton(1e-12)(f, z)
        x = parts(z).x
        is_far = np.max(np.abs(parts(solved).x - x)) > FAR * (1.0 + np.max(np.abs(x)))
        # Where two constraints say the same, multipliers are many and Newton's steps fail: the value stays what it was.
        return op.Where(np.isnan(np.sum(solved)), z, op.Where(is_far, np.nan, solved))

    z = stop_gradient(np.concatenate(found.all()))
    made = recorded(residual, StandIn(Type(np.float64, z.shape)))
    x: Array = parts(root_of("minimize", [made], [z], solve, coupled=True)).x
    return x


def _stationary(value: Function, point: _Point, box: Box | None, limits: Limits) -> Any:
    """The gradient of the Lagrangian, or how far it would move x within the bounds."""

    def lagrangian(x: Any) -> Any:
        functions = zip((*limits.equal, *limits.above), (*point.equal, *point.above), strict=True)
        return value(x) - sum(np.sum(m * f(x)) for f, m in functions)

    _, pullback = vector_jacobian(lagrangian, (point.x,), {}, 0)
    gradient = pullback(np.ones(()))
    return gradient if box is None else point.x - box.clipped(point.x - gradient)


def _with_multipliers(value: Function, start: Array, box: Box | None, limits: Limits) -> _Point:
    """The point to which the augmented Lagrangian leads, near enough for Newton's steps."""
    first = _Point(start, [f(start) * 0.0 for f in limits.equal], [f(start) * 0.0 for f in limits.above])

    def step(*carries: Any) -> list[Any]:
        point, (weight, missed) = first.like(carries[:-2]), carries[-2:]

        def augmented(x: Any) -> Any:
            total = value(x)
            for f, m in zip(limits.equal, point.equal, strict=True):
                total = total + np.sum((0.5 * weight * f(x) - m) * f(x))
            for f, m in zip(limits.above, point.above, strict=True):
                total = total + np.sum(np.maximum(0.0, m - weight * f(x)) ** 2) / (2.0 * weight)
            return total

        x = descent(augmented, point.x, box)
        equal = [m - weight * f(x) for f, m in zip(limits.equal, point.equal, strict=True)]
        above = [np.maximum(0.0, m - weight * f(x)) for f, m in zip(limits.above, point.above, strict=True)]
        changes = zip((*equal, *above), (*point.equal, *point.above), strict=True)
        now = np.max(np.stack([np.max(np.abs(a - b)) for a, b in changes])) / weight
        return [x, *equal, *above, np.where(now > 0.25 * missed, 4.0 * weight, weight), now]

    def settled(*carries: Any) -> Any:
        weight, missed = carries[-2:]
        return ~((missed > NEAR) & (weight < STEEPEST))

    begun = [*first.all(), op.Identity(np.asarray(10.0)), op.Identity(np.asarray(np.inf))]
    *found, _, missed = until(settled, step, [stop_gradient(b) for b in begun], MOST)
    return first.like([op.Where(missed > TOLERATED, np.nan, f) for f in found])
