"""Conditions that may be traced are found in the source, so that a function of such branches runs once in a trace."""

import functools
import itertools
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.frontends.python.conversion.expected import expected_conditions

SPEC = ps.spec("float64", [3])
SCALE, FACTORS = 2, np.array([1.0, -2.0])


def of_arguments(x, n: int, width=0.5, *, scaled=True, mode="sum"):
    total = np.sum(x)  # not expected: no condition
    if scaled:
        total = total * width
    if mode == "sum" and n > 1:
        total = total + 1
    if total > 0:  # expected
        total = total * SCALE if SCALE > 1 else total
    while width > 2:  # expected
        width = width - 1
    y = total or 1.0  # expected
    assert isinstance(x, np.ndarray)
    assert x.ndim == 1
    return sum(v for v in x if v > FACTORS[0]) + y if total is not None else 0.0  # expected


def of_functions_inside(x):
    def inner(v):
        return v if v > 0 else 0.1 * v  # expected

    for k, v in enumerate(x):
        if k % 2 == 0 and (w := inner(v)) > 0:  # expected
            x = x + w
    return [None if v is None else v for v in x]


def of_patterns(x, n: int):
    match n:
        case 1:
            return x
    match x[0]:
        case 1.0:  # expected
            return x
        case _ if x[1] > 0:  # expected
            return 2 * x
    return x


def marked(function: Callable[..., Any]) -> set[int]:
    """Return the lines of a function that its comments call expected."""
    with open(__file__, encoding="utf-8") as file:
        lines = file.read().splitlines()
    first = function.__code__.co_firstlineno
    last = next(k for k in range(first, len(lines)) if not lines[k].strip() and not lines[k + 1].strip())
    return {k + 1 for k in range(first, last) if lines[k].endswith("# expected")}


@pytest.mark.parametrize("function", [of_arguments, of_functions_inside, of_patterns])
def test_conditions_of_flags_sizes_and_classes_are_not_expected(function: Callable[..., Any]) -> None:
    assert {place.line for place in expected_conditions(function)} == marked(function)


def leaky(v: Any) -> Any:
    return v if v > 0 else 0.1 * v


class Layer:
    """A class whose method branches."""

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def of(self, v: Any) -> Any:
        return v if v > self.rate else 0.1 * v


def by_name(x: Any) -> Any:
    return leaky(x[0])


def by_a_cell() -> Callable[[Any], Any]:
    held = {"function": leaky}
    return lambda x: held["function"](x[0])


def by_a_method() -> Callable[[Any], Any]:
    layers = [Layer(0.5)]
    return lambda x: layers[0].of(x[0])


def by_a_partial() -> Callable[[Any], Any]:
    return functools.partial(lambda f, x: f(x[0]), functools.lru_cache(leaky))


def by_a_transform() -> Callable[[Any], Any]:
    slope = ps.grad(leaky)
    return lambda x: slope(x[0])


def by_a_dispatch() -> Callable[[Any], Any]:
    dispatching = functools.singledispatch(lambda x: x)
    dispatching.register(np.ndarray)(leaky)
    return dispatching


@pytest.mark.parametrize("make", [lambda: by_name, by_a_cell, by_a_method, by_a_partial, by_a_transform, by_a_dispatch])
def test_functions_are_found_by_what_leads_to_them(make: Callable[[], Callable[[Any], Any]]) -> None:
    names = {place.function for place in expected_conditions(make())}
    assert names in ({"leaky"}, {"of"})


def lines_seen(function: Callable[..., Any], trace: Callable[[], object]) -> list[int]:
    """Return the lines of a function that a tracer sees while it is traced, in order."""
    seen: list[int] = []

    def watch(frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename == function.__code__.co_filename and frame.f_code.co_name == function.__name__:
            seen.extend([frame.f_lineno] * (event == "line"))
            return watch
        return None

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        trace()
    finally:
        sys.settrace(before)
    return [line - function.__code__.co_firstlineno for line in seen]


def many_branches(x):
    total = np.sum(x)
    for v in x:
        if v > 0:
            total = total + v * v
        else:
            w = 0.5 * v
            total = total - w
    return total


def test_a_tracer_sees_each_line_as_often_as_both_sides_run() -> None:
    seen = lines_seen(many_branches, lambda: ps.trace(many_branches, SPEC))
    assert [seen.count(line) for line in (1, 3, 4, 6, 7, 8)] == [1, 3, 3, 3, 3, 1]


def without_else(x):
    total = np.sum(x)
    if total > 0:
        total = total * x[0]
    return total


def test_a_tracer_sees_the_line_of_a_branch_without_else_once() -> None:
    assert lines_seen(without_else, lambda: ps.trace(without_else, SPEC)) == [1, 2, 3, 4]


def in_early_returns(x: Any, numbers: Iterator[int]) -> Any:
    next(numbers)
    if x[0] > 1:
        return x[1] * x[2]
    y = x[1] * leaky(x[2])
    if y > 0 and x[0] < 0:
        return y
    return x[0] * y


def in_nested_branches(x: Any, numbers: Iterator[int]) -> Any:
    next(numbers)
    y = x[0] * 1.0
    if x[0] > 0:
        y = x[1] * 2.0
        if y > 1:
            y = y * y
    return y


def in_a_loop(x: Any, numbers: Iterator[int]) -> Any:
    next(numbers)
    y = x[0] * 1.0
    for k in range(5):
        y = 0.5 * y if y > 0.1 else y + 1.0
        if y > k:
            y = y - x[1]
    return y


def in_a_method(x: Any, numbers: Iterator[int]) -> Any:
    next(numbers)
    return Layer(0.1).of(x[0]) * Layer(-0.1).of(x[1])


POINTS = np.random.default_rng(2).normal(size=(12, 3))


@pytest.mark.parametrize("function", [in_early_returns, in_nested_branches, in_a_loop, in_a_method])
def test_a_function_whose_branches_are_expected_runs_once(function: Callable[..., Any]) -> None:
    numbers = itertools.count()
    program = ps.trace(lambda x: function(x, numbers), SPEC)
    assert next(numbers) == 1
    for x in POINTS:
        np.testing.assert_allclose(program(x), function(x, itertools.count()), rtol=1e-12)


def of_a_name_that_is_known(x, size=3):
    held, n = [], 0
    for v in x:
        n = n + 1
        if n > size or n in held:
            continue
        held.append(v if n < 2 else 2 * v)
        try:
            held[-1] = held[-1] * (1 / (2 - n))
        except ZeroDivisionError:
            held.pop()
    return sum(held) if len(held) == n - 1 else 0.0


def test_an_expected_condition_that_is_known_is_answered_as_in_python() -> None:
    assert expected_conditions(of_a_name_that_is_known)
    program = ps.trace(of_a_name_that_is_known, np.ones(3))
    for x in POINTS[:3]:
        np.testing.assert_allclose(program(x), of_a_name_that_is_known(x), rtol=1e-12)


class Refusing:
    """A callable whose missing attributes are errors of another class than AttributeError."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __call__(self, x: Any) -> Any:
        return 2.0 * x


REFUSING = Refusing()


def test_a_missing_attribute_of_a_users_object_is_not_asked_for() -> None:
    np.testing.assert_array_equal(ps.grad(lambda w: np.sum(REFUSING(w)))(np.ones(3)), [2.0, 2.0, 2.0])
