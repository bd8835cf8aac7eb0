"""The states of a function while it is recorded: each path keeps what it wrote, and derivatives go through that."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from tests.journeys.states.averaging import Array, Averaging, X


@pytest.fixture
def function() -> Averaging:
    return Averaging()


ONCE, TWICE = (1, [0.5, 1.0, 1.5]), (2, [0.75, 1.5, 2.25])


def vjp_of(function: Averaging, x: Array) -> Any:
    return ps.vjp(function, x)[1](1.0)[0]


def linear_of(function: Averaging, x: Array) -> Any:
    return ps.linearize(function, x)[1](np.ones(3))


TRANSFORMS: dict[str, tuple[Callable[[Any, Array], Any], Any]] = {
    "grad": (lambda f, x: ps.grad(f)(x), X / 2),
    "value_and_grad": (lambda f, x: ps.value_and_grad(f)(x)[1], X / 2),
    "vjp": (vjp_of, X / 2),
    "jvp": (lambda f, x: ps.jvp(f, (x,), (np.ones(3),))[1], np.sum(X) / 2),
    "linearize": (linear_of, np.sum(X) / 2),
    "hvp": (lambda f, x: ps.hvp(f, (x,), np.ones(3)), np.full(3, 0.5)),
    "hessian": (lambda f, x: ps.hessian(f)(x), np.eye(3) / 2),
    "jacobian": (lambda f, x: ps.jacobian(lambda x: x[:1] * f(x))(x), None),
    "laplacian": (lambda f, x: ps.laplacian(f)(x), 1.5),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_what_a_differentiated_function_writes_is_kept_once(name: str, function: Averaging) -> None:
    """On arrays a transform reads and writes the states themselves, as the function would have."""
    transform, expected = TRANSFORMS[name]
    found = transform(function, X)
    if expected is not None:
        np.testing.assert_allclose(found, expected)
    assert function.values() == ONCE
    transform(function, X)
    assert function.values() == TWICE


@pytest.mark.parametrize("name", TRANSFORMS)
def test_the_same_holds_where_the_transform_is_part_of_a_program(name: str, function: Averaging) -> None:
    transform, expected = TRANSFORMS[name]
    program = ps.trace(lambda x: transform(function, x), X)
    found = program(X)
    if expected is not None:
        np.testing.assert_allclose(found, expected)
    assert (int(program.state["calls"]), program.state["mean"].tolist()) == ONCE
    program(X)
    assert (int(program.state["calls"]), program.state["mean"].tolist()) == TWICE
    assert function.values() == (0, [0.0, 0.0, 0.0])


def test_a_gradient_goes_through_what_was_written_and_not_through_what_was_there(function: Averaging) -> None:
    """The gradient of |x - (m + x) / 2|^2 by x is (x - m) / 2, with m held."""
    function.mean.assign(np.ones(3))
    np.testing.assert_allclose(ps.grad(function)(X), (X - 1.0) / 2)


def branching(x: Array, calls: Any, mean: Any) -> Any:
    if x[0] > 0:
        calls[...] = calls + 1
    elif x[1] > 0:
        mean[0] = 7.0
    return np.sum(x)


def test_each_path_keeps_what_it_wrote_and_leaves_the_rest(function: Averaging) -> None:
    def call(x: Array) -> Any:
        return branching(x, function.calls, function.mean)

    program = ps.trace(call, X)
    for x in (X, -X, np.array([-1.0, 2.0, 3.0])):
        assert program(x) == call(x)
        assert (int(program.state["calls"]), program.state["mean"].tolist()) == function.values()
    assert function.values() == (1, [7.0, 0.0, 0.0])
