"""Linearity read from the ops of a pullback."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.calls.linearity import Linearity, explain_nonlinearity, linearity

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


def checked(function: Callable[[Array, Array], Any]) -> Linearity:
    block = ps.trace(function, ps.spec("float64", [3]), ps.spec("float64", [3])).block
    return linearity(block.ops, block.params[:1], block.results[0])


def test_a_proof_counts_the_ops_that_read_the_cotangent() -> None:
    found = checked(lambda d, x: (d * op.Sin(x)) / x)
    assert (found.verdict, [o.kind for o in found.checked], found.broken) == ("linear", ["Mul", "Div"], None)


def test_a_known_break_and_an_unknown_one_have_two_verdicts() -> None:
    squared, unknown = checked(lambda d, x: d * d), checked(lambda d, x: op.Sin(d))
    assert (squared.verdict, unknown.verdict) == ("not linear", "not proven")
    assert [found.broken.kind for found in (squared, unknown) if found.broken] == ["Mul", "Sin"]
    assert (checked(lambda d, x: d - d).verdict, checked(lambda d, x: x + x).verdict) == ("zero", "independent")


def test_a_divisor_chosen_by_tests_of_zero_is_linear_for_cotangents_without_zeros() -> None:
    found = checked(lambda d, x: d / op.Where(op.Equal(d, 0.0), 1.0, x))
    assert (found.verdict, [o.kind for o in found.tests]) == ("linear", ["Equal"])


def test_a_large_constant_of_zeros_is_zero() -> None:
    zeros = np.zeros((100, 3))
    assert checked(lambda d, x: op.Concat(op.Unsqueeze(d, [0]), zeros, axis=0)).verdict == "linear"
    assert checked(lambda d, x: op.Concat(op.Unsqueeze(d, [0]), zeros + 1, axis=0)).verdict == "not linear"


def test_what_is_linear_in_each_way_names_what_chooses() -> None:
    def either(d: Array, x: Array) -> Any:
        near = op.Less(op.Abs(d), 1.0)
        return op.Where(near, d * x, x * d)

    found = checked(either)
    assert (found.verdict, found.broken and found.broken.kind) == ("not proven", "Less")
    assert "Each way is linear" in found.why


def test_a_way_that_is_not_linear_is_told_as_before() -> None:
    found = checked(lambda d, x: op.Where(op.Less(op.Abs(d), 1.0), d * d, x * d))
    assert found.verdict != "linear"
    assert "Each way" not in found.why


def test_a_carry_that_is_linear_in_some_steps_alone_is_told() -> None:
    def loop(d: Array, x: Array) -> Any:
        return ps.fori_loop(0, 3, lambda i, c: np.sin(c) + 1.0, d * x)

    found = checked(loop)
    assert (found.verdict, found.broken and found.broken.kind) == ("not proven", "Sin")

    def joined(d: Array, x: Array) -> Any:
        return ps.fori_loop(0, 3, lambda i, c: x + c, d)

    assert checked(joined).verdict == "not linear"
