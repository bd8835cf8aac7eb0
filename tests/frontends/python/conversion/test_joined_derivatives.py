"""Joined branches whose sides take derivatives, run loops or call primitives of this package."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from tests.frontends.python.conversion.test_harmless import depth
from tests.numpy.agreement import check_grads

X = np.array([0.3, 0.7, -0.2])


def valley(x):
    return np.sum((x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


slope = ps.grad(valley)


@ps.primitive
def squared(x):
    return x * x


def by_its_own_name(x):
    for _ in range(14):
        if np.sum(x) > 1:
            change = slope(x)
            x = x - 0.1 * change
    return np.sum(x)


def made_where_it_is_called(x):
    for _ in range(14):
        if np.sum(x) > 1:
            x = x - 0.1 * ps.grad(valley)(x)
        else:
            change = ps.jvp(valley, (x,), (np.ones(3),))[1]
            x = x + change * 0.01
    return np.sum(x)


def bfgs(x):
    inverse = np.eye(3)
    value, found = ps.value_and_grad(valley)(x)
    for _ in range(12):
        if np.max(np.abs(found)) < 1e-6:
            break
        way = -inverse @ found
        if way @ found > 0:
            way = -found
        size = 1.0
        for _ in range(6):
            if valley(x + size * way) <= value + 1e-4 * size * (way @ found):
                break
            size = size * 0.5
        new = x + size * way
        value, after = ps.value_and_grad(valley)(new)
        step, change = new - x, after - found
        if step @ change > 1e-10:
            rate = 1.0 / (step @ change)
            left = np.eye(3) - rate * np.outer(step, change)
            inverse = left @ inverse @ left.T + rate * np.outer(step, step)
        x, found = new, after
    return value + np.sum(x * x)


def with_a_loop_and_a_lambda(x):
    for _ in range(14):
        if np.sum(x) > 1:
            rate = 0.9 + 0.01 * x[0]
            x = ps.fori_loop(0, 3, lambda i, held, rate=rate: held * rate, x)
        else:
            x = x + 0.1
    return np.sum(x)


def with_a_primitive(x):
    for _ in range(14):
        x = 0.7 * squared(x) if np.sum(x) > 1 else x + 0.1
    return np.sum(x)


JOINED = [
    by_its_own_name, made_where_it_is_called, pytest.param(bfgs, marks=pytest.mark.slow), with_a_loop_and_a_lambda,
    with_a_primitive,
]  # fmt: skip


@pytest.mark.parametrize("function", JOINED)
def test_a_side_may_take_derivatives(function: Callable[..., Any]) -> None:
    program = ps.trace(function, X)
    assert depth(program.block) <= 3
    for x in (X, -X, 2 * X[::-1]):
        np.testing.assert_allclose(program(x), function(x), rtol=1e-9)
    check_grads(function, X, symbolic=False)


calls: list[int] = []


def counting(x):
    calls.append(1)
    return np.sum(x * x) * len(calls)


def of_a_function_that_counts(x):
    calls.clear()
    total = 0.0
    for value in x:
        if value > 0:
            total = total + ps.grad(counting)(x[:2]) @ x[1:3]
        total = total + value
    return total


def test_a_derivative_of_what_does_more_is_right_or_refused() -> None:
    x = np.linspace(-0.9, 1.0, 7)
    wanted = of_a_function_that_counts(x)
    try:
        program = ps.trace(of_a_function_that_counts, x)
    except ps.PrimsplitError:
        return
    np.testing.assert_allclose(program(x), wanted, rtol=1e-12)
