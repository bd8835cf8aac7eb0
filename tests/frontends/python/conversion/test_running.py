"""Conditions of functions with joined statements: `and`, `or` and `not` as Python evaluates them."""

import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.frontends.python.conversion.running import Joins
from primsplit.frontends.python.conversion.unknown import joining

JOINS = Joins([SimpleNamespace(at=("model.py", 4))])  # type: ignore[list-item]  # of which only the place is read
SIGNS = [np.array(s) for s in itertools.product((-1.0, 1.0), repeat=3)]


def terms(x: Any) -> list[Callable[[], Any]]:
    return [lambda k=k: x[k] > 0 for k in range(3)]  # type: ignore[misc]


CONDITIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], bool]]] = {
    "and": (lambda x: JOINS.all_of(0, *terms(x)), lambda x: bool(x[0] > 0 and x[1] > 0 and x[2] > 0)),
    "or": (lambda x: JOINS.any_of(0, *terms(x)), lambda x: bool(x[0] > 0 or x[1] > 0 or x[2] > 0)),
    "not": (lambda x: JOINS.none_of(terms(x)[1]), lambda x: not x[1] > 0),
    "and behind a known term": (lambda x: JOINS.all_of(0, lambda: True, *terms(x)), lambda x: bool((x > 0).all())),
    "or in and": (
        lambda x: JOINS.all_of(0, lambda: JOINS.any_of(0, *terms(x)[:2]), terms(x)[2]),
        lambda x: bool((x[0] > 0 or x[1] > 0) and x[2] > 0),
    ),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_combined_condition_is_pythons_in_a_program_and_of_plain_numbers(name: str) -> None:
    function, wanted = CONDITIONS[name]

    def joined(x: Any) -> Any:
        with joining(of_one_type=False):
            return np.where(function(x), 1.0, 0.0)

    program = ps.trace(joined, SIGNS[0])
    for x in SIGNS:
        assert bool(program(x)) is wanted(x)
        assert bool(function(x)) is wanted(x)


def test_plain_terms_behind_the_one_that_decides_are_not_evaluated() -> None:
    asked: list[int] = []

    def term(number: int, *, value: bool) -> Callable[[], bool]:
        return lambda: (asked.append(number), value)[1]  # type: ignore[func-returns-value]

    assert JOINS.all_of(0, term(1, value=True), term(2, value=False), term(3, value=True)) is False
    assert JOINS.any_of(0, term(4, value=False), term(5, value=True), term(6, value=False)) is True
    assert asked == [1, 2, 4, 5]


def test_a_term_that_decides_whatever_the_run_says_is_the_answer() -> None:
    def joined(x: Any) -> Any:
        with joining(of_one_type=False):
            assert JOINS.any_of(0, lambda: x > 0, lambda: True) is True
            assert JOINS.all_of(0, lambda: x > 0, lambda: False) is False
        return x

    ps.trace(joined, 1.0)
