"""A Rosenbrock method for stiff equations: SciPy's solutions, few steps, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import primsplit as ps
from primsplit.testing import check_grads

P = np.array([1.3, 1.1])
FINE = {"rtol": 1e-10, "atol": 1e-10}


def prey(t: Any, y: Any, p: Any) -> Any:
    return [p[0] * y[0] - p[1] * y[0] * y[1], 0.5 * y[0] * y[1] - y[1]]


def kinetics(t: Any, y: Any, p: Any) -> Any:
    """Robertson's reactions, forced by the time, whose rates are eight powers of ten apart."""
    first, second, third = 0.04 * p[0] * y[0], 1e4 * p[1] * y[1] * y[2], 3e7 * y[1] ** 2
    return [second - first + 0.1 * np.cos(t), first - second - third, third]


STIFF: dict[str, Callable[[Any], Any]] = {
    "to the end": lambda p: solve_ivp(kinetics, (0, 40), [1.0, 0.0, 0.0], "Radau", args=(p,), **FINE).y[[0, 2], -1],
    "at times": lambda p: solve_ivp(kinetics, (0, 40), [1.0, 0.0, 0.0], "BDF", [1.0, 20.0, 33.0], args=(p,), **FINE).y[
        0
    ],
    "that is not": lambda p: solve_ivp(prey, (0, 3), p, "Radau", dense_output=True, args=(p,), **FINE).sol(1.2),
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", STIFF)
def test_a_stiff_equation_is_solved_with_its_gradient(name: str) -> None:
    """Against Radau's steps at tolerances that leave SciPy and the differences eight digits."""
    function = STIFF[name]
    check_grads(lambda p: function(p), P, order=1, symbolic=False, tolerance=1e-5, value_tolerance=1e-7)


def test_a_stiff_equation_takes_few_steps() -> None:
    def steps(p: Any) -> Any:
        return solve_ivp(kinetics, (0, 40), [1.0, 0.0, 0.0], "Radau", args=(p,), rtol=1e-6, atol=1e-9).t

    assert len(ps.trace(steps, P)(P)) < 400
