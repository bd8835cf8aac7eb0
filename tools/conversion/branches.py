"""Statements that branch, raise, catch and give names values."""

from typing import Any

import numpy as np

from tools.conversion.rows import Row, Section


def if_elif_else(x: Any) -> Any:
    if x > 1:
        y = x * x
    elif x > 0:
        y = 2 * x - 1
    else:
        y = np.exp(x)
    if y < 0:
        pass
    return y


def an_early_return(x: Any) -> Any:
    if x < 0:
        return 0.1 * x
    y = x * x
    return y + 1


def a_choice(x: Any) -> Any:
    return x * x if x > 0 else -x


def many_ifs(x: Any) -> Any:
    y = 0.0
    for k in range(40):
        if x * k > y:
            y = y + 0.1 * x
    return y


def a_known_branch(x: Any) -> Any:
    return x * x if np.ndim(x) == 0 else np.sum(x)


def a_name_of_one_side(x: Any) -> Any:
    if x > 0:
        y = x * x
    return y if x > 0 else 3 * x


def a_name_that_may_be_missing(x: Any) -> Any:
    if x > 0:
        y = x * x
    return y


def a_name_that_may_be_none(x: Any) -> Any:
    found = None
    if x > 0:
        found = x * x
    return 1.0 if found is None else found


def results_of_two_structures(x: Any) -> Any:
    if x > 0:
        return x
    return x, 2 * x


def results_of_two_classes(x: Any) -> Any:
    return np.float64(x * x) if x > 0 else np.float32(x)


def a_walrus(x: Any) -> Any:
    if (y := np.sin(x)) > 0:
        return y
    return y * y


def an_array_as_a_test(x: Any) -> Any:
    if x > 0:
        return np.sum(x)
    return 0.0


def match_on_values(x: Any) -> Any:
    match x > 0, "up":
        case True, "up":
            return x * x
        case _:
            return -x


def match_on_patterns(x: Any) -> Any:
    match [x, 2.0]:
        case [a, b] if a > 0:
            return a * b
        case [a, *_]:
            return -a


def a_try(x: Any) -> Any:
    try:
        if x < 0:
            raise ValueError("negative")
        y = x * x
    except ValueError:
        y = 0.1 * x
    else:
        y = y + 1
    finally:
        scale = 2.0
    return y * scale


def a_singular_matrix(x: Any) -> Any:
    try:
        return np.linalg.inv(np.array([[x, 1.0], [0.0, 2.0]]))[0, 0]
    except np.linalg.LinAlgError:
        return 0.0


def an_exception_group(x: Any) -> Any:
    try:
        if x < 0:
            raise ExceptionGroup("several", [ValueError("negative")])
        y = x * x
    except* ValueError:
        y = 0.1 * x
    return y


def a_raise(x: Any) -> Any:
    if x < 0:
        raise ValueError("x is negative")
    return np.sqrt(x)


def an_assert(x: Any) -> Any:
    assert x > 0, "x must be positive"
    return np.log(x)


def a_with(x: Any) -> Any:
    with np.errstate(divide="ignore"):
        if x > 0:
            return np.log(x)
    return x


def assignments(x: Any) -> Any:
    y: Any = x
    (a, *others), last = (y, 2 * x, 3.0), y
    y += a if a > 0 else 1.0
    y *= 2
    return y * others[0] + last


def a_del(x: Any) -> Any:
    y, held = x * x, {"a": x, "b": 2.0}
    del held["a"]
    if x > 0:
        y = y + held["b"]
    del held
    return y


TOTAL = 0.0


def a_global(x: Any) -> Any:
    global TOTAL
    TOTAL = x * x if x > 0 else x
    return TOTAL + 1


def a_nonlocal(x: Any) -> Any:
    count = 0.0

    def add() -> None:
        nonlocal count
        if x > 0:
            count = count + x

    add()
    add()
    return count * x


def imports_and_definitions(x: Any) -> Any:
    import math

    class Local:
        scale = 2.0

    def scaled(v: Any) -> Any:
        return Local.scale * math.sin(v)

    return scaled(x) if x > 0 else x


def a_comprehension(x: Any) -> Any:
    return sum([v * v if v > 0 else v for v in (x, 1 - x)]) + sum({k: k * x for k in (1, 2)}.values())


def a_comprehension_with_a_test(x: Any) -> Any:
    return sum(v * v for v in (x, 1 - x, 2.0) if v > 0)


BRANCHES = Section(
    "Branches, errors and names",
    "A test of a traced value is recorded both ways. A path that raises makes the run fail.",
    [
        Row("`if`, `elif`, `else`", if_elif_else, ifs=1),
        Row("an early `return`", an_early_return, ifs=1),
        Row("`a if test else b`", a_choice, ifs=1),
        Row("forty `if`s", many_ifs, ifs=40),
        Row("a test that is known when the function is traced", a_known_branch),
        Row("a name that one side sets", a_name_of_one_side, ifs=1),
        Row(
            "a name without a value on one side",
            a_name_that_may_be_missing,
            fails="the program raises UnboundLocalError",
            ifs=1,
        ),
        Row("a name that is None on one side", a_name_that_may_be_none, ifs=1),
        Row(
            "results of another structure",
            results_of_two_structures,
            refused="the paths of the function return results of another structure or number of axes",
        ),
        Row(
            "results of another dtype",
            results_of_two_classes,
            refused="the paths of the function return float32 and float64",
        ),
        Row("`:=` in a test", a_walrus, ifs=1),
        Row(
            "the truth value of an array",
            an_array_as_a_test,
            refused="a condition must be one truth value, not bool[2]",
            at=[np.ones(2)],
        ),
        Row("`match` on values", match_on_values, ifs=2),
        Row("`match` with names and guards", match_on_patterns, ifs=1),
        Row("`try`, `except`, `else`, `finally`", a_try, ifs=1),
        Row("`except LinAlgError`", a_singular_matrix, at=[0.5, 0.0], smooth=False, ifs=1),
        Row("`except*`", an_exception_group, ifs=1),
        Row("`raise` on one side", a_raise, fails="the program raises ValueError: x is negative", ifs=1),
        Row("`assert`", an_assert, fails="the program raises AssertionError: x must be positive", ifs=1),
        Row("`with`", a_with, ifs=1),
        Row("`=`, `+=`, unpacking, annotations", assignments, ifs=1),
        Row("`del`", a_del, ifs=1),
        Row("`global`", a_global, ifs=1),
        Row("`nonlocal`", a_nonlocal, ifs=2),
        Row("`import`, `class`, `def` inside", imports_and_definitions, ifs=1),
        Row("a comprehension", a_comprehension, ifs=2),
        Row("a comprehension with a test", a_comprehension_with_a_test, ifs=1),
    ],
)
