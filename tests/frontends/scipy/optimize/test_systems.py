"""Newton's steps for systems of equations, shortened until the sum of squares falls."""

from collections.abc import Callable
from typing import Any

import numpy as np

import primsplit as ps
from primsplit.frontends.scipy.optimize.systems import damped_newton


def found(f: Callable[[Any], Any], start: Any) -> Any:
    return ps.trace(lambda x: damped_newton(1e-12)(f, x), start)(start)


def test_the_roots_of_two_equations_are_found_to_rounding() -> None:
    """A circle of radius 2 meets the line x = y."""
    root = found(lambda v: np.stack([v[0] ** 2 + v[1] ** 2 - 4, v[0] - v[1]]), np.array([3.0, 0.5]))
    np.testing.assert_allclose(root, [np.sqrt(2)] * 2, rtol=1e-15)


def test_steps_that_would_leave_are_shortened() -> None:
    """Newton's whole steps on arctan diverge from 3."""
    np.testing.assert_allclose(found(lambda x: np.arctan(x - 1), np.array([4.0])), [1.0], atol=1e-14)


def test_a_number_and_a_start_that_is_the_root_are_served() -> None:
    np.testing.assert_allclose(found(lambda x: x**3 - 8, np.array(1.0)), 2.0, rtol=1e-15)
    np.testing.assert_array_equal(found(lambda x: x * x - 4.0, np.array([2.0])), [2.0])


def test_where_there_is_no_root_there_is_no_number() -> None:
    assert np.isnan(found(lambda x: x * x + 1, np.array([0.7]))).all()
