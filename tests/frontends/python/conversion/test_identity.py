"""Tests by `is`, by class and by pattern of values from joined branches, in this file and others."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import ConcretizationError
from primsplit.tracing.branching import exploring
from tests.frontends.python.conversion import told_elsewhere
from tests.frontends.python.conversion.following import compare, with_few_paths

rng = np.random.default_rng(5)


def compared_with_true_elsewhere(x):
    total = 0.0
    for k, value in enumerate(x):
        is_up = bool(value > 0.2 or x[k - 1] > 1)
        total += told_elsewhere.signed(is_up, value * k)
    return total


def compared_with_true_here(x):
    total = 0.0
    for value in x:
        is_up = False
        if value > 0.2:
            is_up = True
        total += value**2 if is_up is True else -value
    return total


def kept_by_an_object(x):
    switch, total = told_elsewhere.Switch(False), 0.0
    for value in x:
        if value > 0.2:
            switch.is_on = True
        elif value < -0.5:
            switch.is_on = False
        total += switch.sign * value
    return total


def of_the_class_of_both_sides(x):
    total = 0.0
    for value in x:
        is_up, count = False, 1
        if value > 0.2:
            is_up, count = True, 2
        total += told_elsewhere.of_a_boolean(is_up) * value + (2 if isinstance(is_up, bool) else 5) * count
        total += value**2 * told_elsewhere.of_a_whole_number(count) * (1 if type(count) is int else 7)
    return total


def of_truth_values_that_are_computed_with(x):
    is_high, is_low, is_odd, total = False, True, False, 0.0
    for k, value in enumerate(x):
        is_high |= bool(value > 1.5)
        is_low &= bool(value < 1.2)
        is_odd ^= not value > 0
        is_up, is_left = False, False
        if value > 0:
            is_up = True
        if x[k - 1] > value:
            is_left = True
        total += (is_up + is_left) * value - (-is_up) * value**2 + (1.0 if is_odd is True else value)
    return total + (x[0] if is_high is True else x[1]) * (2 if is_low is not False else 3)


FOLLOWED = [
    of_truth_values_that_are_computed_with, compared_with_true_elsewhere, compared_with_true_here, kept_by_an_object,
    of_the_class_of_both_sides,
]  # fmt: skip


@pytest.mark.sweep(2)
@pytest.mark.parametrize("function", FOLLOWED)
def test_what_both_sides_have_in_common_is_told(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    compare(with_few_paths(function, monkeypatch), function)


def asking(ask: Callable[..., Any], one: Any, other: Any) -> Callable[..., Any]:
    """A function that asks of what it was given on one side of a branch or on the other."""

    def asks(x):
        total = 0.0
        for value in x:
            held = one
            if value > 0.2:
                held = other
            total += ask(held) * value
        return total

    return asks


ANSWERS = {
    "isinstance": (told_elsewhere.of_a_whole_number, 1, 2.5),
    "type": (lambda value: 2.0 if type(value) is int else 3.0, 1, 2.5),
    "class": (told_elsewhere.of_class, 1, 2.5),
    "attribute": (told_elsewhere.of_attribute, 1, 2.5),
    "pattern": (told_elsewhere.matched, True, 2.5),
    "object": (lambda value: told_elsewhere.is_the(value, ANSWERS["object"][1]), np.ones(2), np.zeros(2)),
}


@pytest.mark.parametrize("asked", ANSWERS)
def test_what_the_sides_answer_otherwise_is_refused(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function = asking(*ANSWERS[asked])
    with pytest.raises(ConcretizationError, match=r"without end|depends on the run"):
        with_few_paths(function, monkeypatch)(rng.normal(size=12))


def test_functions_without_a_source_are_not_given_what_they_tell_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[str, Any] = {}
    exec("def signed(is_up, value): return value if is_up is True else -value", names)
    function = asking(lambda is_up: names["signed"](is_up, 2.0), False, True)
    with pytest.raises(ConcretizationError, match="without end"):
        with_few_paths(function, monkeypatch)(rng.normal(size=12))


def of_a_quotient(x: Any) -> Any:
    number = 2.0
    if x[0] > 0.2:
        number = 3
    number = number // 2
    return 1.0 if isinstance(number, int) else 2.0


def of_a_sum(x: Any) -> Any:
    number = 2.0
    if x[0] > 0.2:
        number = True
    number = number + 1 if x[1] > 0.5 else -number
    return 1.0 if type(number) is float else 2.0


def of_an_element(x: Any) -> Any:
    number = 1
    if x[0] > 0.2:
        number = x[1]
    return 1.0 if isinstance(number // 2, int) else 2.0


@pytest.mark.parametrize("function", [of_a_quotient, of_a_sum, of_an_element], ids=lambda f: f.__name__)
def test_what_is_made_of_a_number_of_one_class_or_another_is_of_either(
    function: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exploring, "FEW", 1)  # so that its branches are joined
    program = ps.trace(function, np.ones(2))
    for x in np.array([[0.5, 0.7], [0.5, -0.7], [-0.5, 0.7], [-0.5, 0.3]]):
        assert program(x) == function(x)
