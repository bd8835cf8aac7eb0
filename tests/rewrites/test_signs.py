"""Which values are never below zero."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.rewrites.signs import is_nonnegative


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
