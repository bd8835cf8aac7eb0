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


def test_a_cached_method_that_reads_traced_state_leaves_nothing_in_the_cache() -> None:
    """The cache kept an array of the trace, which the next trace took for a constant: its gradient was 0."""

    class Scaled:
        rate: Any = 1.0

        def _times(self, n: int) -> Any:
            return self.rate * n

        times = functools.cache(_times)

    outside = Scaled()

    def function(x: Any) -> Any:
        inside = Scaled()
        inside.rate, outside.rate = x, 2 * x
        return inside.times(3) + outside.times(4)

    for _ in range(2):
        assert ps.grad(function)(2.0) == 11.0
    assert Scaled.times.cache_info().currsize == 0


def test_a_class_attribute_may_be_traced() -> None:
    def function(x: Any) -> Any:
        class Spring:
            stiffness = 2 * x

            def energy(self, at: float) -> Any:
                return self.stiffness * at**2 if at > 1 else self.stiffness

        return Spring().energy(3.0) + Spring().energy(0.5)

    assert ps.grad(function)(2.0) == 20.0


def test_the_gradient_of_a_cached_function_is_that_of_the_function() -> None:
    cached = functools.lru_cache(lambda x: 2 * x if x > 0 else x)
    assert [ps.grad(cached)(x) for x in (0.5, -0.5)] == [2.0, 1.0]
    assert cached.cache_info().currsize == 0
