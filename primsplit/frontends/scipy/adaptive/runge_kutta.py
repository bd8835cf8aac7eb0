"""Adaptive steps as scipy.integrate takes them, and its explicit Runge-Kutta methods.

The steps are found first, in a Loop without a gradient. The accepted ones are then taken again, in a Scan, which has a
gradient. A rejected step therefore has no part in the gradient, whatever it computed.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.branching.conditions import scalar_condition
from primsplit.tracing.calls.primitive import primitive, stop_gradient
from primsplit.tracing.control.bodies import as_loop, record_body
from primsplit.tracing.control.scanning import scan
from primsplit.tracing.control.structure import arrays_of
from primsplit.tracing.regions import emit_loop

Function = Callable[[Any, Any], Any]
TINY = 1e-300
EPS = float(np.finfo(np.float64).eps)


class Tableau(NamedTuple):
    """The coefficients of a method, of its error and of the polynomial between its steps, by SciPy's names."""

    A: Any
    B: Any
    C: Any
    E: Any
    P: Any
    error_estimator_order: int

    def taken(self, f: Function, t: Any, y: Array, slope: Array, h: Any) -> "Taken":
        """One step of size `h` from `y` at `t`, where the slope is known."""
        stages = _stages(f, t, y, slope, h, self)
        return Taken(
            y + h * _weighed(stages[:-1], self.B),
            stages[-1],
            lambda: _weighed(stages, self.E) * h,
            lambda: np.stack([_weighed(stages, column) for column in self.P.T], axis=-1),
        )


class Taken(NamedTuple):
    """A step: y and the slope at its end, the error there, and the polynomial in between [n, degree], over its size."""

    y: Any
    slope: Any
    error: Callable[[], Any]
    polynomial: Callable[[], Any]


class Method(Protocol):
    """A method to take a step; the error is of the order of the step to the power of `error_estimator_order` + 1."""

    @property
    def error_estimator_order(self) -> int:
        """The order of the solution to which the error estimate belongs."""

    def taken(self, f: Function, t: Any, y: Array, slope: Array, h: Any) -> Taken:
        """One step of size `h` from `y` at `t`, where the slope is known."""


class Control(NamedTuple):
    """The settings that control the steps."""

    rtol: Any
    atol: Any
    max_step: Any
    first_step: Any


class Steps(NamedTuple):
    """The steps taken: where each ends [k], what y is there [k, n], and its polynomial [k, n, degree].

    Where something is watched, also what was seen in each.
    """

    ends: Any
    y: Any
    polynomials: Any
    crossed: Any = ()


class Watching(Protocol):
    """An observer of each accepted step, which may end the steps."""

    def start(self, t: Any, y: Any) -> Any:
        """The initial carry of the steps."""

    def seen(self, carry: Any, t: Any, y: Any, is_good: Any) -> tuple[Any, Any]:
        """The carry after a step that ends at t, and what was observed in it."""

    def goes_on(self, carry: Any) -> Any:
        """Whether there are more steps."""


@primitive
def other_steps(fractions: Any) -> Any:
    """Return the ends of steps, marked as other steps than those of SciPy's function."""
    return fractions


def integrate(
    f: Function,
    span: tuple[Any, Any],
    y0: Array,
    method: Method,
    control: Control,
    *,
    is_scipys: bool = True,
    watching: Watching | None = None,
) -> Steps:
    """The steps from the start of `span` to its end, to where they become too short, or to what is watched for.

    `is_scipys` is False where the user's call takes those of another method.
    """
    start, end = span
    fractions, crossed = stop_gradient(_fractions(f, span, y0, method, control, watching))
    fractions = fractions if is_scipys else other_steps(fractions)
    ends = start + (end - start) * fractions
    before = np.concatenate([np.reshape(start, (1,)), ends])[:-1]

    def step(carry: Any, times: Any) -> Any:
        y, slope = carry
        t, until = times
        found = method.taken(f, t, y, slope, until - t)
        return (found.y, found.slope), (found.y, found.polynomial())

    _, (y, polynomials) = scan(step, (y0, f(start, y0)), (before, ends))
    return Steps(ends, y, polynomials, crossed)


def on_polynomial(start: Any, end: Any, y: Any, polynomial: Any, t: Any) -> Any:
    """y [n] at a time within a step, by its polynomial [n, degree]."""
    share = (t - start) / (end - start)
    return y + (end - start) * (polynomial @ share ** np.arange(1, polynomial.shape[-1] + 1))


def between(steps: Steps, span: tuple[Any, Any], y0: Any, times: Any, *, is_bounded: bool = True) -> Any:
    """y at some times [m], in any order: [m, n].

    Where the steps do not reach it is NaN, or that of the last one's polynomial unless it `is_bounded`.
    """
    direction = np.sign(span[1] - span[0])
    place = np.searchsorted(direction * steps.ends, stop_gradient(direction * times), side="left")
    count = steps.ends.shape[0]
    held = np.minimum(place, count - 1)
    before = np.take(np.concatenate([np.reshape(span[0], (1,)), steps.ends])[:-1], held)
    y = np.take(np.concatenate([y0[None], steps.y])[:-1], held, axis=0)
    width = np.take(steps.ends, held) - before
    x = (times - before) / width
    powers = x[:, None] ** np.arange(1, steps.polynomials.shape[-1] + 1)
    found = y + width[:, None] * np.einsum("mnp,mp->mn", np.take(steps.polynomials, held, axis=0), powers)
    return np.where((place < count)[:, None], found, np.nan) if is_bounded else found


def _weighed(stages: list[Array], weights: Any) -> Any:
    """The sum of the stages times their weights."""
    return sum(float(w) * k for w, k in zip(weights, stages, strict=False) if w != 0)


def _stages(f: Function, t: Any, y: Array, slope: Array, h: Any, method: Tableau) -> list[Array]:
    """The slopes within a step, and that at its end."""
    stages = [slope]
    for a, c in zip(method.A[1:], method.C[1:], strict=True):
        stages.append(f(t + float(c) * h, y + h * _weighed(stages, a)))
    return [*stages, f(t + h, y + h * _weighed(stages, method.B))]


def _fractions(
    f: Function, span: tuple[Any, Any], y0: Array, method: Method, control: Control, watching: Watching | None
) -> tuple[Any, Any]:
    """The ends of the accepted steps, as fractions of the span, and what was observed in each."""
    start, end = span
    direction = np.sign(end - start)
    exponent = -1 / (method.error_estimator_order + 1)

    def step(carry: Any, _: Any) -> Any:
        t, y, slope, size, is_again, watched = carry
        least = np.maximum(10 * EPS * np.abs(t), TINY)
        size = np.where(is_again, size, np.clip(size, least, control.max_step))
        ahead = t + direction * size
        ahead = np.where(direction * (ahead - end) > 0, end, ahead)
        h = ahead - t
        found = method.taken(f, t, y, slope, h)
        scale = control.atol + np.maximum(np.abs(y), np.abs(found.y)) * control.rtol
        error = _norm(found.error() / scale)
        is_good = error < 1
        factor = 0.9 * np.maximum(np.where(np.isnan(error), np.inf, error), TINY) ** exponent
        factor = np.where(is_good, np.minimum(factor, np.where(is_again, 1.0, 10.0)), np.maximum(factor, 0.2))
        size = np.abs(h) * factor
        # A step that is too short ends the search: it is never taken again.
        size = np.where(~is_good & (size < least), 0.0, size)
        moved = (np.where(is_good, a, b) for a, b in ((ahead, t), (found.y, y), (found.slope, slope)))
        watched, crossed = watching.seen(watched, ahead, found.y, is_good) if watching else ((), ())
        return (*moved, size, ~is_good, watched), (ahead, is_good, crossed)

    def goes_on(carry: Any) -> Any:
        t, _, __, size, is_again, watched = carry
        is_on = (direction * (end - t) > 0) & ((size > 0) | ~is_again)
        return is_on & watching.goes_on(watched) if watching else is_on

    slope = f(start, y0)
    size = control.first_step
    if size is None:
        size = _first_step(f, span, y0, slope, method.error_estimator_order, control)
    watched = watching.start(start, y0) if watching else ()
    carry = (start, y0, slope, op.Identity(np.asarray(1.0)) * size, op.Identity(np.asarray(False)), watched)
    times, is_good, crossed = _stacked(goes_on, step, carry)
    fractions = (op.Compress(times, is_good, axis=0) - start) / (end - start)
    return fractions, op.Compress(crossed, is_good, axis=0) if watching else ()


def _stacked(condition: Callable[[Any], Any], body: Callable[..., Any], init: Any) -> Any:
    """The stacked outputs of a loop that runs while the condition on its carry holds. It has no gradient."""
    starts, spec = arrays_of(init)
    made, block = record_body("steps", starts, spec, [], body, condition)
    loop = as_loop(block, len(made.starts), made.again)
    found = emit_loop(None, scalar_condition(condition(init)), loop, [a.value for a in made.starts], made.last_types())
    return made.unflatten(found)[1]


def _norm(x: Any) -> Any:
    """The root of the mean of squares."""
    return np.sqrt(np.mean(x * x))


def _first_step(f: Function, span: tuple[Any, Any], y0: Array, slope: Array, order: int, control: Control) -> Any:
    """Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.4."""
    start, end = span
    direction, length = np.sign(end - start), np.abs(end - start)
    scale = control.atol + np.abs(y0) * control.rtol
    d0, d1 = _norm(y0 / scale), _norm(slope / scale)
    is_small = (d0 < 1e-5) | (d1 < 1e-5)
    h0 = np.minimum(np.where(is_small, 1e-6, 0.01 * d0 / np.where(is_small, 1.0, d1)), length)
    ahead = f(start + h0 * direction, y0 + h0 * direction * slope)
    d2 = _norm((ahead - slope) / scale) / h0
    is_flat = (d1 <= 1e-15) & (d2 <= 1e-15)
    most = np.where(is_flat, 1.0, np.maximum(d1, d2))
    h1 = np.where(is_flat, np.maximum(1e-6, h0 * 1e-3), (0.01 / most) ** (1 / (order + 1)))
    return np.minimum(np.minimum(100 * h0, h1), np.minimum(length, control.max_step))
