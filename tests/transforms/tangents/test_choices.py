"""Choices that meet in a tangent list."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import walk
from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.targets.finish import finish
from primsplit.testing.gradients import check_grads
from primsplit.transforms.tangents.choices import join_choices
from tests.random_programs import run
from tests.recording import kinds, record

TYPES = ("bool[3]", "float64[3]", "float64[3]")


@pytest.mark.parametrize(
    "function",
    [
        lambda c, x, y: op.Add(op.Where(c, x, 0.0), op.Where(c, 0.0, y)),
        lambda c, x, y: op.Add(op.Where(c, 0.0, y), op.Where(c, x, 0.0)),
    ],
)
def test_the_two_sides_of_a_choice_are_one_choice(function: Callable[..., Any]) -> None:
    block = record(function, *TYPES)
    joined = join_choices(block)
    check_types(joined)
    assert kinds(joined) == ["Where"]
    inputs = [np.array([True, False, True]), np.array([1.0, np.inf, np.nan]), np.array([np.nan, 2.0, np.inf])]
    assert np.array_equal(run(joined, inputs)[0], [1.0, 2.0, np.nan], equal_nan=True)


@pytest.mark.parametrize(
    "function",
    [
        lambda c, d, x: op.Add(op.Where(c, x, 0.0), op.Mul(op.Where(d, 0.0, op.Where(c, 0.0, x)), 0.5)),
        lambda c, d, x: op.Add(op.Mul(0.5, op.Where(d, 0.0, op.Where(c, 0.0, x))), op.Where(c, x, 0.0)),
        lambda c, d, x: op.Add(op.Where(op.Not(d), op.Mul(op.Where(c, 0.0, x), 0.5), 0.0), op.Where(c, x, 0.0)),
    ],
)
def test_what_is_zero_on_the_other_side_is_behind_the_choice(function: Callable[..., Any]) -> None:
    block = record(function, "bool[4]", "bool[4]", "float64[4]")
    joined = join_choices(block)
    check_types(joined)
    assert kinds(joined).count("Where") == 2
    assert "Add" not in kinds(joined)
    c, d = np.array([True, False, True, False]), np.array([True, False, False, True])
    x = np.array([1.0, 3.0, np.inf, np.inf])
    assert np.array_equal(run(joined, [c, d, x])[0], [1.0, 1.5, np.inf, 0.0])


@pytest.mark.parametrize(
    "function",
    [
        lambda c, x, y: op.Add(op.Where(c, x, 0.0), op.Mul(op.Where(c, 0.0, y), np.inf)),
        lambda c, x, y: op.Add(op.Where(c, x, 0.0), op.Mul(op.Where(c, 0.0, y), y)),
        lambda c, x, y: op.Add(op.Where(c, x, 0.0), op.Add(op.Where(c, 0.0, y), 1.0)),
        lambda c, x, y: op.Add(op.Where(c, x, 0.0), op.Where(c, y, 0.0)),
        lambda c, x, y: op.Add(op.Where(c, x, 0.0), op.Where(op.Not(c), 0.0, y)),
        lambda c, x, y: op.Add(op.Where(c, x, 1.0), op.Where(c, 0.0, y)),
        lambda c, x, y: op.Add(z := op.Where(c, x, 0.0), op.Where(c, 0.0, op.Exp(z))),
        lambda c, x, y: op.Add(op.Where(c, x[:1], 0.0), op.Where(c[:1], 0.0, y)),
    ],
    ids=[
        "times infinity",
        "times an array",
        "and a number",
        "one side",
        "another condition",
        "no zero",
        "read twice",
        "another shape",
    ],
)
def test_other_sums_are_left(function: Callable[..., Any]) -> None:
    block = record(function, *TYPES)
    assert join_choices(block) is block


def choosing(x: Any, y: Any) -> Any:
    """A loop whose steps choose."""

    def step(carry: tuple[Any, Any], _: Any) -> tuple[tuple[Any, Any], None]:
        a, b = carry
        return (np.where(a > b, a * b, b - a), np.maximum(a, 0.5 * b)), None

    return np.sum(ps.scan(step, (x, y), None, length=3)[0][0])


def test_the_tangent_of_a_loop_that_chooses_has_one_choice_for_a_where_and_two_for_a_maximum() -> None:
    x, y = np.array([0.3, 1.2]), np.array([0.7, 0.4])
    program = ps.trace(lambda x, y, s, t: ps.jvp(choosing, (x, y), (s, t))[1], x, y, x, y)
    loops = [op.attributes["body"] for op in walk(finish(program.block)) if op.kind == "Scan"]
    tangent = min(
        sum(op.kind == "Where" for op in body.ops) for body in loops if any(o.kind == "Where" for o in body.ops)
    )
    assert tangent <= 3
    check_grads(choosing, x, y, modes=["forward", "reverse"])
