"""Each construct that no nest has is refused at its line: order of turns, dependent ranges, statements, signatures."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from primsplit.frontends.loops.python_nest import parse_function
from primsplit.ir.errors import ParseError

xx = "no array"
Function = Callable[..., Any]


def cumsum(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
        y[i] = s


def cumsum_in_place(y):
    for i in range(1, len(y)):
        y[i] += y[i - 1]


def cumsum_by_elements(x, y):
    for i in range(1, len(x)):
        y[i] = y[i - 1] + x[i]


def triangle(x, y):
    for i in range(len(x)):
        for j in range(i):
            y[i] += x[j]


def carried_by_a_name(x, y):
    last = 0.0
    for i in range(len(x)):
        y[i] = x[i] - last
        last = x[i]


def written_again_and_again(x, y):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[j] = x[i, j]


def left_over(x, y):
    for i in range(len(x)):
        a = x[i]
    for i in range(len(x)):
        y[i] = a


def shifted_in_one_loop(x, y):
    for i in range(len(x) - 1):
        x[i] = 1.0
        y[i] = x[i + 1]


def combined_in_two_ways(x):
    s = 1.0
    for i in range(len(x)):
        s += x[i]
        s *= x[i]
    return s


def scattered_by_assignment(x, rows, y):
    for i in range(len(x)):
        y[rows[i]] = x[i]


def over_elements(x):
    s = 0.0
    for a in x:
        s += a
    return s


def with_steps(x, y):
    for i in range(0, len(x), 2):
        y[i] = x[i]


def while_positive(x, y):
    while x[0] > 0:
        y[0] = x[0]


def breaks(x, y):
    for i in range(len(x)):
        if x[i] < 0:
            break
        y[i] = x[i]


def calls_for_an_effect(x, y):
    for i in range(len(x)):
        print(x[i])


def with_slices(x, y):
    for i in range(len(x)):
        y[i] = x[i, :]


def misspelled(x, y):
    for i in range(len(x)):
        y[i] = xx[i]


def unknown_function(x, y):
    for i in range(len(x)):
        y[i] = np.expp(x[i])


def of_two_ranks(x, y):
    for i in range(len(x)):
        y[i] = x[i] + x[i, i]


def unused(x, y, z):
    for i in range(len(x)):
        y[i] = x[i]


def effectless(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]


def two_targets(x, y):
    for i in range(len(x)):
        a = y[i] = x[i]
        y[i] += a


def with_a_dtype(x):
    y = np.zeros(len(x), dtype=int)
    for i in range(len(x)):
        y[i] = x[i]
    return y


def with_defaults(x, y, alpha=1.0):
    for i in range(len(x)):
        y[i] = x[i] * alpha


def taken_name(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y = x[i]
    return y


# The line of each is counted from the function's first.
LIMITS: list[tuple[Function, int, str]] = [
    (cumsum, 4, "s is read in the loop that it is summed up by\n.*\n.*np.cumsum.*ps.scan"),
    (cumsum_in_place, 2, "a turn of i may touch an element of y that another turn writes\n.*\n.*np.cumsum"),
    (cumsum_by_elements, 2, "a turn of i may touch an element of y that another turn writes\n.*\n.*np.cumsum"),
    (triangle, 2, "a range of a nest may not depend on a loop around it\n.*\n.*mask: if j <= i"),
    (carried_by_a_name, 3, "last is read before the turn assigns it"),
    (written_again_and_again, 3, "several turns of the loops may write one element of y"),
    (left_over, 4, "a is what the last turn of a loop left"),
    (shifted_in_one_loop, 3, "a turn of i may touch an element of x that another turn writes"),
    (combined_in_two_ways, 4, "a loop combines what is outside of it in two ways"),
    (scattered_by_assignment, 2, "several turns of the loops may write one element of y"),
    (over_elements, 2, "a loop of a nest is over a range"),
    (with_steps, 1, "a range of a nest has no step"),
    (while_positive, 1, "a nest has no such statement: while"),
    (breaks, 3, "a nest has no such statement: break"),
    (calls_for_an_effect, 2, "a nest has no statement for its effect"),
    (with_slices, 2, "a nest has no slices"),
    (misspelled, 2, "xx is neither an argument nor assigned before\n.*\n.*Did you mean x"),
    (unknown_function, 2, "no function of numbers is called expp\n.*\n.*Did you mean exp"),
    (of_two_ranks, 2, "x has . indices here and . elsewhere"),
    (unused, 0, "the nest does not use its argument z"),
    (effectless, 0, "the nest writes no array, and returns none"),
    (two_targets, 2, "a nest assigns one thing at a time"),
    (with_a_dtype, 1, "an array that a nest makes has a shape, and nothing else"),
    (with_defaults, 0, "a nest has plain arguments, without defaults and stars"),
    (taken_name, 3, "y is taken"),
]


@pytest.mark.parametrize(("function", "line", "what"), LIMITS, ids=[f.__name__ for f, _, _ in LIMITS])
def test_what_no_nest_has_is_refused_at_its_line(function: Function, line: int, what: str) -> None:
    with pytest.raises(ParseError, match=what) as caught:
        parse_function(function)
    assert caught.value.place is not None
    assert caught.value.place.line == function.__code__.co_firstlineno + line
    assert len(str(caught.value).splitlines()) < 10


def test_a_function_without_source_is_refused() -> None:
    with pytest.raises(ParseError, match="the source of sin cannot be read"):
        parse_function(math.sin)
