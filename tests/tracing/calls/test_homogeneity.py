"""The scaling of results with an argument."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.calls.homogeneity import PARTLY, powers

POWERS: dict[str, tuple[Callable[[Array, Array], Any], float | None]] = {
    "itself": (lambda t, x: t, 1.0),
    "something else": (lambda t, x: x, 0.0),
    "a product": (lambda t, x: t * x, 1.0),
    "a square": (lambda t, x: t * t, 2.0),
    "a sum of powers": (lambda t, x: t + t * t, None),
    "a term of it": (lambda t, x: t + x, PARTLY),
    "elements of it": (lambda t, x: op.Concat(t, x, axis=0), PARTLY),
    "a part, which may be free": (lambda t, x: op.Slice(op.Concat(t, x, axis=0), [0], [2]), None),
    "all parts in another order": (lambda t, x: op.Transpose(op.Concat(t, x, axis=0)), PARTLY),
    "less itself": (lambda t, x: op.Sub(t, t), math.inf),
    "zero times it": (lambda t, x: op.Mul(t, np.zeros(3)), math.inf),
    "near one": (lambda t, x: op.Exp(t), 0.0),
    "a function that is zero there": (lambda t, x: op.Sin(t), None),
    "such a function of zero": (lambda t, x: op.Sin(op.Sub(t, t)), math.inf),
    "an unknown function": (lambda t, x: op.Softmax(t), None),
    "divided by it": (lambda t, x: x / t, None),
    "chosen by x": (lambda t, x: op.Where(op.Greater(x, 0.0), t, 0.0), 1.0),
    "chosen by its sign": (lambda t, x: op.Where(op.Greater(t, 0.0), t, 0.0), None),
    "chosen by whether it is zero": (lambda t, x: op.Where(op.Equal(t, 0.0), 0.0, t * x), 1.0),
    "x or zero, chosen by whether it is zero": (lambda t, x: op.Where(op.Equal(t, 0.0), x, op.Sub(t, t)), None),
    "added to places": (lambda t, x: op.ScatterElements(t, np.zeros(3, int), x, axis=0, reduction="add"), PARTLY),
    "multiplied into places": (lambda t, x: op.ScatterElements(x, np.zeros(3, int), t, axis=0, reduction="mul"), None),
    "a convolution with a bias of it": (lambda t, x: op.Gemm(np.ones((3, 3)), np.ones((3, 3)), t), PARTLY),
}


@pytest.mark.parametrize("name", POWERS)
def test_the_power_of_a_result(name: str) -> None:
    function, expected = POWERS[name]
    block = ps.trace(function, ps.spec("float64", [3]), ps.spec("float64", [3])).block
    assert powers(block.ops, block.params[:1], block.results) == [expected]


def test_with_a_check_a_function_is_not_taken_for_its_value_at_zero() -> None:
    """t exp(t) gets as small as t, and is not linear."""
    block = ps.trace(lambda t: t * op.Exp(t), ps.spec("float64", [3])).block
    seen: list[tuple[str, list[float | None]]] = []
    assert powers(block.ops, block.params, block.results) == [1.0]
    assert powers(
        block.ops, block.params, block.results, check=lambda o, i, found: seen.append((o.kind, [*found]))
    ) == [None]
    assert seen == [("Exp", [None]), ("Mul", [None])]
