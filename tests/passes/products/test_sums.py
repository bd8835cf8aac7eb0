"""Sums in derivatives: in products, before reductions, and left alone elsewhere."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.infer import check_types
from primsplit.ir import Block
from primsplit.ops import op
from primsplit.passes.finish import finish
from primsplit.passes.products.sums import sums_of_derivatives
from primsplit.testing.gradients import check_grads
from tests.random_programs import run
from tests.recording import kinds, record

MATRICES = ("float64[N,3]", "float64[3,4]", "float64[N,5]", "float64[4,5]")
SUMS: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "MatMul + MatMul": (lambda x, a, y, b: op.Add(op.MatMul(x, a), op.MatMul(x, a * 2.0)), ["MatMul", "Mul", "Gemm"]),
    "MatMul + Gemm": (
        lambda x, a, y, b: op.Add(op.MatMul(x, a), op.Gemm(y, b, transA=0, transB=1)),
        ["MatMul", "Gemm"],
    ),
    "the product before": (lambda x, a, y, b: op.Add(op.MatMul(x, a), op.MatMul(y, b.T) * 2.0), None),
    "a product read twice": (lambda x, a, y, b: op.Add(op.Exp(z := op.MatMul(x, a)), z), None),
    "a product with an addend": (
        lambda x, a, y, b: op.Add(op.Exp(op.MatMul(x, a)), op.Gemm(x, a, a[0])),
        None,
    ),
    "a row added": (lambda x, a, y, b: op.Add(a[0], op.MatMul(x, a)), None),
}


def derivative(function: Callable[..., Any], *types: str) -> Block:
    """What is recorded, as part of a pullback."""
    block = record(function, *types)
    return replace(block, ops=tuple(replace(op, remark="pullback of f") for op in block.ops))


def inputs_of(rows: int) -> list[Any]:
    random = np.random.default_rng(rows)
    return [random.standard_normal(s) for s in ((rows, 3), (3, 4), (rows, 5), (4, 5))]


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("rows", [0, 1, 6])
def test_what_is_added_to_a_product_is_its_third_operand(name: str, rows: int) -> None:
    function, wanted = SUMS[name]
    block = derivative(function, *MATRICES)
    found = sums_of_derivatives(block, [0])
    check_types(found)
    assert found is block if wanted is None else kinds(found) == wanted
    (a,), (b,) = run(block, inputs_of(rows)), run(found, inputs_of(rows))
    np.testing.assert_allclose(a, b, rtol=1e-14)


def test_a_value_is_left_as_it_rounds() -> None:
    block = derivative(SUMS["MatMul + Gemm"][0], *MATRICES)
    assert sums_of_derivatives(block, []) is block


def test_a_loop_of_the_value_is_left_and_one_of_a_derivative_is_not() -> None:
    def f(x: Any, a: Any) -> Any:
        def step(carry: Any, _: Any) -> Any:
            return op.Add(op.MatMul(carry, a), op.MatMul(x, a)), None

        return op.Identity(ps.scan(step, x, None, length=2)[0])

    block = derivative(f, "float64[2,3]", "float64[3,3]")
    assert sums_of_derivatives(block, []) is block
    (body,) = [b for op in sums_of_derivatives(block, [0]).ops for b in op.blocks()]
    assert "Gemm" in kinds(body)


def test_a_product_over_an_axis_that_may_be_empty_is_left() -> None:
    block = derivative(lambda x, y: op.Add(op.MatMul(x, y), op.MatMul(x, y * 2.0)), "float64[3,N]", "float64[N,4]")
    assert sums_of_derivatives(block, [0]) is block


def test_a_product_around_a_loop_stays_there() -> None:
    def f(x: Any, a: Any) -> Any:
        product = op.MatMul(x, a)
        return ps.scan(lambda carry, _: (op.Add(carry, product), None), product, None, length=4)[0]

    block = derivative(lambda x, a: op.Identity(f(x, a)), "float64[2,3]", "float64[3,3]")
    found = sums_of_derivatives(block, [0])
    assert "MatMul" in kinds(found)
    inputs = [np.arange(6.0).reshape(2, 3), np.arange(9.0).reshape(3, 3)]
    np.testing.assert_allclose(run(found, inputs)[0], 5 * inputs[0] @ inputs[1])


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


def test_the_gradient_of_shared_weights_is_one_chain_of_products() -> None:
    def f(w: Any, x: Any) -> Any:
        return np.sum(np.tanh(np.tanh(x @ w) @ w))

    w, x = np.random.default_rng(0).standard_normal((3, 3)), np.random.default_rng(1).standard_normal((4, 3))
    made: Block = ps.split(f, w, x, wrt="w").joint().block
    assert "Add" not in kinds(finish(made, [1]))
    check_grads(f, w, x)


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
