"""Statements that may be joined: what a branch may not do is told with its reason."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import ConcretizationError


def test_what_cannot_become_one_if_is_told() -> None:
    def listing(x):
        total = 0.0
        for value in x:
            if value > 0:
                input("positive")
            total = total + value
        return total

    with pytest.raises(ConcretizationError, match=r"branch at line \d+ cannot become one If: it calls input"):
        ps.trace(listing, -np.ones(70))


def raises_and_catches(x):
    total = 0.0
    for value in x:
        if value > 0:
            try:
                if value > 0.5:
                    raise ValueError
                total = total + value
            except (ValueError, TypeError):
                total = total - value
    return total


def with_a_name_inside(x):
    total = 0.0
    for value in x:
        if abs(value) < 1 + (half := value / 2):
            total, last = total + half, half
        else:
            total, last = total * 0.5, value
        total = total * last
    return total


def returns_lists(x):
    def sign(value):
        if value > 0:
            return [1]
        return []

    return sum(value for value in x if sign(value))


def defines_a_function(x):
    total = 0.0
    for value in x:
        if value > 0:

            def doubled(value=value):
                return value * 2

            total = total + doubled()
    return total


def sets_a_key(x):
    held, total = {"first": 1.0}, 0.0
    for k, value in enumerate(x):
        if value > 0:
            held[f"key {k}"] = value
        total = total + len(held)
    return total


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (sets_a_key, "held has key 0 on one side alone"),
        (raises_and_catches, "it raises an error: give a name a flag instead"),
        (with_a_name_inside, "it gives a name a value with :="),
        (defines_a_function, "it defines a function"),
        (returns_lists, "what it returns is a list on both sides, and no number or array"),
    ],
)
def test_what_a_branch_may_not_do_to_be_joined_is_told(function: Callable[..., Any], why: str) -> None:
    with pytest.raises(ConcretizationError, match=rf"branch at line \d+ cannot become one If: {why}"):
        ps.trace(function, -np.ones(70))
