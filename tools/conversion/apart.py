"""Statements that keep the two sides of an `if` from one If. With over 1,024 paths such a function is refused."""

import contextlib
import random
from types import SimpleNamespace
from typing import Any

import numpy as np

from tools.conversion.rows import Row, Section

TOTAL = 0.0
APART = "the branch at line N cannot become one If: "


def an_assert(x: Any) -> Any:
    for k in range(12):
        if x > 0.1 * k:
            assert k < 20
            x = 0.9 * x
    return x


def a_raise(x: Any) -> Any:
    for k in range(12):
        if x > 0.1 * k:
            with np.errstate(all="ignore"):
                if k > 20:
                    raise ValueError("never")
            x = 0.9 * x
    return x


def a_return(x: Any) -> Any:
    for k in range(12):
        if x > 0.1 * k:
            with np.errstate(all="ignore"):
                if k > 10:
                    return x
            x = 0.9 * x
    return x


def a_break(x: Any) -> Any:
    for k in range(12):
        if x > 0.1 * k:
            with np.errstate(all="ignore"):
                if k > 10:
                    break
            x = 0.9 * x
    return x


def a_continue(x: Any) -> Any:
    for k in range(12):
        if x > 0.1 * k:
            with np.errstate(all="ignore"):
                x = 0.9 * x
                continue
        x = x + 0.1
    return x


def a_function(x: Any) -> Any:
    for k in range(12):
        if x > 0.1 * k:

            def scaled(v: Any) -> Any:
                return 0.9 * v

            x = scaled(x)
    return x


def a_lambda(x: Any) -> Any:
    for k in range(12):
        if x > 0.1 * k:
            scaled: Any = lambda v: 0.9 * v
            x = scaled(x)
    return x


def a_class(x: Any) -> Any:
    for k in range(12):
        if x > 0.1 * k:

            class Local:
                scale = 0.9

            x = Local.scale * x
    return x


def an_import(x: Any) -> Any:
    for k in range(12):
        if x > 0.1 * k:
            import math

            x = 0.9 * math.sin(x)
    return x


def an_import_of_a_name(x: Any) -> Any:
    for k in range(12):
        if x > 0.1 * k:
            from math import sin

            x = 0.9 * sin(x)
    return x


def a_del(x: Any) -> Any:
    for k in range(12):
        if x > 0.1 * k:
            y = 0.9 * x
            x = y
            del y
    return x


def a_del_of_an_element(x: Any) -> Any:
    held = {"last": x}
    for k in range(12):
        if x > 0.1 * k:
            held[str(k)] = x
            del held[str(k)]
            x = 0.9 * x
    return x


def a_global(x: Any) -> Any:
    for k in range(12):
        if x > 0.1 * k:
            global TOTAL
            TOTAL = x
            x = 0.9 * x
    return x


def a_global_of_the_function(x: Any) -> Any:
    global TOTAL
    for k in range(12):
        if x > 0.1 * k:
            TOTAL = x
            x = 0.9 * x
    return x


def a_nonlocal(x: Any) -> Any:
    last = x

    def steps(v: Any) -> Any:
        for k in range(12):
            if v > 0.1 * k:
                nonlocal last
                last = v
                v = 0.9 * v
        return v

    return steps(x) + last


def a_yield(x: Any) -> Any:
    def steps() -> Any:
        for k in range(12):
            if x > 0.1 * k:
                yield 0.9 * x

    return sum(steps())


def a_yield_from(x: Any) -> Any:
    def steps() -> Any:
        for k in range(12):
            if x > 0.1 * k:
                yield from (x, 0.9 * x)

    return sum(steps())


def a_walrus(x: Any) -> Any:
    for k in range(12):
        if x > 0.1 * k:
            x = (y := 0.9 * x) + 0.01 * y
    return x


def a_context(x: Any) -> Any:
    for k in range(12):
        if x > 0.1 * k:
            with contextlib.suppress(ValueError):
                x = 0.9 * x
    return x


def an_error_with_a_name(x: Any) -> Any:
    for k in range(12):
        if x > 0.1 * k:
            try:
                x = 0.9 * x
            except ValueError as error:
                print(error)
    return x


def a_loop_with_an_else(x: Any) -> Any:
    for k in range(12):
        if x > 0.1 * k:
            for _ in range(2):
                x = 0.95 * x
            else:
                x = x - 0.01
    return x


def a_set(x: Any) -> Any:
    for k in range(12):
        if x > 0.1 * k:
            x = x * len({1, 2}) * 0.45
    return x


def a_call_of_an_element(x: Any) -> Any:
    functions = [np.sin, np.cos]
    for k in range(12):
        if x > 0.1 * k:
            x = functions[k % 2](x)
    return x


def random_numbers(x: Any) -> Any:
    for k in range(12):
        if x > 0.1 * k:
            x = 0.9 * x + 0 * random.Random(k).random()
    return x


def an_object_of_python(x: Any) -> Any:
    state = SimpleNamespace(speed=x)
    for k in range(12):
        if state.speed > 0.1 * k:
            state.speed = 0.9 * state.speed
    return state.speed


def one_of_two_lists(x: Any) -> Any:
    one, two = [1.0], [2.0]
    held = one
    for k in range(12):
        if x > 0.1 * k:
            held = two if held is one else one
            x = 0.9 * x
    return held[0] * x


KEPT_APART = Section(
    "Many branches: what keeps an If apart",
    "A function with more than 1,024 paths is refused where a side has one of these. The error names the first such "
    "branch. With fewer paths each of them is recorded.",
    [
        Row("`assert`", an_assert, refused=APART + "it asserts"),
        Row(
            "`raise` inside of another statement",
            a_raise,
            refused=APART + "it raises an error: give a name a flag instead",
        ),
        Row(
            "`return` inside of another statement",
            a_return,
            refused=APART + "it returns from inside of another statement",
        ),
        Row(
            "`break` inside of another statement",
            a_break,
            refused=APART + "it leaves a loop from inside of another statement",
        ),
        Row(
            "`continue` inside of another statement",
            a_continue,
            refused=APART + "it goes on with a loop from inside of another statement",
        ),
        Row("`def`", a_function, refused=APART + "it defines a function"),
        Row("a lambda with a name", a_lambda, refused=APART + "it calls scaled"),
        Row("`class`", a_class, refused=APART + "it defines a class"),
        Row("`import`", an_import, refused=APART + "it imports"),
        Row("`from ... import`", an_import_of_a_name, refused=APART + "it imports"),
        Row("`del`", a_del, refused=APART + "it deletes a name"),
        Row("`del` of an element", a_del_of_an_element, refused=APART + "it deletes a name"),
        Row("`global`", a_global, refused=APART + "it gives values to names of its module"),
        Row(
            "a name that the function declares `global`",
            a_global_of_the_function,
            refused="the function branches on traced values without end: it has more than",
        ),
        Row("`nonlocal`", a_nonlocal, refused=APART + "it gives values to names of the function around it"),
        Row("`yield` on one side", a_yield, refused=APART + "it yields"),
        Row("`yield from`", a_yield_from, refused=APART + "it yields"),
        Row("`:=`", a_walrus, refused=APART + "it gives a name a value with :="),
        Row("`with` of another kind", a_context, refused=APART + "it enters a context"),
        Row("`except ... as`", an_error_with_a_name, refused=APART + "it gives the error that it catches a name"),
        Row("a loop with `else`", a_loop_with_an_else, refused=APART + "it has a loop with an else"),
        Row("a set", a_set, refused=APART + "it has a Set in it"),
        Row("a call of an element", a_call_of_an_element, refused=APART + "it calls what an expression gives"),
        Row("random numbers", random_numbers, refused=APART + "it calls random"),
        Row(
            "attributes of Python's own objects",
            an_object_of_python,
            refused=APART + "it writes to what is no traced array, list, dictionary or plain object",
        ),
        Row(
            "one of two lists", one_of_two_lists, refused=APART + "held is a list on both sides, and no number or array"
        ),
    ],
)
