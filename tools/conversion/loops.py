"""Loops: those whose steps are known, and those that the numbers end."""

from typing import Any

import numpy as np

import primsplit as ps
from tools.conversion.rows import Row, Section


def a_for(x: Any) -> Any:
    y = x
    for k, scale in enumerate([0.5, 1.0, 2.0]):
        y = y * scale if y > k else y + 1
    return y


def over_an_array(x: Any) -> Any:
    total = 0.0
    for v in x:
        if v > 0:
            total = total + v * v
    return total


def a_break(x: Any) -> Any:
    y = x
    for _ in range(30):
        if y > 2:
            break
        y = y + 0.5 * x * x
    return y


def a_continue(x: Any) -> Any:
    y = 0.0
    for v in (x, -x, 2 * x):
        if v < 0:
            continue
        y = y + v * v
    return y


def a_return_inside(x: Any) -> Any:
    for k in range(20):
        if x * k > 1:
            return x * k
    return x


def an_else(x: Any) -> Any:
    for k in range(10):
        if x * k > 3:
            y = x * k
            break
    else:
        y = -x
    return y


def a_while_with_a_limit(x: Any) -> Any:
    step, y = 0, x
    while y < 2.05 and step < 20:
        y, step = y + 0.3, step + 1
    return y


def a_while_of_known_numbers(x: Any) -> Any:
    n = 1
    while n < 20:
        n, x = 2 * n, np.sin(x)
    return x


def a_while_that_the_numbers_end(x: Any) -> Any:
    while x > 1:
        x = 0.5 * x
    return x


def a_while_loop_of_ours(x: Any) -> Any:
    return ps.while_loop(lambda v: v > 1, lambda v: 0.5 * v, x)


def steps_from_the_numbers(x: Any) -> Any:
    y = 0.0
    for k in range(int(np.abs(x) * 3)):
        y = y + k * x
    return y


def nested_loops(x: Any) -> Any:
    y = 0.0
    for i in range(4):
        for j in range(4):
            if i * x > j:
                y = y + x
    return y


LOOPS = Section(
    "Loops",
    "The steps of a Python loop are recorded one by one. Where the numbers end a loop, something else must end it too: "
    'its steps are cut where the loop may have ended. `branches="guard"` takes loops without such an end.',
    [
        Row("`for`, `enumerate`", a_for, ifs=3),
        Row("`for` over an array", over_an_array, at=[np.array([-0.7, 1.3, 0.4]), np.array([0.2, -1.0, -2.0])], ifs=1),
        Row("`break`", a_break, ifs=60),
        Row("`continue`", a_continue, ifs=3),
        Row("`return` inside", a_return_inside, ifs=21),
        Row("`else`", an_else, ifs=1),
        Row("`while` with a limit", a_while_with_a_limit, ifs=41),
        Row("`while` of known numbers", a_while_of_known_numbers),
        Row(
            "`while` that only the numbers end",
            a_while_that_the_numbers_end,
            refused="the branch at line N cannot become one If: the loop ends by its numbers alone",
        ),
        Row("`ps.while_loop` instead", a_while_loop_of_ours),
        Row("a number of steps that only the run knows", steps_from_the_numbers, refused="iteration asks for a size"),
        Row("a loop in a loop", nested_loops, ifs=16),
    ],
)
