"""Minima within bounds of each unknown: right to rounding, and so are their derivatives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds, minimize

import primsplit as ps
from primsplit.frontends.scipy.optimize.bounds import box_of
from tests.frontends.scipy.optimize.exact import check_exact

P = np.array([1.0, 2.0])

CONVEX = np.array([[2.0, 0.3], [0.3, 1.0]])


def quadratic(x: Any, p: Any) -> Any:
    return x @ CONVEX @ x / 2 - np.sum(p * x)


def held(p: Any) -> Any:
    """x[0] is held at 0.5, x[1] is where the rest of the gradient is 0."""
    return minimize(quadratic, np.zeros(2), args=(p + np.array([4.0, 0]),), bounds=[(0, 0.5), (None, None)]).x


EXACT: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], Any]] = {
    "what a bound holds": (held, lambda p: np.stack([0.5 + 0 * p[0], p[1] - 0.15]), P),
    "a bound that is traced": (
        lambda p: minimize(lambda x: np.sum((x - 3) ** 2), np.zeros(2), bounds=Bounds(-1.0, p)).x, lambda p: p, P
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
def test_a_minimum_is_right_to_rounding_and_so_are_its_derivatives(name: str) -> None:
    check_exact(*EXACT[name])


def test_an_unknown_is_free_inside_and_where_the_value_falls_inward() -> None:
    """At a lower bound a positive gradient holds it, at an upper one a negative gradient."""
    x = np.array([0.0, 0.0, 0.5, 1.0, 1.0])

    def free(x: Any, gradient: Any) -> Any:
        return box_of([(0, 1)] * 4 + [(None, None)], x).is_free(x, gradient)

    for sign, wanted in ((1.0, [False, False, True, True, True]), (-1.0, [True, True, True, False, True])):
        slopes = np.full(5, sign)
        np.testing.assert_array_equal(ps.trace(free, x, slopes)(x, slopes), wanted)


def test_a_start_is_moved_to_the_nearest_bound() -> None:
    x = np.array([-3.0, 0.25, 3.0])
    moved = ps.trace(lambda x: box_of(Bounds([0.0, 0.0, -np.inf], 1.0), x).clipped(x), x)(x)
    np.testing.assert_array_equal(moved, [0.0, 0.25, 1.0])


def test_bounds_that_cross_fail_in_the_run() -> None:
    program = ps.trace(lambda x, low: box_of([(low, 1.0)], x).clipped(x), P[:1], 0.0)
    np.testing.assert_array_equal(program(P[:1], 1.0), [1.0])
    with pytest.raises(ps.PrimsplitError, match="upper bound is less"):
        program(P[:1], 1.5)
