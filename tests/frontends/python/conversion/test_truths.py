"""Truth values of Python's that only the run knows, compared by `is` where nothing is joined: `x.item() > 1` is one."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import ConcretizationError
from tests.frontends.python.conversion import told_elsewhere

POINTS = np.random.default_rng(3).normal(size=(12, 4))


def of_an_item(x):
    return np.sum(x**2) if (x[0].item() > 0.2) is True else x[1] * x[2]


def of_an_array_of_them(x):
    signs = (x > 0).tolist()
    return sum(v**2 if s is True else 3 * v for s, v in zip(signs, x, strict=True))


def not_true(x):
    is_up = x[0].item() > 0.2
    return x[1] * x[2] if is_up is not True else np.sum(x**2)


def of_any(x):
    is_up = any(v > 0.8 for v in x)
    both = np.array([x[0], x[1]])
    return np.sum(x**2) if is_up is True else np.sum(both) * x[2]


def looked_up(x):
    i = int(np.argmin(x[:2]))
    is_up = [True, False][i]
    return x[0] ** 2 if is_up is True else 3 * x[1]


def of_a_function_of_math(x):
    is_near = math.isclose(x[0], 0, abs_tol=0.5)
    return x[1] ** 2 if is_near is False else x[2] * x[0]


def of_two(x):
    is_up, is_down = x[0].item() > 0, x[1].item() < 0
    return x[2] ** 2 if is_up is is_down else x[3] * x[0]


def of_a_comparison_by_is(x):
    is_up = (x[0].item() > 0) is (x[1].item() < 0)
    return x[2] ** 2 if (is_up is not True) is False else x[3] * x[0]


def elsewhere(x):
    return told_elsewhere.signed(x[0].item() > 0.2, x[1] ** 2)


def matched_with_a_pattern(x):
    match x[0].item() > 0.2:
        case True:
            return np.sum(x**2)
        case _:
            return x[1] * x[2]


def raises_for_what_is_neither(x):
    is_up = x[0].item() > 0.2
    if is_up is True:
        return x[1] ** 2
    if is_up is False:
        return x[2] ** 3
    raise TypeError("neither")


def in_a_loop(x):
    def step(_, carry):
        return carry * 0.9 if (carry.item() > 0.2) is True else carry**2 + 0.1

    return ps.fori_loop(0, 5, step, x[0] * x[1])


CASES = [
    of_an_item, of_an_array_of_them, not_true, of_any, looked_up, of_a_function_of_math, of_two,
    of_a_comparison_by_is, elsewhere, matched_with_a_pattern, raises_for_what_is_neither, in_a_loop,
]  # fmt: skip


@pytest.mark.parametrize("function", CASES)
def test_is_true_says_what_the_run_knows(function: Callable[..., Any]) -> None:
    both = ps.value_and_grad(function)
    for x in POINTS:
        value, gradient = both(x)
        np.testing.assert_allclose(value, function(x), rtol=1e-12)
        slopes = [(function(x + h) - function(x - h)) / 2e-6 for h in 1e-6 * np.eye(4)]
        np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("branches", ["explore", "guard"])
def test_it_does_whatever_is_done_at_branches(branches: Any) -> None:
    both = ps.value_and_grad(of_an_item, branches=branches)
    for x in POINTS:
        np.testing.assert_allclose(both(x)[0], of_an_item(x), rtol=1e-12)


def test_a_function_without_a_source_is_refused_one_that_asks_for_none_is_not() -> None:
    names: dict[str, Any] = {}
    text = "def signed(x):\n    return x[1] if (x[0].item() > 0) is {} else -x[1]"
    exec(text.format("True"), names)
    with pytest.raises(ConcretizationError, match="signed compares what may be a truth value"):
        ps.grad(names["signed"])(POINTS[0])
    exec(text.format("None"), names)
    np.testing.assert_array_equal(ps.grad(names["signed"])(POINTS[0]), [0, -1, 0, 0])


def test_items_of_truth_values_are_pythons() -> None:
    def added(x):
        return ((x[0] > 0).item() + (x[1] > 0).item()) * x[2]

    program = ps.trace(added, ps.spec("float64", [4]))
    for x in POINTS:
        np.testing.assert_array_equal(program(x), added(x))
