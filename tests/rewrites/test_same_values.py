"""Which values are computed alike: two draws never are."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Block
from primsplit.ops import op
from primsplit.rewrites.same_values import opposite_value, same_value


def traced(function: Any) -> Block:
    return ps.trace(function, np.ones(3), np.ones(3)).block


def told(relation: Any, function: Any) -> bool:
    """Return whether the two results of a function of two arrays are in a relation."""
    block = traced(function)
    made = {v: one for one in block.ops for v in one.outputs}
    found: bool = relation(*block.results, made)
    return found


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x, y: (op.Sin(x), op.Sin(x)), True),
        (lambda x, y: (op.Sub(op.Exp(x), 1.0), op.Sub(op.Exp(x), 1.0)), True),
        (lambda x, y: (np.hypot(x, y), np.hypot(x, y)), True),
        (lambda x, y: (np.hypot(x, y), np.hypot(y, x)), False),
        (lambda x, y: (op.Sin(x), op.Sin(y)), False),
        (lambda x, y: (op.Sub(op.Exp(x), 1.0), op.Sub(op.Exp(x), 2.0)), False),
        (lambda x, y: (op.ReduceSum(x, keepdims=0), op.ReduceSum(x, keepdims=1)), False),
        (lambda x, y: (op.RandomUniformLike(x), op.RandomUniformLike(x)), False),
        (lambda x, y: (op.Mul(x, op.RandomUniformLike(x)), op.Mul(x, op.RandomUniformLike(x))), False),
    ],
)
def test_equal_expressions_are_the_same(function: Any, expected: bool) -> None:
    assert told(same_value, function) is expected


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x, y: (x, op.Neg(x)), True),
        (lambda x, y: (op.Neg(op.Sin(x)), op.Sin(x)), True),
        (lambda x, y: (op.Mul(x, 2.0), op.Mul(-2.0, x)), True),
        (lambda x, y: (op.Div(x, 2.0), op.Div(x, -2.0)), True),
        (lambda x, y: (op.Div(2.0, x), op.Div(-2.0, x)), True),
        (lambda x, y: (op.Sub(x, y), op.Sub(y, x)), True),
        (lambda x, y: (op.Sub(op.Sin(x), y), op.Sub(y, op.Sin(x))), True),
        (lambda x, y: (op.Mul(x, op.Cos(x)), op.Mul(op.Neg(x), op.Cos(x))), True),
        (lambda x, y: (op.Add(x, op.Mul(y, 2.0)), op.Sub(op.Neg(x), op.Mul(y, 2.0))), False),
        (lambda x, y: (op.Sub(x, y), op.Sub(x, y)), False),
        (lambda x, y: (op.Div(x, y), op.Div(op.Neg(x), op.Neg(y))), False),
        (lambda x, y: (op.Mul(x, 2.0), op.Mul(x, -3.0)), False),
        (lambda x, y: (x, op.Neg(y)), False),
        (lambda x, y: (op.Add(x, 2.0), op.Add(x, -2.0)), False),
    ],
)
def test_what_is_negated_or_multiplied_by_the_negative_is_opposite(function: Any, expected: bool) -> None:
    assert told(opposite_value, function) is expected
