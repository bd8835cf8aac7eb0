"""Functions in C that the user's code calls, with and without arguments."""

import itertools
from typing import Any

import pytest

import primsplit as ps


@pytest.mark.parametrize("counter", [itertools.count, lambda: itertools.count(step=3)], ids=["count", "step"])
def test_a_counter_without_a_start_counts_in_a_function_with_branches(counter: Any) -> None:
    def function(x: Any) -> Any:
        numbers = counter()
        if x > 0:
            next(numbers)
        return (next(numbers) + 1.0) * x

    program = ps.trace(function, 1.0)
    assert [program(x) for x in (2.0, -2.0)] == [function(x) for x in (2.0, -2.0)]
