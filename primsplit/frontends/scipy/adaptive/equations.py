"""scipy.integrate's ordinary differential equations, by its names and arguments, of functions of traced values."""

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from primsplit import tracing
from primsplit.frontends.scipy.adaptive.events import Seen, Watch, seen, watch
from primsplit.frontends.scipy.adaptive.rosenbrock import Rodas
from primsplit.frontends.scipy.adaptive.runge_kutta import Control, Function, Method, Steps, Tableau, between, integrate
from primsplit.frontends.scipy.operands import with_args
from primsplit.ir.errors import ShapeError
from primsplit.numpy import failing
from primsplit.numpy.complex.operands import holds_complex
from primsplit.numpy.refusing import refusing
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.tracing.array import unsupported
from primsplit.tracing.asarray import array_like, holds_traced
from primsplit.tracing.broadcasting import count_up
from primsplit.tracing.calls.primitive import stop_gradient

__all__ = ["odeint", "solve_ivp"]

METHODS = {"RK45": "RK45", "RK23": "RK23", "DOP853": "RK45", "LSODA": "RK45", "BDF": "Rodas", "Radau": "Rodas"}
"""The methods that there are, and those that stand for others, with their tolerances."""


class Solution(NamedTuple):
    """The result of `solve_ivp`, without counts and messages."""

    t: Any
    y: Any
    sol: Any
    success: Any
    status: Any
    t_events: Any = None
    y_events: Any = None


START = ValueError("All components of the initial state `y0` must be finite.")


def solve_ivp(
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    **options: Any,
) -> Solution:
    """y' = fun(t, y) from y0 on, by SciPy's steps of "RK45" or "RK23"; "DOP853" and "LSODA" are taken as the first.

    "BDF" and "Radau", for stiff equations, are taken as the steps of `Rodas`, with the Jacobian of `fun` itself.

    The sizes of the steps have no derivative: the gradient is as near to that of the exact solution as the solution is
    to it, and differences of the computed solution, whose steps change too, may miss both by as much. A smaller `rtol`
    brings all three together.

    When an event is, is a root along the step that it is in, and has the derivative of one. Where an event ends the
    solution, the times of `t_eval` after it are left out. Raises UnsupportedFunction for other methods. A complex state
    is solved for as its real and its imaginary part, which have tolerances of their own.
    """
    if holds_complex(y0):
        given = {"method": method, "t_eval": t_eval, "dense_output": dense_output, "args": args, **options}
        return _of_complex(fun, t_span, _joined(y0), events, given)
    if method not in METHODS:
        raise unsupported(f"scipy.integrate.solve_ivp with method={method!r}, which is none of {', '.join(METHODS)},")
    span, y0 = (_number(t_span[0]), _number(t_span[1])), failing.finite(_vector(y0), START)
    control = Control(
        np.maximum(options.get("rtol", 1e-3), 100 * np.finfo(np.float64).eps),
        _tolerance(options.get("atol", 1e-6)),
        _positive("max_step", options.get("max_step", np.inf)),
        _first_step(options.get("first_step"), span),
    )
    rest = tuple(args) if isinstance(args, list) else args or ()
    watching = None if events is None or events == [] else watch(events, lambda event: with_args(event, rest))
    taken: Method = Rodas() if METHODS[method] == "Rodas" else _tableau(METHODS[method])
    is_scipys = METHODS[method] == method
    steps = integrate(_slopes(with_args(fun, rest)), span, y0, taken, control, is_scipys=is_scipys, watching=watching)
    sol = (lambda t: _between(steps, span, y0, t)) if dense_output else None
    return _solution(steps, span, y0, watching, t_eval, sol)


def _of_complex(fun: Callable[..., Any], t_span: Any, y0: Any, events: Any, given: dict[str, Any]) -> Solution:
    """The solution of a complex state, whose two parts stand one behind the other."""
    size = y0.shape[0]

    def whole(parts: Any) -> Any:
        return parts[:size] + 1j * parts[size:]

    def parts_of(value: Any) -> Any:
        joined = _joined(value)
        return np.concatenate([np.real(joined), np.imag(joined)])

    def watched(event: Callable[..., Any]) -> Callable[..., Any]:
        def of_whole(t: Any, y: Any, *more: Any) -> Any:
            return event(t, whole(y), *more)

        vars(of_whole).update(vars(event))
        return of_whole

    if np.ndim(given.get("atol", 0)):
        given["atol"] = np.concatenate([given["atol"], given["atol"]])
    if events is not None:
        events = list(map(watched, events)) if isinstance(events, list | tuple) else watched(events)
    found = solve_ivp(
        lambda t, y, *more: parts_of(fun(t, whole(y), *more)), t_span, parts_of(y0), events=events, **given
    )
    at_events = None if found.y_events is None else [whole(y.T).T for y in found.y_events]
    sol = None if found.sol is None else lambda t: whole(found.sol(t))
    return found._replace(y=whole(found.y), sol=sol, y_events=at_events)


def _joined(value: Any) -> Any:
    """One array of numbers, of which some are traced, complex, or both."""
    if isinstance(value, list | tuple) and holds_traced(value):
        return np.stack([v if holds_traced(v) else np.asarray(v) for v in value])
    return value if holds_traced(value) else np.asarray(value)


def _solution(steps: Steps, span: Any, y0: Any, watching: Watch | None, t_eval: Any, sol: Any) -> Solution:
    """The solution from the steps, at their ends or at the requested times."""
    reached: Any = np.concatenate([np.reshape(span[0], (1,)), steps.ends])
    y: Any = np.concatenate([y0[None], steps.y])
    is_done = reached[-1] == span[1]
    status = np.where(is_done, 0, -1)
    times: Any = None if t_eval is None else _within(cast_to(array_like(t_eval), np.float64), span)
    t_events = y_events = None
    if watching is not None:
        found = seen(steps, span, y0, watching)
        t_events, y_events = found.times, found.y
        reached = np.concatenate([reached[:-1], found.last[None]])
        y = np.concatenate([y[:-1], found.y_last[None]])
        is_done, status = is_done | found.is_ended, np.where(found.is_ended, 1, status)
        if times is not None and watching.may_end:
            times = _before_end(times, span, found)
    if times is not None:
        reached, y = times, between(steps, span, y0, times)
    return Solution(reached, y.T, sol, is_done, status, t_events, y_events)


def _tolerance(atol: Any) -> Any:
    given = atol if holds_traced(atol) else np.asarray(atol)
    return refusing(given, given < 0, ValueError("`atol` must be positive."))


def _positive(name: str, step: Any) -> Any:
    given = step if holds_traced(step) else np.asarray(step)
    return refusing(given, given <= 0, ValueError(f"`{name}` must be positive."))


def _first_step(step: Any, span: Any) -> Any:
    if step is None:
        return None
    step, length = _positive("first_step", step), np.abs(stop_gradient(span[1] - span[0]))
    return refusing(step, step > length, ValueError("`first_step` exceeds bounds."))


def _within(times: Any, span: Any) -> Any:
    """The times asked for; a run in which they are outside of the span, or not in its order, fails."""
    first, last = (stop_gradient(end) for end in span)
    low, high, forth = np.minimum(first, last), np.maximum(first, last), np.sign(last - first)
    outside = (times < low) | (times > high)
    times = refusing(times, outside, ValueError("Values in `t_eval` are not within `t_span`."))
    unsorted = (times[1:] - times[:-1]) * forth <= 0
    return refusing(times, unsorted & (forth != 0), ValueError("Values in `t_eval` are not properly sorted."))


def _before_end(times: Any, span: Any, found: Seen) -> Any:
    """The times that an event which ends the solution is not before."""
    direction = np.sign(span[1] - span[0])
    is_there = direction * times <= np.where(found.is_ended, direction * found.last, np.inf)
    return np.take(times, op.Compress(count_up(times.shape[0]), stop_gradient(is_there), axis=0))


def _between(steps: Steps, span: Any, y0: Any, t: Any) -> Any:
    """The continuous solution at a time, [n], or at some, [n, m]."""
    times = cast_to(array_like(t), np.float64)
    found = between(steps, span, y0, np.atleast_1d(times), is_bounded=False).T
    return found if times.shape else found[:, 0]


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    args: Any = (),
    Dfun: Any = None,
    col_deriv: Any = 0,
    full_output: Any = 0,
    ml: Any = None,
    mu: Any = None,
    rtol: Any = None,
    atol: Any = None,
    tcrit: Any = None,
    h0: Any = 0.0,
    hmax: Any = 0.0,
    hmin: Any = 0.0,
    ixpr: Any = 0,
    mxstep: Any = 0,
    mxhnil: Any = 0,
    mxordn: Any = 12,
    mxords: Any = 5,
    printmessg: Any = 0,
    tfirst: bool = False,
) -> Any:
    """y' = func(y, t) at the times `t`, of which the first is that of y0: [times, n].

    The steps are those of Dormand and Prince with a tenth of the tolerances, where SciPy's are LSODA's. A stiff
    equation takes many of them. Raises UnsupportedFunction for `full_output`.
    """
    if full_output:
        raise unsupported("scipy.integrate.odeint with full_output")
    times, y0 = cast_to(array_like(t), np.float64), _vector(y0)
    steps_up, steps_down = np.any(times[1:] > times[:-1]), np.any(times[1:] < times[:-1])
    turning = ValueError("The values in t must be monotonically increasing or monotonically decreasing")
    times = refusing(times, (steps_up & steps_down) | np.any(np.isnan(times)), turning)
    given = with_args(func, args)
    f = _slopes(given if tfirst else lambda t, y: given(y, t))
    rtol, atol = (1.49012e-9 if given is None else np.asarray(given) / 10 for given in (rtol, atol))
    control = Control(rtol, atol, hmax or np.inf, h0 or None)
    span = (times[0], times[-1])
    steps = integrate(f, span, y0, _tableau("RK45"), control, is_scipys=False)
    found = between(steps, span, y0, times)
    return np.concatenate([y0[None], found[1:]])


def _slopes(fun: Callable[..., Any]) -> Function:
    """The right side of y' = fun(t, y), float64 in the shape of y."""
    return lambda t, y: cast_to(array_like(fun(t, y)), np.float64).reshape(y.shape)


def _tableau(name: str) -> Tableau:
    """SciPy's own coefficients."""
    method = getattr(sys.modules["scipy.integrate"], name)
    return Tableau(*(getattr(method, field) for field in Tableau._fields))


def _number(t: Any) -> Any:
    return np.reshape(cast_to(array_like(t), np.float64), ())


def _vector(y0: Any) -> Any:
    found: Any = np.atleast_1d(cast_to(array_like(y0), np.float64))
    if found.ndim != 1:
        raise ShapeError("y0 has one axis", place=tracing.user_place())
    return found
