"""Tuples of which only the run knows some parts are compared as Python compares tuples."""

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import primsplit as ps

POINTS = [*map(np.array, itertools.product([-1.0, 0.5, 2.0], repeat=4)), np.array([0.3, -0.2, 0.3, 0.7])]


class Step(NamedTuple):
    """A cost and where it comes from."""

    cost: Any
    place: tuple[int, int]


def aligned(x: Any) -> Any:
    """Dynamic time warping, with the place that each cost comes from."""
    a, b = x[:2], x[2:]
    costs = {(i, j): (np.inf, 0, 0) for i in range(3) for j in range(3)}
    costs[0, 0] = (0.0, 0, 0)
    for i, j in itertools.product((1, 2), (1, 2)):
        before = [(costs[place][0], *place) for place in ((i - 1, j), (i, j - 1), (i - 1, j - 1))]
        cost, row, column = min(before)
        costs[i, j] = (cost + abs(a[i - 1] - b[j - 1]) * (1 + 0.1 * row + 0.01 * column), row, column)
    return costs[2, 2][0]


def nested(x: Any) -> Any:
    first = max([Step(v * v, (k % 2, -k)) for k, v in enumerate(x)])
    return first.cost * (2 + first.place[0] + 0.1 * first.place[1])


def by_key(x: Any) -> Any:
    place = min(range(4), key=lambda k: (abs(x[k]), -k))
    return x[place] * (place + 1)


def kept(x: Any) -> Any:
    best = (1e9, -1)
    for k in range(4):
        best = min(best, ((x[k] - 0.1) ** 2, k))
    return best[0] * (best[1] + 1)


def one_object(x: Any) -> Any:
    first, second = (1.0, 0), (x[0], 1)
    least = min(first, second)
    return x[1] * (2.0 if least is first else 3.0)


FUNCTIONS = [aligned, nested, by_key, kept, one_object]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_least_tuple_is_pythons_also_where_its_first_parts_are_equal(function: Callable[[Any], Any]) -> None:
    program = ps.trace(function, POINTS[0])
    for x in POINTS:
        np.testing.assert_allclose(program(x), function(x), rtol=1e-12)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_its_gradient_is_that_of_central_differences(function: Callable[[Any], Any]) -> None:
    x = np.array([0.31, -0.22, 0.47, 0.9])
    central = [(function(x + e) - function(x - e)) / 2e-6 for e in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(ps.grad(function)(x), central, rtol=1e-6, atol=1e-9)


def test_a_nan_is_not_less_and_one_object_equals_itself() -> None:
    def compared(x: Any) -> Any:
        return min([(x[0], 2.0), (x[1], 1.0)])[1] + 10 * min([(x, 2.0) for x in [x[2]] * 2] + [(x[3], 0.5)])[1]

    program = ps.trace(compared, POINTS[0])
    for x in ([np.nan, 1.0, 2.0, 3.0], [1.0, np.nan, np.nan, 3.0], [2.0, 2.0, 1.0, np.nan]):
        np.testing.assert_allclose(program(np.array(x)), compared(np.array(x)))


def test_the_least_of_nothing_is_pythons_error() -> None:
    with pytest.raises(ValueError, match="empty"):
        ps.trace(lambda x: x * min([]), 1.0)
