"""scipy.integrate's ordinary differential equations of traced values: SciPy's solutions, and their derivatives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import odeint, solve_ivp

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from primsplit.testing import check_grads

P = np.array([1.3, 1.1])
START = np.array([1.0, 1.5])
FINE = {"rtol": 1e-10, "atol": 1e-10}


def prey(t: Any, y: Any, p: Any) -> Any:
    return [p[0] * y[0] - p[1] * y[0] * y[1], 0.5 * y[0] * y[1] - y[1]]


def oscillator(y: Any, t: Any, p: Any) -> Any:
    return np.array([y[1], -p[0] * y[0] - p[1] * y[1]])


EQUATIONS: dict[str, Callable[[Any], Any]] = {
    "at the steps' ends": lambda p: solve_ivp(lambda t, y: prey(t, y, p), (0, 3), START, **FINE).y[:, -1],
    "of the third order": lambda p: solve_ivp(prey, (0, 1), START, "RK23", args=(p,), rtol=1e-8, atol=1e-8).y[:, -1],
    "at times": lambda p: solve_ivp(prey, (0, 3), START, args=(p,), t_eval=np.linspace(0, 3, 5), **FINE).y,
    "backwards": lambda p: solve_ivp(prey, (3, 0), p, args=(p,), t_eval=[2.5, 0.5], **FINE).y,
    "to a traced time": lambda p: solve_ivp(prey, (0, p[0]), START, args=(p,), **FINE).y[:, -1],
    "continuous": lambda p: solve_ivp(prey, (0, 3), START, args=(p,), dense_output=True, **FINE).sol(1.2),
    "with steps of a size": lambda p: solve_ivp(prey, (0, 1), p, args=(p,), first_step=0.02, max_step=0.1).y[:, 1:4],
}


@pytest.mark.sweep(9)
@pytest.mark.parametrize("name", EQUATIONS)
def test_a_solution_is_scipys_with_its_gradient(name: str) -> None:
    function = EQUATIONS[name]
    check_grads(lambda p: function(p), P, order=1, symbolic=False, tolerance=1e-5, value_tolerance=1e-10)


def test_a_solution_that_ends_early_says_so() -> None:
    def function(p: Any) -> Any:
        found = solve_ivp(lambda t, y: y * y * p[0], (0, 2), np.ones(1), t_eval=[0.5, 1.5])
        return found.y, found.success

    y, success = ps.trace(function, P)(P)
    assert not success
    assert np.isfinite(y[0, 0])
    assert np.isnan(y[0, 1])


@pytest.mark.slow
@pytest.mark.sweep(2)
@pytest.mark.parametrize("first", [False, True])
def test_odeint_is_as_near_as_its_tolerances_with_its_gradient(first: bool) -> None:
    times = np.linspace(0, 3, 7)

    def function(p: Any) -> Any:
        if first:
            return odeint(lambda t, y, p: oscillator(y, t, p), [1.0, 0.0], times, args=(p,), tfirst=True)
        return odeint(oscillator, [1.0, 0.0], times, (p,), rtol=1e-11, atol=1e-11)

    found = ps.trace(function, P)(P)
    np.testing.assert_allclose(found, function(P), atol=2e-7)
    damping = P[1] / 2
    speed = np.sqrt(P[0] - damping**2)
    exact = np.exp(-damping * times) * (np.cos(speed * times) + damping / speed * np.sin(speed * times))
    np.testing.assert_allclose(found[:, 0], exact, atol=1e-8)
    check_grads(lambda p: function(p)[-1], P, order=1, symbolic=False, tolerance=1e-5, value_tolerance=1e-6)


FINEST = {"rtol": 1e-12, "atol": 1e-12}
"""So fine that the steps, which differ from one point of the differences to the next, change less than 1e-6 of them."""


def solved(y: Any) -> Any:
    return solve_ivp(lambda t, y: -y * y[::-1], (0, 0.5), y, **FINEST).y[:, -1]


def solved_implicitly(y: Any) -> Any:
    return solve_ivp(lambda t, y: -y * y[::-1] * np.exp(-t), (0, 0.5), y, "Radau", **FINE).y[:, -1]


def stepped(y: Any) -> Any:
    return odeint(lambda y, t: -y * y[::-1], y, [0.0, 0.5], **FINEST)[-1]


@pytest.mark.sweep(2)
@pytest.mark.parametrize("function", [solved, pytest.param(solved_implicitly, marks=pytest.mark.slow), stepped])
def test_solutions_have_first_and_second_derivatives_at_every_size(function: Callable[[Any], Any]) -> None:
    check_grads(function, START, value_tolerance=1e-9)


def test_one_file_solves_systems_of_any_size() -> None:

    def f(y: Any) -> Any:
        return solve_ivp(lambda t, y: -y + np.roll(y, 1) * 0.5, (0, 1), y, t_eval=[0.3, 1.0], **FINE).y

    program = ps.trace(f, ps.spec("float64", ["N"]))
    for count in (1, 4):
        y = np.linspace(0.5, 1.5, count)
        np.testing.assert_allclose(program(y), f(y), rtol=1e-10)


def test_what_there_is_no_form_of_is_told_at_the_users_line() -> None:
    with pytest.raises(UnsupportedFunction, match="has no form for traced arrays") as caught:
        ps.trace(lambda p: solve_ivp(prey, (0, 1), p, method="Adams", args=(p,)).y, P)
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__


# Complex states: closed forms of y' = i k y, whose solution is exp(i k t) y0, and central differences of SciPy.

TURNING = {"rtol": 1e-9, "atol": 1e-11}


def turning(k: Any, **options: Any) -> Any:
    return solve_ivp(lambda t, y: 1j * k * y, (0, 1.0), np.array([1.0 + 0j, 2j]), **TURNING, **options)


def passing_half(t: Any, y: Any) -> Any:
    return y[0].real - 0.5


passing_half.terminal = True  # type: ignore[attr-defined]  # as SciPy asks for it

COMPLEX_STATES: dict[str, tuple[Callable[[Any], Any], float]] = {
    "the end": (lambda k: np.abs(turning(k).y[0, -1] - 1) ** 2, 2 * np.sin(1.3)),
    "a time": (lambda k: np.real(turning(k, t_eval=[0.5, 1.0]).y[1, 0]), -np.cos(0.65)),
    "in between": (lambda k: np.imag(turning(k, dense_output=True).sol(0.3)[0]), 0.3 * np.cos(0.39)),
    "an event": (lambda k: turning(k, events=passing_half).t_events[0][0], -np.arccos(0.5) / 1.3**2),
}


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", COMPLEX_STATES)
def test_the_gradient_through_a_complex_state_is_that_of_its_closed_form(name: str) -> None:
    function, wanted = COMPLEX_STATES[name]
    np.testing.assert_allclose(ps.grad(function)(1.3), wanted, rtol=1e-5)
    np.testing.assert_allclose(ps.trace(function, 1.0)(1.3), function(1.3), rtol=1e-6)


def test_a_complex_state_may_begin_with_a_traced_number_and_have_tolerances_for_each() -> None:
    def end(k):
        def slopes(t, y, c):
            return [1j * c * y[0] + y[1], -y[1]]

        options = {"rtol": 1e-9, "atol": np.array([1e-11, 1e-12])}
        return np.real(solve_ivp(slopes, (0, 1.0), [1 + 0j, k], args=(k,), **options).y[0, -1])

    step = 1e-5
    np.testing.assert_allclose(ps.grad(end)(1.3), (end(1.3 + step) - end(1.3 - step)) / (2 * step), rtol=1e-5)
