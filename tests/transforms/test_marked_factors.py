"""A sign and a root may be in different parts of a program, branches, loops and calls: no slope is a plausible 0."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps

Function = Callable[[Any], Any]
Container = Callable[[Function], Function]
WEIGHTS = np.array([0.25, 0.75, 1.5])


def in_a_branch(function: Function) -> Function:
    def chosen(x: Any) -> Any:
        return function(x) if x < 1 else 2 * x

    return chosen


def in_a_branch_of_a_branch(function: Function) -> Function:
    def chosen(x: Any) -> Any:
        if x < 1:
            return function(x) * 2 if x > -1 else x
        return 2 * x

    return chosen


def in_a_sum(function: Function) -> Function:
    return lambda x: ps.scan(lambda total, e: (total + function(e * x), None), 0.0, WEIGHTS)[0]


def in_rows(function: Function) -> Function:
    return lambda x: np.sum(ps.scan(lambda c, e: (c, e * function(x)), 0.0, WEIGHTS)[1])


def in_a_loop(function: Function) -> Function:
    return lambda x: ps.fori_loop(0, 3, lambda i, c: c + function(x), 0.0)


def in_a_while(function: Function) -> Function:
    def run(x: Any) -> Any:
        return ps.while_loop(lambda s: s[1] < 2, lambda s: (s[0] + function(x), s[1] + 1), (np.zeros(()), 0))[0]

    return run


def in_a_checkpoint(function: Function) -> Function:
    return ps.checkpoint(lambda x: 2 * function(x))


def in_a_cached_function(function: Function) -> Function:
    cached: Function = ps.cached(lambda x: 2 * function(x))
    return cached


def in_a_batch(function: Function) -> Function:
    return lambda x: np.sum(ps.vmap(function)(WEIGHTS * x))


CONTAINERS: list[Container] = [
    *(in_a_branch, in_a_branch_of_a_branch, in_a_sum, in_rows, in_a_loop, in_a_while, in_a_checkpoint, in_a_batch),
    in_a_cached_function,
]
SIGNS: list[Function] = [
    np.sign,
    lambda x: np.copysign(1.0, x),
    lambda x: np.sign(np.sin(x)) * np.exp(x),
    lambda x: np.copysign(2.0, x) + np.sign(x),
]
ROOTS: list[Function] = [
    lambda x: np.hypot(x, 2 * x),
    lambda x: np.linalg.norm(x * WEIGHTS),
    lambda x: np.std(x * WEIGHTS),
    lambda x: np.hypot(x, x) * np.cos(x),
]
WRITTEN_OUT: list[Function] = [*ROOTS, lambda x: np.sqrt(x * x)]
"""A product of a sign and a root is smooth at 0, where its slope is not 0."""
FLAT: list[Function] = [
    lambda x: np.sign(x) * np.maximum(np.abs(x) - 1, 0),
    lambda x: np.sign(x) * np.where(np.abs(x) > 1, np.abs(x) - 1, 0),
    lambda x: np.sign(x) * x**2,
    lambda x: np.sign(x) * np.abs(x) ** 3,
    lambda x: np.where(np.abs(x) < 1, x * x / 2, np.abs(x) - 0.5),
    lambda x: np.maximum(x, 0.0) * x,
    lambda x: x + ps.stop_gradient(np.round(x) - x),
]
"""Numbers that are 0 at 0 with or without a sign: their products with roots have the slope 0."""


def slopes(function: Function, at: float) -> list[Any]:
    return [ps.grad(function)(at), ps.jvp(function, (at,), (1.0,))[1]]


def difference(function: Function, at: float, h: float = 1e-5) -> float:
    return float((function(at + h) - function(at - h)) / (2 * h))


def drawn(seed: int, factors: list[Function], roots: list[Function]) -> tuple[Function, Function]:
    """Return one of the factors and a root, each in a container or in none."""
    random = np.random.default_rng(seed)
    known: list[Container] = [lambda function: function, *CONTAINERS]
    made: list[Function] = []
    for functions in (factors, roots):
        function = functions[random.integers(len(functions))]
        made.append(known[random.integers(len(known))](function))
    return made[0], made[1]


@pytest.mark.sweep(2)
@pytest.mark.parametrize("seed", range(24))
def test_a_sign_and_a_root_in_any_parts_have_no_plausible_slope(seed: int) -> None:
    sign, root = drawn(seed, SIGNS, WRITTEN_OUT)

    def function(x: Any) -> Any:
        return np.cos(x) * sign(x) * root(x) + x**2

    assert abs(difference(function, 0.0)) > 0.1
    assert np.all(np.isnan(slopes(function, 0.0)))
    for at in (0.6, -0.3):
        np.testing.assert_allclose(slopes(function, at), difference(function, at), rtol=1e-6)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("seed", range(24))
def test_what_vanishes_with_its_sign_keeps_the_slope_of_the_product(seed: int) -> None:
    factor, root = drawn(seed, FLAT, ROOTS)

    def function(x: Any) -> Any:
        return 3 * x + factor(x) * root(x)

    np.testing.assert_allclose(slopes(function, 0.0), 3, rtol=1e-12)


def two_carries(x: Any) -> Any:
    """A sign and a root that one loop carries side by side."""

    def step(carried: Any, e: Any) -> Any:
        sign, total = carried
        return (sign * np.sign(e * x), total + np.hypot(e * x, x)), None

    sign, total = ps.scan(step, (1.0, 0.0), WEIGHTS)[0]
    return sign * total


def a_later_step(x: Any) -> Any:
    """A sign that the first step carries to the root of the second."""
    return ps.scan(lambda c, e: (np.sign(e * x) if e < 0.5 else c * np.hypot(e * x, x), None), 0.0, WEIGHTS[:2])[0]


def a_sign_for_a_scan(x: Any) -> Any:
    """The rows of one loop, a sign among them, are read by another with a root."""
    signs = ps.scan(lambda c, e: (c, e * np.sign(x)), 0.0, WEIGHTS)[1]
    return ps.scan(lambda c, s: (c + s * np.hypot(x, x), None), 0.0, signs)[0]


def a_power_of_a_sign(x: Any) -> Any:
    return ps.checkpoint(np.sign)(x) ** 3 * np.hypot(x, x)


@pytest.mark.parametrize("function", [two_carries, a_later_step, a_sign_for_a_scan, a_power_of_a_sign])
def test_a_sign_that_a_loop_carries_to_a_root_leaves_no_plausible_slope(function: Function) -> None:
    assert np.all(np.isnan(slopes(function, 0.0)))
    np.testing.assert_allclose(slopes(function, 0.5), difference(function, 0.5), rtol=1e-6)


@pytest.mark.parametrize("container", CONTAINERS)
def test_second_slopes_have_no_plausible_number_either(container: Container) -> None:
    sign, root = container(np.sign), in_a_sum(ROOTS[0])
    for inner in (ps.grad, lambda f: lambda x: ps.jvp(f, (x,), (1.0,))[1]):
        first = inner(lambda x: np.exp(x) * sign(x) * root(x))
        assert np.isnan(ps.jvp(first, (0.0,), (1.0,))[1])
        np.testing.assert_allclose(ps.jvp(first, (0.4,), (1.0,))[1], difference(first, 0.4), rtol=1e-6)


@pytest.mark.parametrize("container", [in_a_branch, in_a_sum, in_rows, in_a_while])
def test_a_loaded_file_with_the_sign_in_a_part_has_no_plausible_slope(container: Container, tmp_path: Any) -> None:
    ps.trace(lambda x: container(np.sign)(x) * np.hypot(x, x), 0.5).save(tmp_path / "f.onnx")
    loaded = ps.load(tmp_path / "f.onnx")
    assert np.all(np.isnan(slopes(loaded, 0.0)))
    np.testing.assert_allclose(slopes(loaded, 0.5), difference(loaded, 0.5), rtol=1e-6)


def test_a_sign_of_one_argument_leaves_the_slope_by_another() -> None:
    def function(x: Any, y: Any) -> Any:
        return in_a_sum(np.sign)(x) * np.hypot(x, 1.0) + in_a_branch(np.sign)(y) * in_rows(np.abs)(x)

    np.testing.assert_array_equal(ps.grad(function)(0.0, 0.0), 0.0)
    np.testing.assert_array_equal(ps.jvp(function, (0.0, 0.0), (1.0, 0.0))[1], 0.0)


def test_rows_of_a_batch_are_told_apart() -> None:
    """A loop over vectors: the slope is unknown where both the sign and the root are 0, and known beside."""
    x, y = np.array([0.0, 0.0, 2.0, 1.0]), np.array([0.0, 1.0, 0.0, 3.0])

    def function(x: Any) -> Any:
        sign = ps.scan(lambda c, e: (c + np.sign(e * x), None), np.zeros(4), WEIGHTS)[0]
        return np.sum(sign * np.hypot(x, y))

    np.testing.assert_array_equal(np.isnan(ps.grad(function)(x)), [True, False, False, False])
    np.testing.assert_array_equal(np.isnan(ps.jvp(function, (x,), (np.ones(4),))[1]), True)


@pytest.mark.filterwarnings("ignore::primsplit.ir.errors.UnrolledLoopWarning")
def test_a_chain_of_factors_may_be_longer_than_pythons_stack() -> None:
    def function(x: Any) -> Any:
        product = np.sign(x)
        for _ in range(600):
            product = product * (1 - 1e-4 * np.exp(x))
        return np.sum(product * np.hypot(x, x))

    x = np.array([0.0, -0.5])
    found = ps.grad(function)(x)
    step = np.array([0.0, 1e-6])
    assert np.isnan(found[0])
    assert found[1] == pytest.approx((function(x + step) - function(x - step)) / 2e-6, rel=1e-7)
