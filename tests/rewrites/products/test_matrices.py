"""Elementwise ops of a pullback as matrices: which, in which shapes, and that the numbers are the same."""

from typing import Any

import numpy as np
import pytest

from primsplit.ir import Block
from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.rewrites.products.matrices import pulled_as_matrices
from tests.random_programs import run
from tests.recording import kinds, record


def joint(x: Any, row: Any, column: Any) -> Any:
    """A value, and something elementwise that only the second result needs."""
    y = op.Exp(x)
    late = op.Add(op.Mul(op.Neg(y), row), op.Mul(column, 2.0))
    return op.ReduceSum(y, keepdims=0), op.Greater(late, 0.0), late


def block_of(function: Any = joint, sizes: str = "N,2,64") -> Block:
    leading = sizes.rpartition(",")[0]
    return record(
        lambda x, row, column: function(x, row, column), f"float32[{sizes}]", "float32[64]", f"float32[{leading},1]"
    )


@pytest.mark.parametrize(("sizes", "wanted"), [("N,2,64", "2*N,64"), ("64,32,64", "2048,64"), ("4,N,2,64", "8*N,64")])
def test_what_only_gradients_need_is_computed_on_matrices(sizes: str, wanted: str) -> None:
    after = pulled_as_matrices(block_of(sizes=sizes), [1, 2])
    check_types(after)
    shapes = {o.kind: str(o.outputs[0].type) for o in after.ops if o.kind in {"Exp", "Neg", "Add", "Greater"}}
    assert shapes == {
        "Exp": f"float32[{sizes}]",
        "Neg": f"float32[{wanted}]",
        "Add": f"float32[{wanted}]",
        "Greater": f"bool[{wanted}]",
    }


def test_any_elementwise_operator_is_and_a_sum_of_windows_is_not() -> None:
    """Pads make what a Sum adds: it keeps the axes that they have."""

    def late(x: Any, row: Any, column: Any) -> Any:
        y = op.Exp(x)
        return op.ReduceSum(y, keepdims=0), op.Sinh(y), op.Sum(y, y)

    after = pulled_as_matrices(block_of(late), [1, 2])
    shapes = {o.kind: str(o.outputs[0].type) for o in after.ops if o.kind in {"Sinh", "Sum"}}
    assert shapes == {"Sinh": "float32[2*N,64]", "Sum": "float32[N,2,64]"}


def test_a_column_is_read_as_one() -> None:
    after = pulled_as_matrices(block_of(), [1, 2])
    doubled = [o for o in after.ops if o.kind == "Mul" and str(o.outputs[0].type) == "float32[2*N,1]"]
    assert len(doubled) == 1


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_the_results_are_the_same_bits(rows: int) -> None:
    block = block_of()
    random = np.random.default_rng(0)
    inputs = [random.standard_normal(s).astype(np.float32) for s in ((rows, 2, 64), (64,), (rows, 2, 1))]
    for before, after in zip(run(block, inputs), run(pulled_as_matrices(block, [1, 2]), inputs), strict=True):
        assert before.shape == after.shape
        assert np.array_equal(before, after)


def test_a_product_between_takes_and_gives_matrices_without_reshapes() -> None:
    def function(x: Any, row: Any, column: Any) -> Any:
        flat = op.Reshape(op.Neg(x), [-1, 64])
        back = op.Reshape(op.Tanh(flat), [-1, 2, 64], types=[x.type])
        return op.ReduceSum(x, keepdims=0), op.Mul(back, row), op.Abs(column)

    after = pulled_as_matrices(block_of(function), [1, 2])
    check_types(after)
    assert kinds(after) == ["Reshape", "Neg", "Identity", "Tanh", "ReduceSum", "Mul", "Reshape", "Reshape", "Abs",
                            "Reshape"]  # fmt: skip


def _by_channel(x: Any, row: Any, column: Any) -> Any:
    channels = op.Reshape(op.Slice(row, [0], [2]), [2, 1])
    return op.ReduceSum(x, keepdims=0), op.Mul(x, channels)


def _for_the_value(x: Any, row: Any, column: Any) -> Any:
    y = op.Mul(x, row)
    return op.ReduceSum(y, keepdims=0), op.MatMul(x, op.Transpose(y, perm=[0, 2, 1]))


@pytest.mark.parametrize("function", [_by_channel, _for_the_value])
def test_what_is_no_matrix_or_belongs_to_the_value_stays(function: Any) -> None:
    block = block_of(function)
    assert pulled_as_matrices(block, [1]) is block


def test_small_arrays_stay() -> None:
    block = block_of(sizes="4,2,64")
    assert pulled_as_matrices(block, [1, 2]) is block


def test_two_sizes_that_only_the_run_knows_are_left() -> None:
    block = block_of(sizes="N,M,64")
    assert pulled_as_matrices(block, [1, 2]) is block
