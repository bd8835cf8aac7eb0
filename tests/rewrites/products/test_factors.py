"""Factors of what derivatives sum: behind the sums, merged, and left alone elsewhere."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from primsplit.ir import Block
from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.rewrites.products.factors import factors_behind_sums
from tests.random_programs import run
from tests.recording import derivative, kinds, record

TYPES = ("float64[64,40]", "float64[64,40]", "float64[40,5]", "float64")
ONE_SUM: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "a sign": (lambda x, y, w, s: op.ReduceSum(op.Neg(x), keepdims=0), ["ReduceSum", "Neg"]),
    "two signs": (lambda x, y, w, s: op.ReduceSum(op.Neg(op.Mul(op.Neg(x), y)), keepdims=0),
                  ["Mul", "ReduceSum", "Identity"]),
    "numbers": (lambda x, y, w, s: op.ReduceSum(op.Div(op.Mul(op.Mul(x, 3.0), y), 4.0), keepdims=0),
                ["Mul", "ReduceSum", "Mul"]),
    "twice itself": (lambda x, y, w, s: op.MatMul(op.Add(z := op.Mul(x, y), z), w), ["Mul", "MatMul", "Mul"]),
    "over": (lambda x, y, w, s: op.ReduceSum(op.Mul(op.Div(-2.5, x), y), keepdims=0), ["Div", "ReduceSum", "Mul"]),
    "a value and a number": (
        lambda x, y, w, s: op.MatMul(op.Reshape(op.Mul(op.Neg(x), s), [64, 40]), w),
        ["Reshape", "MatMul", "Mul", "Mul"],
    ),
    "a factor squared": (lambda x, y, w, s: op.ReduceSum(op.Mul(z := op.Mul(x, 3.0), z), keepdims=0),
                         ["Mul", "ReduceSum", "Mul"]),
    "chosen from": (lambda x, y, w, s: op.ReduceSum(op.Where(op.Greater(y, 0.0), op.Neg(x), 0.0), keepdims=0),
                    ["Greater", "Where", "ReduceSum", "Neg"]),
}  # fmt: skip
LEFT: dict[str, Callable[..., Any]] = {
    "also read": lambda x, y, w, s: (op.ReduceSum(z := op.Mul(x, 3.0), keepdims=0), op.Exp(z)),
    "a result": lambda x, y, w, s: (op.ReduceSum(z := op.Neg(x), keepdims=0), z),
    "a row": lambda x, y, w, s: op.ReduceSum(op.Mul(x, y[:1]), keepdims=0),
    "nothing": lambda x, y, w, s: op.ReduceSum(op.Mul(x, 0.0), keepdims=0),
    "a product that is as large": lambda x, y, w, s: op.MatMul(op.Neg(x), op.Transpose(y)),
    "below": lambda x, y, w, s: op.ReduceSum(op.Div(y, op.Neg(x)), keepdims=0),
    "chosen from something": lambda x, y, w, s: op.ReduceSum(op.Where(op.Greater(y, 0.0), op.Neg(x), y), keepdims=0),
    "an addend": lambda x, y, w, s: op.Gemm(x, w, op.Neg(op.MatMul(x, w))),
}


def inputs_of(block: Block, sizes: tuple[int, int] = (64, 40)) -> list[Any]:
    random = np.random.default_rng(3)
    shapes = [sizes, sizes, (40, 5), ()]
    return [random.standard_normal(s).astype(p.type.dtype) for s, p in zip(shapes, block.params, strict=True)]


def assert_close(before: Block, after: Block, inputs: list[Any]) -> None:
    check_types(after)
    for a, b in zip(run(before, inputs), run(after, inputs), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-12 if a.dtype == np.float64 else 1e-4, atol=1e-10)


@pytest.mark.parametrize("name", ONE_SUM)
def test_a_factor_is_taken_behind_a_sum(name: str) -> None:
    function, wanted = ONE_SUM[name]
    block = derivative(function, *TYPES)
    after = factors_behind_sums(block, [0])
    assert kinds(after) == wanted
    assert_close(block, after, inputs_of(block))


@pytest.mark.parametrize("name", LEFT)
def test_what_is_not_only_summed_is_left(name: str) -> None:
    block = derivative(LEFT[name], *TYPES)
    assert factors_behind_sums(block, [0, 1][: len(block.results)]) is block


def test_a_value_is_left_as_it_rounds() -> None:
    block = record(ONE_SUM["numbers"][0], *TYPES)
    assert factors_behind_sums(block, []) is block


def test_two_sums_of_one_array_are_each_multiplied() -> None:
    def function(x: Any, y: Any, w: Any, s: Any) -> Any:
        slope = op.Mul(op.Neg(op.Div(2.0, x)), y)
        return op.MatMul(op.Transpose(w), op.Transpose(slope)), op.ReduceSum(op.Mul(slope, x), keepdims=0)

    block = derivative(function, *TYPES)
    after = factors_behind_sums(block, [0, 1])
    assert kinds(after).count("Div") == 1
    assert "Reciprocal" not in kinds(after)
    products = [str(o.outputs[0].type) for o in after.ops if o.kind == "Mul"]
    assert products == ["float64[5,64]", "float64[64,40]", "float64"]
    assert_close(block, after, inputs_of(block))


@pytest.mark.parametrize(("by", "moved"), [(3.0, True), (1e-30, False), (1e30, False), (np.inf, False)])
def test_a_float32_sum_stays_finite(by: float, moved: bool) -> None:
    block = derivative(lambda x: op.ReduceSum(op.Mul(x, np.float32(by)), keepdims=0), "float32[64,400]")
    assert (factors_behind_sums(block, [0]) is not block) is moved


def test_a_number_that_the_run_knows_stays_with_float32() -> None:
    types = [t.replace("64", "32", 1) for t in TYPES]
    block = derivative(lambda x, y, w, s: op.ReduceSum(op.Mul(x, s), keepdims=0), *types)
    assert factors_behind_sums(block, [0]) is block


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_sizes_that_only_the_run_knows(rows: int) -> None:
    types = ("float64[N,40]", "float64[N,40]", *TYPES[2:])
    block = derivative(ONE_SUM["numbers"][0], *types)
    after = factors_behind_sums(block, [0])
    assert kinds(after) == ["Mul", "ReduceSum", "Mul"]
    assert_close(block, after, inputs_of(block, (rows, 40)))
    scaled = derivative(lambda x, y, w, s: op.ReduceSum(op.Mul(x, s), keepdims=0), *types)
    assert factors_behind_sums(scaled, [0]) is scaled


NUMBERS: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "in a row": (lambda x, y: op.Exp(op.Mul(op.Mul(x, 0.3), 5.0)), ["Mul", "Exp"]),
    "that are one together": (lambda x, y: op.Exp(op.Mul(op.Mul(x, 0.5), 2.0)), ["Identity", "Exp"]),
    "and a sign": (lambda x, y: op.Exp(op.Neg(op.Mul(x, 0.5))), ["Mul", "Exp"]),
    "on both sides of a sum": (
        lambda x, y: op.Exp(op.Mul(op.ReduceSum(op.Mul(op.Mul(x, y), 2.0), [0], keepdims=0), 0.5)),
        ["Mul", "ReduceSum", "Identity", "Exp"],
    ),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_follow_each_other_are_one(name: str) -> None:
    function, wanted = NUMBERS[name]
    block = derivative(function, "float64[2]", "float64[2]")
    after = factors_behind_sums(block, [0])
    assert kinds(after) == wanted
    assert_close(block, after, [np.array([0.3, -1.2]), np.array([0.7, 0.4])])


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: op.Add(op.Mul(z := op.Mul(x, 0.3), 5.0), op.Mul(z, 2.0)),
        lambda x, y: op.Exp(op.Mul(op.Mul(x, 1e20), 1e20)),
        lambda x, y: op.Exp(op.Mul(op.Mul(x, 1e-30), 1e-30)),
        lambda x, y: op.Mul(op.Mul(x, 0.0), 5.0),
    ],
    ids=["read twice", "too large", "too small", "nothing"],
)
def test_other_numbers_are_left(function: Callable[..., Any]) -> None:
    block = derivative(function, "float64[2]", "float64[2]")
    assert kinds(factors_behind_sums(block, [0])) == kinds(block)


def test_numbers_beyond_the_range_are_one_in_each_range() -> None:
    def function(x: Any, y: Any) -> Any:
        for _ in range(40):
            x = op.Mul(op.Mul(x, 0.25), y)
        return op.Exp(x)

    block = derivative(function, "float32[2]", "float32[2]")
    after = factors_behind_sums(block, [0])
    assert kinds(after).count("Mul") == 40 + 5
    assert_close(block, after, [np.array([0.3, -1.2], np.float32), np.array([3.9, 4.2], np.float32)])


@pytest.mark.parametrize(("size", "is_behind"), [(3, False), (4, True), (5, True)])
def test_a_factor_goes_behind_a_sum_of_at_least_four_terms(size: int, is_behind: bool) -> None:
    block = derivative(lambda x: op.ReduceSum(op.Mul(x, 3.0), [1], keepdims=0), f"float64[4096,{size}]")
    assert kinds(factors_behind_sums(block, [0])) == (["ReduceSum", "Mul"] if is_behind else ["Mul", "ReduceSum"])
