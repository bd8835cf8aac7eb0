"""Minima within constraints: right to rounding, and so are their derivatives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, NonlinearConstraint, minimize

import primsplit as ps
from tests.frontends.scipy.optimize.exact import check_exact

P = np.array([1.0, 2.0])

CONVEX = np.array([[2.0, 0.3], [0.3, 1.0]])


def quadratic(x: Any, p: Any) -> Any:
    return x @ CONVEX @ x / 2 - np.sum(p * x)


SUM = {"type": "eq", "fun": lambda x: np.sum(x) - 1}


def away(x: Any, p: Any) -> Any:
    return np.sum((x - p) ** 2)


def with_sum_one(p: Any) -> Any:
    """The least of `quadratic` where x[0] + x[1] = 1, by Lagrange's multiplier."""
    inverse = np.linalg.inv(CONVEX)
    return inverse @ (p + (1 - np.sum(inverse @ p)) / np.sum(inverse))


def within(limit: Any, objective: Callable[..., Any] = away, **options: Any) -> Callable[[Any], Any]:
    return lambda p: minimize(objective, np.full(2, 0.2), args=(p,), constraints=limit, **options).x


EXACT: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], Any]] = {
    "a sum that is 1": (within(SUM, quadratic), with_sum_one, P),
    "a linear equation": (within(LinearConstraint(np.ones((1, 2)), 1, 1), quadratic), with_sum_one, P),
    "a sum that is 1, of what is not negative": (
        within(SUM, bounds=[(0, None)] * 2), lambda p: np.stack([0 * p[0], 1 + 0 * p[1]]), P + np.array([-1, 3.0])
    ),
    "in a disc": (
        within({"type": "ineq", "fun": lambda x: 1 - x @ x}), lambda p: p / np.linalg.norm(p), P
    ),
    "in a disc, a line's least value": (
        within(NonlinearConstraint(lambda x: x @ x, -np.inf, 1), lambda x, p: p @ x),
        lambda p: -p / np.linalg.norm(p),
        P,
    ),
    "a constraint that is slack": (within({"type": "ineq", "fun": lambda x: 9 - x @ x}), lambda p: p, P),
    "a constraint with arguments, one that holds and one that is slack": (
        lambda p: minimize(away, np.zeros(2), args=(0 * p,), constraints=[
            {"type": "eq", "fun": lambda x, a: x[0] - a, "args": (p[0] ** 2,)},
            {"type": "INEQ", "fun": lambda x: x - np.array([0.5, -1.0])},
        ]).x,
        lambda p: np.stack([p[0] ** 2, 0 * p[1]]),
        P,
    ),
    "between sides": (
        within([LinearConstraint(np.eye(2), [-1, -np.inf], [9, 1.5]), LinearConstraint([[1.0, 0]], 0.5, 0.5)]),
        lambda p: np.stack([0.5 + 0 * p[0], 1.5 + 0 * p[1]]),
        P,
    ),
}  # fmt: skip


def test_two_constraints_that_say_the_same_have_a_value_and_no_derivative() -> None:
    twice = within([SUM, {"type": "eq", "fun": lambda x: 2 * np.sum(x) - 2}], quadratic)
    np.testing.assert_allclose(ps.trace(twice, P)(P), with_sum_one(P), rtol=1e-7)
    assert not np.isfinite(ps.jacobian(twice)(P)).any()


@pytest.mark.sweep(9)
@pytest.mark.parametrize("name", EXACT)
def test_a_minimum_is_right_to_rounding_and_so_are_its_derivatives(name: str) -> None:
    check_exact(*EXACT[name])
