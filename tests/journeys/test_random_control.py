"""Random programs of nested branches and loops agree with plain Python and central differences, at every size."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import primsplit as ps
from primsplit.testing.differences import directional_derivative, pairing
from tests.programs.controlled import Asked, compiled, sources

QUIET = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
STEP, FAR = 1e-4, 5e-3
"""The step of the differences, and how far a condition must be from changing."""


def arguments(rows: int, seed: int) -> list[Any]:
    random = np.random.default_rng(seed)
    return [random.normal(0, 0.7, rows), random.normal(0, 0.7, rows), *(np.array(v) for v in random.normal(0, 0.7, 2))]


def is_far_from_branching(source: str, point: list[Any]) -> bool:
    asked = Asked()
    compiled(source, asked)(*point)
    return asked.nearest > FAR


def value_of(source: str, point: list[Any]) -> list[Any]:
    """The results on plain arrays; a number stands for a scalar."""
    return [np.asarray(v, np.float64) for v in compiled(source, Asked())(*point)]


def check_gradient(source: str, made: ps.SplitProgram, point: list[Any]) -> None:
    wanted = value_of(source, point)
    seeds = [np.cos(np.arange(v.size) + 1.0).reshape(v.shape) for v in wanted]
    cotangents = [seeds[i] for i in made.split.of]
    found = made.joint()(*point, *([] if made.seeded else cotangents))
    for value, expected in zip(found, wanted, strict=False):
        assert value.shape == expected.shape, source
        np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-9, err_msg=source)
    slopes = dict(zip(made.gradient_names, found[len(wanted) :], strict=True))

    def scalar(moved: list[Any]) -> float:
        values = value_of(source, moved)
        return pairing([values[i] for i in made.split.of], cotangents)

    random = np.random.default_rng(5)
    names = [f"d_{name}" for name in "xyst"]
    direction = [random.standard_normal(p.shape) for p in point]
    told = pairing([slopes[n] for n in names], direction)
    difference = directional_derivative(scalar, point, direction, STEP)
    closer = directional_derivative(scalar, point, direction, STEP / 4)
    scale = max(1.0, *(float(np.max(np.abs(g), initial=0)) for g in slopes.values()))
    # Where the quotient depends on its step, as at steep sines after a loop that grows, it is no measure.
    if abs(closer - difference) < 1e-7 * scale:
        assert abs(told - closer) < 1e-6 * scale, (source, told, closer)


def quotients(gradient: Any, point: list[Any], direction: list[Any], step: float) -> list[Any]:
    """Central differences of a gradient along a direction."""
    ahead, behind = (gradient(*(p + h * d for p, d in zip(point, direction, strict=True))) for h in (step, -step))
    return [(a - b) / (2 * step) for a, b in zip(ahead, behind, strict=True)]


def check_second(source: str, point: list[Any]) -> None:
    """The gradient of a product with the gradient, against differences of the gradient."""
    program = compiled(source, lambda a, b: a > b)

    def loss(*args: Any) -> Any:
        x, y, s, t = program(*args)
        return np.sum(x * np.arange(1.0, 4.0)) + np.sum(y) + s - t

    gradient = ps.grad(loss, (0, 1, 2, 3))
    random = np.random.default_rng(6)
    direction = [random.standard_normal(p.shape) for p in point]
    far, closer = (quotients(gradient, point, direction, step) for step in (STEP, STEP / 4))
    found = ps.grad(
        lambda *args: sum(np.sum(g * d) for g, d in zip(gradient(*args), direction, strict=True)), (0, 1, 2, 3)
    )(*point)
    scale = max(1.0, *(float(np.max(np.abs(w), initial=0)) for w in closer))
    # Each quotient is off by the square of its step, where that is small at all; see `check_gradient`.
    assume(max(float(np.max(np.abs(a - b), initial=0)) for a, b in zip(far, closer, strict=True)) < 1e-4 * scale)
    for told, a, b in zip(found, far, closer, strict=True):
        np.testing.assert_allclose(told, b + (b - a) / 15, rtol=1e-5, atol=1e-5 * scale, err_msg=source)


def check(source: str, seed: int, sizes: tuple[int, ...]) -> None:
    points = [arguments(n, seed) for n in sizes]
    near = [p for p in points if is_far_from_branching(source, p)]
    assume(near)
    vector, scalar = ps.spec("float64", ["N"]), ps.spec("float64", [])
    made = ps.split(compiled(source, lambda a, b: a > b), vector, vector, scalar, scalar)
    for point in near:
        check_gradient(source, made, point)


@given(sources(), st.integers(0, 3))
@settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=QUIET)
def test_a_program_of_branches_and_loops_is_right_at_every_size(source: str, seed: int) -> None:
    check(source, seed, (3, 0))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
@given(sources(), st.integers(0, 3))
@settings(max_examples=100, deadline=None, suppress_health_check=QUIET)
def test_many_programs_of_branches_and_loops_are_right_at_every_size(part: int, source: str, seed: int) -> None:
    check(source, seed, (3, 5, 1, 0))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
@given(sources(), st.integers(0, 3))
@settings(max_examples=20, deadline=None, suppress_health_check=QUIET)
def test_the_second_derivative_of_a_program_of_branches_and_loops_is_right(part: int, source: str, seed: int) -> None:
    point = arguments(3, seed)
    assume(is_far_from_branching(source, point))
    check_second(source, point)
