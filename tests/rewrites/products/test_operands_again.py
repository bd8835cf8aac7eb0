"""Operands that products compute again from an array that is kept anyway, and those that are left."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Block
from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.rewrites.products.operands_again import products_read_again
from tests.random_programs import run
from tests.recording import kinds, record

Function = Callable[[Any, Any], Any]


def joint(x: Any, w: Any) -> Any:
    """A value, and as its gradient a product with max(x, 0) and a reader of x."""
    y = op.Max(x, np.float32(0.0))
    value = op.ReduceSum(op.MatMul(y, w), keepdims=0)
    late = op.Where(op.Greater(x, np.float32(0.0)), x, np.float32(0.0))
    return value, op.MatMul(op.Transpose(op.Reshape(y, [0, 4]), perm=[1, 0]), late)


def block_of(function: Function = joint, x: str = "float32[N,4]") -> Block:
    return record(lambda x, w: function(x, w), x, "float32[4,4]")


def test_a_product_makes_max_again_with_its_operands_swapped() -> None:
    block = block_of()
    after = products_read_again(block, [1])
    check_types(after)
    first, second = (o for o in after.ops if o.kind == "Max")
    assert first.inputs == second.inputs[::-1]
    assert kinds(after).count("Max") == 2
    (reshape,) = (o for o in after.ops if o.kind == "Reshape")
    assert reshape.inputs[0] is second.outputs[0]


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_the_results_are_the_same_bits(rows: int) -> None:
    block = block_of()
    random = np.random.default_rng(0)
    inputs = [random.standard_normal((rows, 4)).astype(np.float32), random.standard_normal((4, 4)).astype(np.float32)]
    for before, after in zip(run(block, inputs), run(products_read_again(block, [1]), inputs), strict=True):
        assert np.array_equal(before, after)


def _norm(x: Any, w: Any) -> Any:
    """A value, and as its gradient a product with x w + b, where x is kept for another."""
    row = op.Squeeze(op.Slice(w, [0], [1]), [0])
    y = op.Add(op.Mul(x, row), row)
    return op.ReduceSum(op.MatMul(y, w), keepdims=0), op.MatMul(op.Transpose(y, perm=[1, 0]), op.Mul(x, row))


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_a_product_makes_a_row_s_multiple_plus_a_row_again(rows: int) -> None:
    block = block_of(_norm)
    after = products_read_again(block, [1])
    check_types(after)
    assert kinds(after).count("Add") == 2
    assert kinds(after).count("Mul") == kinds(block).count("Mul") + 1
    random = np.random.default_rng(0)
    inputs = [random.standard_normal((rows, 4)).astype(np.float32), random.standard_normal((4, 4)).astype(np.float32)]
    for wanted, found in zip(run(block, inputs), run(after, inputs), strict=True):
        assert np.array_equal(wanted, found)


def _three_passes(x: Any, w: Any) -> Any:
    row = op.Squeeze(op.Slice(w, [0], [1]), [0])
    y = op.Mul(op.Add(op.Mul(x, row), row), row)
    return op.ReduceSum(op.MatMul(y, w), keepdims=0), op.MatMul(op.Transpose(y, perm=[1, 0]), op.Neg(x)), op.Neg(row)


def _also_added(x: Any, w: Any) -> Any:
    y = op.Max(x, np.float32(0.0))
    return op.ReduceSum(op.MatMul(y, w), keepdims=0), op.Add(op.MatMul(y, w), y), op.Neg(x)


def _not_kept(x: Any, w: Any) -> Any:
    y = op.Max(op.Tanh(x), np.float32(0.0))
    return op.ReduceSum(op.MatMul(y, w), keepdims=0), op.MatMul(y, op.Neg(w))


def _of_two_arrays(x: Any, w: Any) -> Any:
    y = op.Max(x, op.Neg(x))
    return op.ReduceSum(op.MatMul(y, w), keepdims=0), op.MatMul(y, op.Neg(w))


def _a_result(x: Any, w: Any) -> Any:
    y = op.Max(x, np.float32(0.0))
    return op.ReduceSum(y, keepdims=0), op.MatMul(y, op.Neg(w)), y


@pytest.mark.parametrize("function", [_also_added, _not_kept, _of_two_arrays, _a_result, _three_passes])
def test_what_gains_nothing_is_left(function: Function) -> None:
    block = block_of(function)
    assert products_read_again(block, range(1, len(block.results))) is block


def test_a_small_value_is_kept() -> None:
    block = block_of(joint, "float32[5,4]")
    assert products_read_again(block, [1]) is block


def test_a_perceptron_of_np_maximum_keeps_one_array_a_layer() -> None:
    """The second is made again behind each of the inner layers; onnxruntime would merge equal ops."""

    def loss(weights: Any, x: Any) -> Any:
        for w in weights:
            x = np.maximum(x @ w, 0.0)
        return np.mean(x * x)

    specs = [ps.spec("float32", [64, 64])] * 3, ps.spec("float32", [512, 64])
    model = ps.split(loss, *specs, wrt="weights").joint().to_onnx()
    assert [n.op_type for n in model.graph.node].count("Max") == 3 + 2
