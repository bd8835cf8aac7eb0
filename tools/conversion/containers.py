"""Lists, dictionaries, objects and arrays that a branch changes."""

from collections import deque
from types import SimpleNamespace
from typing import Any

import numpy as np

from tools.conversion.rows import Row, Section


def a_list_that_grows(x: Any) -> Any:
    found = [x]
    for k in range(8):
        if x > 0.1 * k:
            found.append(x * k)
    return sum(found)


def an_element_of_a_list(x: Any) -> Any:
    held = [x, 2.0]
    if x > 0:
        held[1] = x * x
    return held[0] * held[1]


def a_dictionary(x: Any) -> Any:
    held = {"low": x}
    if x > 0:
        held["low"] = x * x
        held["high"] = 3.0
    return held["low"] + held.get("high", 0.5)


def a_traced_key(x: Any) -> Any:
    return {0: 1.0, 1: x}[int(x)]


def a_set_of_numbers(x: Any) -> Any:
    return x * len({x, 2.0})


def a_queue(x: Any) -> Any:
    waiting = deque([x, 1.0])
    if x > 0:
        waiting.append(x * x)
    return sum(waiting)


def an_attribute(x: Any) -> Any:
    state = SimpleNamespace(speed=x)
    if x > 0:
        state.speed = 2 * x
    return state.speed * x


def a_buffer(x: Any) -> Any:
    out = np.zeros(3)
    for k in range(3):
        if x > k:
            out[k] = x * k + 1
    return np.sum(out * out)


def a_view(x: Any) -> Any:
    out = np.zeros(4)
    half = out[:2]
    if x > 0:
        half[:] = x
    return np.sum(out) * x


def two_arrays(x: Any) -> Any:
    old, new = np.zeros(2), np.ones(2) * x
    if x > 0:
        old, new = new, old
    return np.sum(old) + 3 * np.sum(new)


def arrays_of_two_sizes(x: Any) -> Any:
    return np.sum(np.ones(2) * x if x > 0 else np.ones(3) * x)


CONTAINERS = Section(
    "Lists, dictionaries, objects and arrays",
    "What a side changes is noted and undone, and the If gives the values that differ.",
    [
        Row("a list that grows on one side", a_list_that_grows, ifs=8),
        Row("an element of a list", an_element_of_a_list, ifs=1),
        Row("a dictionary", a_dictionary, ifs=1),
        Row("a dictionary by a traced key", a_traced_key, at=[0.7, 1.3]),
        Row("a set of traced numbers", a_set_of_numbers, refused="a hash was asked of a value"),
        Row("a `deque`", a_queue, ifs=1),
        Row("an attribute", an_attribute, ifs=1),
        Row("elements of an array", a_buffer, ifs=3),
        Row("a view of an array", a_view, ifs=1),
        Row("names that exchange arrays", two_arrays, ifs=1),
        Row("arrays of two sizes", arrays_of_two_sizes, ifs=1),
    ],
)
