"""Adaptive Runge-Kutta steps: SciPy's own steps, and gradients as near as the solution."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import primsplit as ps

P = np.array([1.3, 1.1])


def prey(t: Any, y: Any, p: Any) -> Any:
    return [p[0] * y[0] - p[1] * y[0] * y[1], 0.5 * y[0] * y[1] - y[1]]


def test_at_coarse_tolerances_the_gradient_is_as_near_to_the_exact_one_as_the_solution() -> None:

    def f(p: Any) -> Any:
        return solve_ivp(lambda t, y: -p[0] * y, (0, 2), [1.0]).y[0, -1]

    value, gradient = ps.value_and_grad(f)(P)
    exact = np.exp(-2 * P[0])
    assert float(value) == pytest.approx(exact, rel=5e-3)
    assert float(gradient[0]) == pytest.approx(-2 * exact, rel=5e-3)


def test_steps_and_outcome_are_scipys() -> None:
    def function(p: Any) -> Any:
        found = solve_ivp(prey, (0, 4), p, args=(p,))
        return found.t, found.y, found.success, found.status

    found, wanted = ps.trace(function, P)(P), function(P)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11)
