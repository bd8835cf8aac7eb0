"""Sums along axes in derivatives: few, and left alone elsewhere."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.rewrites.products.sums import sums_of_derivatives
from tests.random_programs import run
from tests.recording import derivative, kinds


def summed(*arrays: Any) -> Any:
    total = arrays[0][0]
    for array in arrays[1:]:
        total = op.Add(total, op.ReduceSum(array, [0], keepdims=0))
    return total


@pytest.mark.parametrize("count", [2, 3, 5])
def test_little_is_added_before_it_is_summed(count: int) -> None:
    names = ", ".join(f"x{i}" for i in range(count))
    f = eval(f"lambda {names}: summed({names})", {"summed": summed})
    block = derivative(f, *["float64[4,3]"] * count)
    found = sums_of_derivatives(block, [0])
    check_types(found)
    assert kinds(found).count("ReduceSum") == 1
    arrays = [np.random.default_rng(i).standard_normal((4, 3)) for i in range(count)]
    wanted = arrays[0][0] + sum(a.sum(axis=0) for a in arrays[1:])
    np.testing.assert_allclose(run(found, arrays)[0], wanted, rtol=1e-13)


def two_sums(first: list[int], second: list[int]) -> Callable[..., Any]:
    return lambda x, y: op.Add(op.ReduceSum(x, first, keepdims=1), op.ReduceSum(y, second, keepdims=1))


@pytest.mark.parametrize(
    ("function", "types"),
    [
        (two_sums([0], [0]), ["float64[4,3]", "float64[5,3]"]),
        (two_sums([0], [1]), ["float64[3,3]", "float64[3,3]"]),
        (two_sums([0], [0]), ["float64[4096,3]", "float64[4096,3]"]),
        (two_sums([0], [0]), ["float64[N,3]", "float64[N,3]"]),
    ],
    ids=["other rows", "other axes", "much", "of unknown size"],
)
def test_other_sums_are_left(function: Callable[..., Any], types: list[str]) -> None:
    block = derivative(function, *types)
    assert sums_of_derivatives(block, [0]) is block


@pytest.mark.parametrize(
    ("first", "second", "keepdims", "axes"),
    [([1], [0], 0, [0, 1]), ([0], [-1], 0, [0, 2]), ([2], [0], 1, [0, 2]), ([-3, 1], [0], 0, [0, 1, 2])],
)
@pytest.mark.parametrize("rows", [0, 1, 4])
def test_a_sum_of_sums_is_one(first: list[int], second: list[int], keepdims: int, axes: list[int], rows: int) -> None:
    def f(x: Any) -> Any:
        return op.ReduceSum(op.ReduceSum(x, first, keepdims=keepdims), second, keepdims=keepdims)

    block = derivative(f, "float64[2,N,3]")
    found = sums_of_derivatives(block, [0])
    check_types(found)
    assert kinds(found) == ["ReduceSum"]
    x = np.random.default_rng(rows).standard_normal((2, rows, 3))
    np.testing.assert_allclose(run(found, [x])[0], x.sum(axis=tuple(axes), keepdims=bool(keepdims)), atol=1e-13)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: op.ReduceSum(op.ReduceSum(x, [1], keepdims=1), [0], keepdims=0),
        lambda x: op.Add(op.ReduceSum(y := op.ReduceSum(x, [1], keepdims=0), [0], keepdims=1), y),
        lambda x: op.ReduceMax(op.ReduceSum(x, [1], keepdims=0), [0], keepdims=0),
    ],
    ids=["another rank", "read twice", "no sum"],
)
def test_sums_of_other_things_are_left(function: Callable[..., Any]) -> None:
    block = derivative(function, "float64[2,N,3]")
    assert sums_of_derivatives(block, [0]) is block


@pytest.mark.parametrize(
    ("function", "left"),
    [
        (lambda x, y: op.Add(op.Exp(x), op.Mul(y, 0.0)), ["Exp"]),
        (lambda x, y: op.Add(op.Mul(0.0, x), op.Exp(y)), ["Exp"]),
        (lambda x, y: op.Exp(op.Add(z := op.Mul(x, 0.0), op.Add(y, z))), ["Exp"]),
    ],
)
def test_what_is_multiplied_by_zero_is_not_added(function: Callable[..., Any], left: list[str]) -> None:
    block = derivative(function, "float64[N]", "float64[N]")
    found = sums_of_derivatives(block, [0])
    assert kinds(found) == left
    assert sums_of_derivatives(block, []) is block


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: op.Add(x, op.Mul(y[None], 0.0)),
        lambda x, y: op.Mul(op.Add(x, y), 0.0),
        lambda x, y: op.Add(x, op.Mul(y, op.Sub(y, y))),
    ],
    ids=["larger than the other term", "no term", "zero by chance"],
)
def test_other_products_are_added(function: Callable[..., Any]) -> None:
    block = derivative(function, "float64[N]", "float64[N]")
    assert sums_of_derivatives(block, [0]) is block
