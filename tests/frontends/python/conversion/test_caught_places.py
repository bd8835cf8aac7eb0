"""Errors of places that lists and arrays do not have: the user's code catches them, and the run takes that path."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps

Function = Callable[[Any], Any]


def read(x: Any) -> Any:
    k = 1 if x[0] > 0 else 6
    try:
        return [1.0, 2.0, 3.0][k] * x[1]
    except IndexError:
        return -x[1]


def read_in_a_branch(x: Any) -> Any:
    k = 1 if x[0] > 0 else 6
    y = x[2]
    try:
        if x[1] > 0:
            y = [1.0, 2.0, 3.0][k] * x[1]
    except IndexError:
        y = -x[1]
    return y


def written(x: Any) -> Any:
    held = [x[0], x[1]]
    k = 1 if x[2] > 0 else 5
    try:
        held[0] = 9.0
        held[k] = 7.0
        held[0] += 1.0
    except IndexError:
        held[0] -= 1.0
    return held[0] + 10 * held[1]


def first_of_a_list_that_may_be_empty(x: Any) -> Any:
    held = []
    if x[0] > 0:
        held.append(x[1])
    try:
        return held[0] * 2
    except IndexError:
        return -x[1]


def largest_of_a_list_that_may_be_empty(x: Any) -> Any:
    held = []
    if x[0] > 0:
        held.append(x[1])
    try:
        return max(held)
    except ValueError:
        return -x[1]


def of_an_array(x: Any) -> Any:
    try:
        return x[np.argmax(x) + 1] * 2
    except IndexError:
        return -x[2]


def of_an_array_in_a_branch(x: Any) -> Any:
    y = 0.0
    try:
        if x[1] > 0:
            y = x[np.argmax(x) + 1] * 2
    except IndexError:
        y = -x[2]
    return y * x[0]


def of_an_array_by_an_array(x: Any) -> Any:
    try:
        return x[np.array([0, np.argmax(x) + 1])].sum()
    except IndexError:
        return -x[2]


def of_as_many_rows_as_the_run_says(x: Any) -> Any:
    some = x[:2] if x[0] > 0 else x[:0]
    try:
        return some.max()
    except ValueError:
        return -x[1]


def of_a_tuple_by_a_tuple_of_errors(x: Any) -> Any:
    k = 0
    for value in x:
        if value > 0:
            k += 1
    try:
        return (1.0, 2.0, x[0])[k] * x[1]
    except (KeyError, IndexError):
        return -x[1]


FUNCTIONS: list[Function] = [
    read, read_in_a_branch, written, first_of_a_list_that_may_be_empty, largest_of_a_list_that_may_be_empty,
    of_an_array, of_an_array_in_a_branch, of_an_array_by_an_array, of_as_many_rows_as_the_run_says,
    of_a_tuple_by_a_tuple_of_errors,
]  # fmt: skip
POINTS = [np.array(signs) * [0.7, 1.2, 0.4] for signs in np.ndindex(2, 2, 2) for signs in [2.0 * np.array(signs) - 1]]
POINTS += [np.array([0.1, 0.2, 1.5]), np.array([1.5, -0.2, 0.1])]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_caught_error_of_a_place_is_a_path(function: Function) -> None:
    differentiated = ps.value_and_grad(function)
    for x in POINTS:
        value, slope = differentiated(x)
        np.testing.assert_allclose(value, function(x), rtol=1e-12)
        differences = [(function(x + e) - function(x - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(slope, differences, atol=1e-8)


def test_a_place_that_is_not_there_fails_where_nobody_catches_it() -> None:
    program = ps.trace(lambda x: x[np.argmax(x) + 1], ps.spec("float64", [3]))
    assert program(np.array([3.0, 2.0, 1.0])) == 2.0
    with pytest.raises(ps.PrimsplitError):
        program(np.array([1.0, 2.0, 3.0]))
