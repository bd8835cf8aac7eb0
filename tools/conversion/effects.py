"""Changes by a function of objects that are not its own."""

import time
from typing import Any

import numpy as np

from tools.conversion.rows import Row, Section

LOG: list[str] = []


class Counter:
    """A counter of calls."""

    calls = 0


COUNTS = {"calls": 0}
TABLE = np.array([1.0, 2.0])


def an_outer_list(x: Any) -> Any:
    LOG.append("called")
    return x * len(LOG[-1:]) if x > 0 else x


def an_outer_dictionary(x: Any) -> Any:
    COUNTS["calls"] += 1
    return x * x if x > 0 else x


def a_known_number_in_an_outer_array(x: Any) -> Any:
    TABLE[0] += 1.0
    return x if x > 0 else TABLE[1] * x


def a_traced_number_in_an_outer_array(x: Any) -> Any:
    TABLE[0] = x
    return np.sum(TABLE)


def an_attribute_of_a_class(x: Any) -> Any:
    Counter.calls += 1
    return x * x if x > 0 else x


GENERATOR = np.random.default_rng(3)


def draws(x: Any) -> Any:
    return x + 0 * GENERATOR.normal() if x > 0 else x


def draws_of_a_seed(x: Any) -> Any:
    return x * np.random.default_rng(3).normal()


def a_text(x: Any) -> Any:
    if x > 0:
        print("positive")
    return x * x


def a_clock(x: Any) -> Any:
    return x * (time.time() > 0)


EFFECTS = Section(
    "What is not the function's own",
    "A function that has branches which are not joined runs several times while it is traced. What a run changes is "
    "undone before the next, so that it is changed once; a text is printed once.",
    [
        Row("a list from outside", an_outer_list, ifs=1, changes=lambda: len(LOG)),
        Row("a dictionary from outside", an_outer_dictionary, ifs=1, changes=lambda: COUNTS["calls"]),
        Row("an attribute of a class", an_attribute_of_a_class, ifs=1, changes=lambda: Counter.calls),
        Row(
            "known numbers in an outer array",
            a_known_number_in_an_outer_array,
            ifs=1,
            changes=lambda: int(TABLE[0]),
        ),
        Row(
            "traced numbers in an outer array",
            a_traced_number_in_an_outer_array,
            refused="a traced value is written to an array of NumPy's",
        ),
        Row("`print`", a_text),
        Row("random numbers of a seed", draws_of_a_seed),
        Row("random numbers from outside", draws, ifs=1, warns="FrozenNumberWarning"),
        Row("a clock", a_clock, warns="FrozenNumberWarning"),
    ],
)
