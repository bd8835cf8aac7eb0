"""Two blocks are the same where they compute the same from the same values."""

from typing import Any

import numpy as np

from primsplit.audit.mathematics.sameness import same_blocks
from primsplit.ops import op
from tests.recording import record


def test_blocks_are_the_same_whatever_their_names_and_unread_ops() -> None:
    def unread(a: Any) -> Any:
        op.Sin(a)
        return op.Exp(op.Mul(a, 2.0))

    one = record(lambda x: op.Exp(op.Mul(x, 2.0)), "float32[N]")
    assert same_blocks(one, record(unread, "float32[N]"))
    assert not same_blocks(one, record(lambda x: op.Exp(op.Mul(x, 3.0)), "float32[N]"))
    assert not same_blocks(one, record(lambda x: op.Exp(op.Add(x, 2.0)), "float32[N]"))


def test_attributes_and_the_order_of_inputs_count() -> None:
    first = record(lambda x, y: op.Sub(x, y), "float32[N]", "float32[N]")
    assert not same_blocks(first, record(lambda x, y: op.Sub(y, x), "float32[N]", "float32[N]"))
    rows = record(lambda x: op.Softmax(x, axis=0), "float32[N,3]")
    assert not same_blocks(rows, record(lambda x: op.Softmax(x, axis=1), "float32[N,3]"))
    assert same_blocks(rows, record(lambda x: op.Softmax(x, axis=np.int64(0).item()), "float32[N,3]"))


def test_operands_of_a_sum_and_of_a_product_may_be_in_either_order() -> None:
    first = record(lambda x, y: op.Add(op.Mul(x, y), x), "float32[N]", "float32[N]")
    assert same_blocks(first, record(lambda x, y: op.Add(x, op.Mul(y, x)), "float32[N]", "float32[N]"))
    assert not same_blocks(first, record(lambda x, y: op.Add(y, op.Mul(y, x)), "float32[N]", "float32[N]"))


def test_a_gemm_is_a_product_and_a_sum() -> None:
    types = "float32[2,3]", "float32[3,4]", "float32[2,4]"
    gemm = record(lambda a, b, c: op.Gemm(a, b, c), *types)
    added = record(lambda a, b, c: op.Add(c, op.MatMul(a, b)), *types)
    assert same_blocks(gemm, added)
    assert same_blocks(added, gemm)
    assert not same_blocks(gemm, record(lambda a, b, c: op.Sub(op.MatMul(a, b), c), *types))
    assert not same_blocks(record(lambda a, b, c: op.Gemm(a, b, c, beta=2.0), *types), added)
    squares = "float32[3,3]", "float32[3,3]", "float32[3,3]"
    turned = record(lambda a, b, c: op.Gemm(a, b, c, transA=1), *squares)
    assert not same_blocks(turned, record(lambda a, b, c: op.Add(c, op.MatMul(a, b)), *squares))
    assert not same_blocks(
        record(lambda a, b, c: op.Gemm(a, b, c), *squares), record(lambda a, b, c: op.Add(b, op.MatMul(a, c)), *squares)
    )
