"""Transforms that are made alike of one function record it once."""

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps

FACTOR = 1.0


def weighed(x: Any, y: Any) -> Any:
    return FACTOR * np.sum(x**2 * y)


def traces() -> int:
    found: int = ps.counts().traces
    return found


X, Y = np.array([1.0, 2.0]), np.array([3.0, 5.0])
MADE: dict[str, Callable[[], Any]] = {
    "grad": lambda: ps.grad(weighed)(X, Y),
    "value_and_grad": lambda: ps.value_and_grad(weighed, wrt=(0, 1))(X, Y),
    "vmap": lambda: ps.vmap(weighed, in_axes=(0, None))(np.stack([X, Y]), Y),
    "jacobian": lambda: ps.jacobian(weighed, wrt=1)(X, Y),
    "hessian": lambda: ps.hessian(weighed)(X, Y),
    "hvp": lambda: ps.hvp(weighed)(X, Y, X),
    "laplacian": lambda: ps.laplacian(weighed, wrt="y")(X, Y),
    "a transform of a transform": lambda: ps.jacobian(ps.grad(weighed))(X, Y),
    "a batch of gradients": lambda: ps.vmap(ps.grad(weighed), in_axes=(0, None))(np.stack([X, Y]), Y),
}


@pytest.mark.parametrize("name", MADE)
def test_a_transform_made_anew_for_each_call_records_once(name: str) -> None:
    first = MADE[name]()
    before = traces()
    for _ in range(3):
        np.testing.assert_equal(MADE[name](), first)
    assert traces() == before


def test_other_options_are_other_transforms() -> None:
    np.testing.assert_allclose(ps.grad(weighed)(X, Y), 2 * X * Y)
    np.testing.assert_allclose(ps.grad(weighed, 1)(X, Y), X**2)
    np.testing.assert_allclose(ps.grad(weighed, wrt="y")(X, Y), X**2)
    both = ps.grad(lambda x, y: (weighed(x, y), np.sum(y)), has_aux=True)(X, Y)
    np.testing.assert_allclose(both[1], 8.0)
    np.testing.assert_allclose(ps.vmap(weighed, in_axes=(None, 0))(X, np.stack([Y, X])), [23.0, 9.0])
    np.testing.assert_allclose(ps.vmap(weighed, in_axes=(0, None))(np.stack([X, Y]), Y), [23.0, 152.0])


def test_what_the_function_reads_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    np.testing.assert_allclose(ps.grad(weighed)(X, Y), 2 * X * Y)
    monkeypatch.setattr(f"{__name__}.FACTOR", 10.0)
    np.testing.assert_allclose(ps.grad(weighed)(X, Y), 20 * X * Y)


def test_each_counts_its_own_calls_and_forgetting_is_for_all() -> None:
    first, second = ps.grad(weighed), ps.grad(weighed)
    first.clear()
    first(X, Y)
    second(X, Y)
    assert (first.statistics.misses, first.statistics.hits) == (1, 0)
    assert (second.statistics.misses, second.statistics.hits) == (0, 1)


def around(data: Any) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        return np.sum(x * data)

    return function


def with_default(data: Any) -> Callable[..., Any]:
    def function(x: Any, factor: Any = data) -> Any:
        return np.sum(x * factor)

    return function


@pytest.mark.sweep(2)
@pytest.mark.parametrize("make", [around, with_default])
def test_functions_that_hold_arrays_are_not_kept(make: Callable[[Any], Callable[..., Any]]) -> None:
    function = make(np.ones(2))
    gone = weakref.ref(function)
    ps.grad(function)(X)
    ps.hessian(function)(X)
    del function
    gc.collect()
    assert gone() is None


def test_what_is_recorded_for_arrays_that_came_is_not_shared() -> None:
    taken = ps.grad(weighed, branches="guard")
    taken(X, Y)
    assert len(ps.grad(weighed, branches="guard").ways()) == 0
