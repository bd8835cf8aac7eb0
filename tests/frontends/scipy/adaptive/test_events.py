"""Events of scipy.integrate.solve_ivp: when they are, what ends a solution, and derivatives of both."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import primsplit as ps
from primsplit.testing import check_grads

P = np.array([9.8, 1.3])
FINE = {"rtol": 1e-10, "atol": 1e-10}


def marked(event: Any, terminal: Any = None, direction: float = 0) -> Any:
    event.terminal, event.direction = terminal, direction
    return event


def fall(t: Any, y: Any, p: Any) -> Any:
    """A ball in air: its height and its speed."""
    return [y[1], -p[0] - 0.1 * y[1] * p[1]]


def swing(t: Any, y: Any, p: Any) -> Any:
    """A pendulum."""
    return [y[1], -p[0] * np.sin(y[0])]


def ground() -> Any:
    return marked(lambda t, y, p: y[0], True, -1)


def top() -> Any:
    return marked(lambda t, y, p: y[1])


def falling(p: Any, events: Any, span: Any = (0, 10), **options: Any) -> Any:
    return solve_ivp(fall, span, [p[1], 2.0], args=(p,), events=events, **FINE | options)


def swinging(p: Any, *events: Any, span: Any = (0, 6), **options: Any) -> Any:
    return solve_ivp(swing, span, [1.0, 0.3 * p[1]], args=(p,), events=list(events), **FINE | options)


def bounces(p: Any) -> Any:
    """A ball that jumps thrice, slower each time."""
    t, y, times = 0.0, np.array([p[1], 0.0]), []
    for _ in range(3):
        found = solve_ivp(fall, (t, 10), y, args=(p,), events=ground(), **FINE)
        t, y = found.t[-1], found.y[:, -1] * np.array([0.0, -0.8])
        times.append(t)
    return np.stack(times)


def thresholded(p: Any) -> Any:
    """A known equation, until what it gives is as large as a traced value."""
    reached = marked(lambda t, y: y[0] - p[1], True)
    return solve_ivp(lambda t, y: [1 + 0.1 * y[0]], (0, 5), [0.0], events=reached, **FINE).t[-1]


def chosen(p: Any) -> Any:
    """A branch over whether there was an event."""
    found = falling(p, ground())
    if found.status == 1:
        return found.t_events[0][0] * found.y_events[0][0, 1]
    return found.y[0, -1]


DERIVED: dict[str, Callable[[Any], Any]] = {
    "the time to hit": lambda p: falling(p, ground()).t_events[0],
    "what is there then": lambda p: falling(p, ground()).y_events[0],
    "the end": lambda p: falling(p, ground()).y[:, -1],
    "an event that ends nothing": lambda p: falling(p, top(), span=(0, 1)).t_events[0],
    "beside one that ends": lambda p: np.append(*falling(p, [top(), ground()]).t_events),
    "one that comes after the end is none": lambda p: falling(
        p, [ground(), marked(lambda t, y, p: y[0] + 1e-7)]
    ).y_events[0],
    "events of a swing": lambda p: swinging(p, marked(lambda t, y, p: y[0] * p[1])).t_events[0],
    "downwards": lambda p: swinging(p, marked(lambda t, y, p: y[0], False, -1)).t_events[0],
    "the third of them": lambda p: swinging(p, marked(lambda t, y, p: y[0], 3)).t[-1],
    "the first of two kinds": lambda p: swinging(p, marked(lambda t, y, p: y[0], 4), marked(lambda t, y, p: y[1], 2)).y[
        :, -1
    ],
    "at times": lambda p: falling(p, ground(), t_eval=np.linspace(0, 10, 41)).y,
    "at times without an end": lambda p: falling(p, top(), (0, 1), t_eval=[0.1, 0.7]).y,
    "continuous": lambda p: falling(p, ground(), dense_output=True).sol(np.array([0.1, 0.5])),
    "continuous beyond": lambda p: falling(p, ground(), dense_output=True).sol(0.9),
    "backwards": lambda p: swinging(p, marked(lambda t, y, p: y[0], 2), span=(3, -3)).t_events[0],
    "of the third order": lambda p: falling(p, ground(), method="RK23", rtol=1e-8, atol=1e-8).t[-1],
    "bounces": bounces,
    "a traced threshold": thresholded,
    "a branch": chosen,
    "with the time": lambda p: falling(p, marked(lambda t, y, p: y[0] - 0.3 * t, 1)).t[-1],
}


@pytest.mark.sweep(20)
@pytest.mark.parametrize("name", DERIVED)
def test_an_event_is_scipys_with_its_gradient(name: str) -> None:
    function = DERIVED[name]
    check_grads(lambda p: function(p), P, order=1, symbolic=False, tolerance=1e-5, value_tolerance=1e-9)


@pytest.mark.slow
def test_a_stiff_equation_has_events() -> None:
    def function(p: Any) -> Any:
        return falling(p, ground(), method="Radau").t[-1]

    check_grads(function, P, order=1, symbolic=False, tolerance=1e-5, value_tolerance=1e-7)


@pytest.mark.slow
def test_the_time_of_an_event_has_second_derivatives_at_any_size() -> None:
    """Of an equation whose solution is known, y exp(-t)."""

    def function(y: Any) -> Any:
        half = marked(lambda t, y: np.sum(y) - 0.7, True)
        return solve_ivp(lambda t, y: -y, (0, 9), y, events=half, rtol=1e-12, atol=1e-12).t_events[0]

    y = np.array([1.1, 2.3])
    np.testing.assert_allclose(ps.jacobian(function)(y), [[1 / 3.4, 1 / 3.4]], rtol=1e-9)
    check_grads(function, y, tolerance=1e-5, value_tolerance=1e-9)


@pytest.mark.slow
def test_steps_and_outcome_are_scipys() -> None:
    def function(p: Any) -> Any:
        found = solve_ivp(fall, (0, 2), [p[1], 2.0], args=(p,), events=[ground(), top(), lambda t, y, p: y[0] - 99])
        return found.t, found.y, found.success, found.status, *found.t_events, *found.y_events[:2]

    for p in (P, np.array([0.1, 1.3])):
        for one, other in zip(ps.trace(function, P)(p), function(p), strict=True):
            np.testing.assert_allclose(one, np.reshape(other, np.shape(one)), rtol=1e-10, atol=1e-14)


def test_a_number_of_events_is_whole_and_positive() -> None:
    for terminal in (-1, 1.5):
        event = marked(lambda t, y, p: y[0], terminal)
        with pytest.raises(ValueError, match="boolean or positive integer"):
            ps.trace(lambda p, event=event: falling(p, event).t, P)


@pytest.mark.slow
def test_no_events_are_none() -> None:
    check_grads(lambda p: falling(p, [], (0, 1)).y[:, -1], P, order=1, symbolic=False, tolerance=1e-5)
