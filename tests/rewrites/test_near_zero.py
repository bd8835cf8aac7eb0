"""What jumps at 0 is told, with its numbers on both sides: those that NumPy computes there."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.rewrites.near_zero import Jump, Jumps

Function = Callable[[Any], Any]
JUMPS: list[Function] = [
    np.sign,
    lambda x: 2 * np.sign(x) ** 3 - 1,
    lambda x: np.exp(np.sign(x)),
    lambda x: np.heaviside(x, 0.25),
    lambda x: (x >= 0) * 3.0 + (x == 0),
    lambda x: np.sign(x * x),
    lambda x: np.where(x == 0, 7.0, np.abs(x) / np.where(x == 0, 1, x)),
    lambda x: np.sign(x) * np.sign(-x),
]
OTHERS: list[Function] = [
    np.sin,
    lambda x: np.sign(x) + x,
    lambda x: np.sign(x - 1) * np.sign(x),
    lambda x: np.abs(x) + 1,
    lambda x: np.abs(x).astype(np.int64) * 1.0,
    lambda x: (x > 1) * 1.0,
    lambda x: np.clip(1e300 * x, -1, 1),
    lambda x: np.sign(x)[:, None] * np.sign(x)[None],
]


def jump_of(function: Function, x: Any = 1.0) -> Jump | None:
    block = ps.trace(function, x).block
    jumps = Jumps({v: op for op in block.ops for v in op.outputs})
    for op in block.ops:
        jumps.note(op)
    return jumps.of(block.results[0])


@pytest.mark.parametrize("function", JUMPS)
def test_a_function_of_signs_has_its_numbers_on_both_sides(function: Function) -> None:
    jump = jump_of(function)
    assert jump is not None
    assert jump.is_number
    for side, x in zip(jump.sides, [-0.7, 0.0, 0.7], strict=True):
        np.testing.assert_array_equal(side.number, function(np.float64(x)))


@pytest.mark.parametrize("function", OTHERS)
def test_other_functions_are_no_such_jump(function: Function) -> None:
    jump = jump_of(function, np.ones(2))
    assert jump is None or not jump.is_number


def test_what_grows_with_the_number_has_the_degree_one() -> None:
    jump = jump_of(lambda x: 2 * np.where(x < 0, -np.abs(x), x))
    assert jump is not None
    assert jump.is_line
    assert [(float(side.number), side.degree) for side in jump.sides] == [(-2, 1), (0, 1), (2, 1)]


def test_even_and_odd_functions_of_a_sign_are_told() -> None:
    even, odd = jump_of(lambda x: np.sign(x) ** 2), jump_of(np.sign)
    assert even is not None
    assert odd is not None
    assert (even.is_told, even.is_odd) == (True, False)
    assert (odd.is_told, odd.is_odd) == (False, True)
