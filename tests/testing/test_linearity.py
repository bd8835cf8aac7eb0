"""Linearity read from the ops of a pullback."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.testing.linearity import explain_nonlinearity
from primsplit.tracing.array import Array

PLACES = np.array([[1], [4], [5]])

LINEAR: dict[str, Callable[[Array, Array], Any]] = {
    "scaled": lambda d, x: d * x,
    "divided": lambda d, x: d / x,
    "summed with zeros": lambda d, x: d + op.ConstantOfShape(op.Shape(x), value=np.zeros(1)),
    "chosen": lambda d, x: op.Where(op.Greater(x, 0.0), d, 0.0),
    "scattered": lambda d, x: op.ScatterND(op.ConstantOfShape([9], value=np.zeros(1)), PLACES, d),
    "padded": lambda d, x: op.Pad(d, [1, 1]),
    "joined with zeros": lambda d, x: op.Concat(d, np.zeros(2), axis=0),
    "a product with a matrix": lambda d, x: op.MatMul(op.Unsqueeze(x, [1]), op.Unsqueeze(d, [0])),
    "twice": lambda d, x: d * x + op.Sin(x) * d,
}
BENT: dict[str, Callable[[Array, Array], Any]] = {
    "squared": lambda d, x: d * d,
    "shifted": lambda d, x: d + x,
    "inverted": lambda d, x: x / d,
    "a function of it": lambda d, x: op.Sin(d),
    "chosen by itself": lambda d, x: op.Where(op.Greater(d, 0.0), x, 0.0),
    "joined with ones": lambda d, x: op.Concat(d, np.ones(2), axis=0),
    "scattered into values": lambda d, x: op.ScatterND(op.Concat(x, x, axis=0), PLACES, d),
    "padded with ones": lambda d, x: op.Pad(d, [1, 1], np.array(1.0)),
    "not read": lambda d, x: op.Sin(x),
}


def explained(function: Callable[[Array, Array], Any]) -> str:
    block = ps.trace(function, ps.spec("float64", [3]), ps.spec("float64", [3])).block
    return explain_nonlinearity(block, block.params[:1])


@pytest.mark.parametrize("name", LINEAR)
def test_what_is_linear_is_known_to_be(name: str) -> None:
    assert explained(LINEAR[name]) == ""


@pytest.mark.parametrize("name", BENT)
def test_what_is_not_linear_is_told(name: str) -> None:
    assert explained(BENT[name]) != ""
