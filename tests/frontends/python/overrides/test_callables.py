"""Functions inside of transforms, objects, methods, decorators and partials are served as plain functions are."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.testing import check_grads

X = np.array([0.7, 1.9, -0.4])
TABLE = np.array([0.5, -1.0, 2.0, 0.25])


def in_a_loop(x: Any) -> Any:
    def step(carry: Any, now: Any) -> Any:
        return np.array([carry[0] + now, carry[1] * 0.5]), math.sin(now)

    carry, collected = ps.scan(step, np.zeros(2), x)
    return np.sum(carry) + np.sum(collected)


def in_a_gradient(x: Any) -> Any:
    return np.sum(ps.grad(lambda y: np.prod([y[0], y[1], 2.0]))(x))


def in_branches(x: Any) -> Any:
    if x[0] > 0:
        return np.linalg.norm([x[0], x[1]])
    return math.exp(x[2])


@ps.primitive
def area(x: Any) -> Any:
    return np.prod([x[0], x[1]])


@pytest.mark.parametrize("function", [in_a_loop, in_a_gradient, in_branches, lambda x: area(x) * x[2]])
def test_inner_functions_are_served_too(function: Callable[[Any], Any]) -> None:
    gradient = ps.grad(function)
    for point in (X, -X):
        steps = [(function(point + h) - function(point - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(gradient(point), steps, rtol=1e-6, atol=1e-8)


class Model:
    def __init__(self) -> None:
        self.table = TABLE * 2

    def __call__(self, x: Any) -> Any:
        return np.sum(np.array([x[0], x[1]]) * self.table[:2])


def doubled(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(function)
    def twice(x: Any) -> Any:
        return 2.0 * np.sum([function(x), 1.0])

    return twice


@pytest.mark.parametrize(
    "function",
    [
        Model(),
        Model().__call__,
        doubled(lambda x: np.prod([x[0], x[2]])),
        functools.partial(lambda scale, x: scale * np.max([x[0], x[1]]), 3.0),
    ],
)
def test_objects_methods_decorators_and_partials_are_served(function: Callable[[Any], Any]) -> None:
    check_grads(function, X, symbolic=False, order=1)
