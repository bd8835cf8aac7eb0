"""Functions in C that the user's code calls, with and without arguments."""

import functools
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


class Cached:
    """An object with a method that Python caches."""

    rate = 2.0

    def _grown(self, v: Any) -> Any:
        return self.rate * v if v > 0 else v

    grown = functools.cache(_grown)


def test_a_cached_method_is_called_past_its_cache_for_traced_arguments() -> None:
    owner = Cached()
    program = ps.trace(lambda x: owner.grown(x) + owner.grown(3.0), 1.0)
    assert [float(program(x)) for x in (1.5, -1.5)] == [9.0, 4.5]
    assert Cached.grown.cache_info().currsize == 1
    assert type(owner.grown(3.0)) is float
