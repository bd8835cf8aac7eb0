"""Which values are never below zero."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.rewrites.signs import is_nonnegative, sign_argument


def told(function: Any) -> bool:
    """Return whether the result of a function of two arrays is known to be nonnegative."""
    block = ps.trace(function, np.ones(3), np.ones(3)).block
    return is_nonnegative(block.results[0], {v: made for made in block.ops for v in made.outputs})


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: op.Mul(x, x),
        lambda x, y: op.Pow(x, np.asarray(4.0)),
        lambda x, y: op.Exp(x),
        np.hypot,
        lambda x, y: op.Div(op.Mul(x, x), np.asarray(4.0)),
        lambda x, y: op.Add(op.Abs(x), op.Mul(op.Exp(y), op.Relu(x))),
        lambda x, y: op.ReduceSum(op.Reshape(op.Sqrt(x), [3, 1]), keepdims=0),
        lambda x, y: op.Where(op.Greater(x, 0.0), op.Abs(x), op.Cosh(y)),
        lambda x, y: op.MatMul(op.Abs(x), op.Tanh(op.Abs(y))),
        lambda x, y: op.Gather(op.Concat(op.Abs(x), op.Exp(y), axis=0), np.array([-1, 2])),
    ],
)
def test_squares_exponentials_and_what_is_made_of_them_are(function: Any) -> None:
    assert told(function)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: op.Mul(x, y),
        lambda x, y: op.Pow(x, np.asarray(3.0)),
        lambda x, y: op.Sub(op.Exp(x), op.Exp(y)),
        lambda x, y: op.Mul(op.Abs(x), np.asarray(-1.0)),
        lambda x, y: op.Add(op.Abs(x), y),
        lambda x, y: op.Neg(op.Abs(x)),
        lambda x, y: op.Where(op.Greater(x, 0.0), op.Abs(x), y),
        lambda x, y: op.Concat(op.Abs(x), y, axis=0),
        lambda x, y: x,
    ],
)
def test_differences_and_what_may_have_either_sign_are_not(function: Any) -> None:
    assert not told(function)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x, y: np.sign(x), True),
        (lambda x, y: op.Where(op.Less(x, 0.0), -1.0, np.asarray(1.0)), True),
        (lambda x, y: op.Where(op.GreaterOrEqual(x, 0.0), 1.0, np.asarray(-1.0)), True),
        (lambda x, y: op.Where(op.Less(np.asarray(0.0), x), 1.0, np.asarray(-1.0)), True),
        (lambda x, y: op.Where(np.signbit(x), -1.0, np.asarray(1.0)), True),
        (lambda x, y: op.Where(op.Greater(x, 0.0), -1.0, np.asarray(1.0)), False),
        (lambda x, y: op.Where(op.Greater(x, 1.0), 1.0, np.asarray(-1.0)), False),
        (lambda x, y: op.Where(op.Equal(x, 0.0), 1.0, np.asarray(-1.0)), False),
        (lambda x, y: op.Where(op.Or(op.Less(x, 0.0), op.Less(y, 0.0)), -1.0, np.asarray(1.0)), False),
        (lambda x, y: op.Where(op.Or(op.Less(x, 0.0), op.Less(op.Reciprocal(y), 0.0)), -1.0, np.asarray(1.0)), False),
    ],
)
def test_a_sign_is_told_from_other_choices_of_1_and_minus_1(function: Any, expected: bool) -> None:
    block = ps.trace(function, np.ones(3), np.ones(3)).block
    made = {v: one for one in block.ops for v in one.outputs}
    (result,) = block.results
    assert sign_argument(made[result], made) is (block.params[0] if expected else None)


def test_a_size_with_one_of_two_signs_has_the_slope_of_both() -> None:
    """What is negative where x or y is has no cancelling slope of |x|."""

    def function(x: Any, y: Any) -> Any:
        return np.where((x < 0) | (y < 0), -1.0, 1.0) * np.abs(x)

    assert ps.jvp(function, (1.0, -1.0), (1.0, None))[1] == -1
    assert ps.grad(function)(1.0, -1.0) == -1
