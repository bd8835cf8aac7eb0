"""The table of costs has the numbers of the rule that it is named in: relative to an addition's half."""

import math

import pytest

from primsplit.ir.analysis.costs import COSTS, LOAD, STORE, THRESHOLD, cost
from primsplit.ops.schema import exists


@pytest.mark.parametrize(
    ("kinds", "number"),
    [
        ("Add Sub Mul Min Max Abs Where", 0.5),
        ("Less Greater Equal", 1.0),
        ("Div Sqrt", 4.0),
        ("Exp", 13.0),
        ("Log call::log1p", 15.0),
        ("Sin Cos call::expm1", 30.0),
        ("Tanh", 80.0),
        ("Pow", 200.0),
        ("Reshape Squeeze Identity", 0.0),
        ("Cast Transpose Expand", 0.5),
        ("MatMul Conv ReduceSum Softmax Loop Scan If call::layer RandomUniform", math.inf),
    ],
)
def test_an_operator_costs_what_the_rule_says(kinds: str, number: float) -> None:
    assert {cost(kind) for kind in kinds.split()} == {number}


def test_the_threshold_is_three_loads_and_stores() -> None:
    assert (LOAD, STORE, THRESHOLD) == (0.5, 1.0, 4.5)


def test_another_table_tells_other_costs() -> None:
    assert cost("Exp", {"Exp": 1.0}) == 1.0
    assert cost("Add", {"Exp": 1.0}) == math.inf


def test_every_row_is_an_operator_of_the_standard_or_a_call() -> None:
    assert all(exists(kind) or kind.startswith("call::") for kind in COSTS)
