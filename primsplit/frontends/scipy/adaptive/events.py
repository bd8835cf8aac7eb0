"""Events of scipy.integrate.solve_ivp: where a function of t and y crosses 0, and where that ends the solution.

A crossing is detected at the ends of steps, in the loop that finds the steps. The time of the crossing is a root of the
event along the step's polynomial, with the derivative from this equation.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from primsplit.frontends.scipy.adaptive.runge_kutta import Steps, on_polynomial
from primsplit.frontends.scipy.optimize.scalars import RTOL, brentq
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import array_like
from primsplit.tracing.broadcasting import count_up, reshape_to
from primsplit.tracing.calls.primitive import stop_gradient
from primsplit.tracing.control.scanning import mapped

Event = Callable[[Any, Any], Any]


class Watch(NamedTuple):
    """Events, the direction in which each counts (0 for both), and how many of each end the solution."""

    events: tuple[Event, ...]
    directions: tuple[float, ...]
    most: tuple[float, ...]

    @property
    def may_end(self) -> bool:
        """Whether one of them ends the solution."""
        return min(self.most, default=np.inf) < np.inf

    def values(self, t: Any, y: Any) -> Any:
        """The values of the events at a time, [events]."""
        return np.stack([_number(event(t, y)) for event in self.events])

    def start(self, t: Any, y: Any) -> Any:
        """The initial carry of the steps: the events' values at the last end, and how many of each occurred."""
        return self.values(t, y), op.Identity(np.zeros(len(self.events)))

    def seen(self, carry: Any, t: Any, y: Any, is_good: Any) -> tuple[Any, Any]:
        """The carry after a step that ends at t, and which events are in it."""
        before, counts = carry
        now = self.values(t, y)
        up, down = (before <= 0) & (now >= 0), (before >= 0) & (now <= 0)
        directions = np.asarray(self.directions, np.float64)
        crossed = is_good & ((up & (directions >= 0)) | (down & (directions <= 0)))
        return (np.where(is_good, now, before), counts + crossed), crossed

    def goes_on(self, carry: Any) -> Any:
        """Whether none of the events has been there as often as ends the solution."""
        return np.all(carry[1] < np.asarray(self.most))


class Seen(NamedTuple):
    """When the events were [their number, each], what y was there [their number, n], and where the solution ends."""

    times: list[Any]
    y: list[Any]
    is_ended: Any
    last: Any
    y_last: Any


def watch(events: Any, bind: Callable[[Event], Event]) -> Watch:
    """SciPy's events with their attributes, each bound to the arguments of the equation. Raises ValueError."""
    given: Sequence[Event] = (events,) if callable(events) else tuple(events)
    directions = tuple(float(getattr(event, "direction", 0)) for event in given)
    return Watch(tuple(map(bind, given)), directions, tuple(map(_most, given)))


def _most(event: Event) -> float:
    """Return the number of events of a kind that end the solution; infinity if none does."""
    terminal = getattr(event, "terminal", None)
    if terminal is None or terminal == 0:
        return np.inf
    if int(terminal) != terminal or terminal < 0:
        raise ValueError("The `terminal` attribute of each event must be a boolean or positive integer.")
    return float(terminal)


def seen(steps: Steps, span: tuple[Any, Any], y0: Any, given: Watch) -> Seen:
    """The events of steps taken, and what the solution is where they or `span` end."""
    before = np.concatenate([np.reshape(span[0], (1,)), steps.ends])
    y_before = np.concatenate([y0[None], steps.y])
    found = [_roots(event, steps, before, y_before, steps.crossed[:, i]) for i, event in enumerate(given.events)]
    last, y_last = before[-1], y_before[-1]
    ending = [i for i, most in enumerate(given.most) if most < np.inf]
    if not ending:
        return Seen([t for t, _ in found], [y for _, y in found], np.asarray(False), last, y_last)
    direction = np.sign(span[1] - span[0])
    counts = np.sum(steps.crossed, axis=0)
    # The event that ends the solution, if one does, is the last one of its kind.
    has_ended = [counts[i] >= given.most[i] for i in ending]
    times = [np.where(ends, _last(found[i][0], last), last) for ends, i in zip(has_ended, ending, strict=True)]
    values = [np.where(ends, _last(found[i][1], y_last), y_last) for ends, i in zip(has_ended, ending, strict=True)]
    first = np.argmin(stop_gradient(direction * np.stack(times)))
    last, y_last = np.stack(times)[first], np.stack(values)[first]
    kept = [_until(t, y, last, direction) if len(found) > 1 else (t, y) for t, y in found]
    return Seen([t for t, _ in kept], [y for _, y in kept], np.any(np.stack(has_ended)), last, y_last)


def _roots(event: Event, steps: Steps, before: Any, y_before: Any, crossed: Any) -> tuple[Any, Any]:
    """When an event is in the steps that it is in, and what y is then."""
    places = op.Compress(count_up(crossed.shape[0]), crossed, axis=0)

    def root(step: Any) -> Any:
        start, end, y, polynomial = step
        t = brentq(lambda t: _number(event(t, on_polynomial(start, end, y, polynomial, t))), start, end, (), RTOL, RTOL)
        return t, on_polynomial(start, end, y, polynomial, t)

    rows = (before[:-1], steps.ends, y_before[:-1], steps.polynomials)
    found: tuple[Any, Any] = mapped(root, tuple(np.take(a, places, axis=0) for a in rows))
    return found


def _last(rows: Any, otherwise: Any) -> Any:
    """The last row, or something else of its shape where there is none."""
    return np.concatenate([otherwise[None], rows])[-1]


def _until(times: Any, y: Any, last: Any, direction: Any) -> tuple[Any, Any]:
    """The events that are not after the last time."""
    is_there = stop_gradient(~(direction * times > direction * last))
    places = op.Compress(count_up(times.shape[0]), is_there, axis=0)
    return np.take(times, places), np.take(y, places, axis=0)


def _number(value: Any) -> Array:
    return reshape_to(cast_to(array_like(value), np.float64), ())
