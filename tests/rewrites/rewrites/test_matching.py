"""Patterns are found in every order of inputs that commute, and a call in a pattern is that of its function alone."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Block
from primsplit.numpy.extrema import NAMED
from primsplit.ops import op
from primsplit.rewrites.rewrites.matching import Capture, Node, Template, pattern
from tests.recording import record


def found(root: Node, block: Block) -> list[dict[str, Any]]:
    """Return the captures of a pattern in each way in which it fits the last op of a block."""
    made_by = {v: step for step in block.ops for v in step.outputs}
    return [match.captured for match in Template(root).matches(block.ops[-1], made_by)]


@pytest.mark.parametrize("f", [lambda x: op.Add(op.Exp(x), 1.0), lambda x: op.Add(1.0, op.Exp(x))])
def test_inputs_that_commute_are_found_in_either_order(f: Any) -> None:
    block = record(lambda x: f(x), "float64[3]")
    assert found(pattern.Add(pattern.Exp(Capture("x")), 1.0), block) == [{"x": block.params[0]}]
    assert found(pattern.Add(pattern.Exp(Capture("x")), 2.0), block) == []


def test_one_node_in_two_places_is_one_op() -> None:
    power = pattern.Exp(Capture("x"))
    one = record(lambda x: op.Mul(e := op.Exp(x), op.Neg(e)), "float64[3]")
    two = record(lambda x: op.Mul(op.Exp(x), op.Neg(op.Exp(x))), "float64[3]")
    assert len(found(pattern.Mul(power, pattern.Neg(power)), one)) == 1
    assert found(pattern.Mul(power, pattern.Neg(power)), two) == []


def test_a_call_is_that_of_the_function_and_its_arguments_are_captured() -> None:
    @ps.primitive
    def max(x: Any) -> Any:  # noqa: A001  # of the name that is meant
        return np.sum(x)

    root = pattern[NAMED["max"]](Capture("x"), axis=Capture("axis"), keepdims=False)
    (match,) = found(root, record(lambda x: np.max(x, axis=1), "float64[3,4]"))
    assert match["axis"] == 1
    assert found(root, record(lambda x: np.max(x, axis=1, keepdims=True), "float64[3,4]")) == []
    assert found(root, record(lambda x: max(x), "float64[3,4]")) == []


def test_an_op_of_another_kind_does_not_fit() -> None:
    """An attribute is asked of an operator that has it; a call has none."""
    called = record(lambda x: np.max(x, axis=1), "float64[3,4]")
    assert found(pattern.Softmax(Capture("x"), axis=1), called) == []
