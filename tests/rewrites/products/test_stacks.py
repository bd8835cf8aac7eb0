"""Stacks joined, and transposed stacks taken apart."""

from typing import Any

import numpy as np
import pytest

from primsplit.ir import Block
from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.rewrites.products.stacks import join_stacks, keep_transposed_stacks
from tests.random_programs import run
from tests.recording import kinds, record


def stacked(axis: int) -> Block:
    return record(lambda x, y: op.Concat(op.Unsqueeze(x, [axis]), op.Unsqueeze(y, [axis]), axis=axis),
                  "float32[N,3]", "float32[N,3]")  # fmt: skip


@pytest.mark.parametrize("axis", [0, 1, -2])
@pytest.mark.parametrize("rows", [0, 1, 4])
def test_a_stack_is_a_concat_and_a_reshape(axis: int, rows: int) -> None:
    block = stacked(axis)
    joined = join_stacks(block)
    check_types(joined)
    assert kinds(joined) == ["Concat", "Reshape"]
    random = np.random.default_rng(0)
    inputs = [random.standard_normal((rows, 3)).astype(np.float32) for _ in range(2)]
    assert np.array_equal(run(block, inputs)[0], run(joined, inputs)[0])


def test_a_stack_along_a_new_last_axis_is_left() -> None:
    block = stacked(2)
    assert join_stacks(block) is block


def test_arrays_that_may_differ_in_size_are_left_so_that_the_run_refuses_them() -> None:
    block = record(
        lambda x, y: op.Concat(op.Unsqueeze(x, [0]), op.Unsqueeze(y, [0]), axis=0), "float32[N,3]", "float32[M,3]"
    )
    assert join_stacks(block) is block


def test_vectors_of_sizes_are_left() -> None:
    block = record(lambda x, y: op.Concat(op.Unsqueeze(x, [0]), op.Unsqueeze(y, [0]), axis=0), "int64", "int64")
    assert join_stacks(block) is block


def _heads(x: Any) -> Any:
    whole = op.Transpose(op.Reshape(x, [-1, 2, 3]), perm=[1, 0, 2])
    first, second = (op.Gather(whole, np.array(i), axis=0) for i in range(2))
    return op.MatMul(first, op.Transpose(second, perm=[1, 0]))


@pytest.mark.parametrize("rows", [0, 1, 4])
def test_a_transposed_stack_is_taken_apart_as_a_matrix(rows: int) -> None:
    block = record(_heads, "float32[N,6]")
    kept = keep_transposed_stacks(block)
    check_types(kept)
    wanted = ["Reshape", "Transpose", "Flatten", "Gather", "Reshape", "Gather", "Reshape", "Transpose", "MatMul"]
    assert kinds(kept) == wanted
    x = np.random.default_rng(0).standard_normal((rows, 6)).astype(np.float32)
    np.testing.assert_allclose(run(block, [x])[0], run(kept, [x])[0], rtol=1e-6)


def _read_whole(x: Any) -> Any:
    whole = op.Transpose(x, perm=[1, 0, 2])
    return op.Gather(whole, np.array(0), axis=0), op.Gather(whole, np.array(1), axis=0), op.Neg(whole)


def _along_the_second(x: Any) -> Any:
    whole = op.Transpose(x, perm=[1, 0, 2])
    return op.Gather(whole, np.array(0), axis=1), op.Gather(whole, np.array(1), axis=1)


@pytest.mark.parametrize("function", [_read_whole, _along_the_second])
def test_a_stack_that_is_read_otherwise_is_left(function: Any) -> None:
    block = record(lambda x: function(x), "float32[N,2,3]")
    assert keep_transposed_stacks(block) is block
