"""The walk of `simplify` over a block; the rewrites themselves are tested by family in `rewrites/`."""

import numpy as np

from primsplit.ir import Const
from primsplit.ops import op
from primsplit.rewrites import simplify
from tests.recording import kinds, record


def test_ops_of_two_symbols_are_not_taken_for_one() -> None:
    block = record(lambda x, y: op.Mul(x, op.Expand(y, op.Shape(x))), "float32[N]", "float32[M]")
    assert kinds(simplify(block)) == ["Shape", "Expand", "Mul"]


def test_integers_have_one_zero() -> None:
    block = record(lambda n: op.Mul(op.Add(n, np.int64(0)), np.int64(1)), "int64[N]")
    assert simplify(block).results == block.params


def test_place_and_remark_are_kept() -> None:
    block = record(lambda x: op.Div(x, np.float32(4)), "float32[N]")
    (made,) = simplify(block).ops
    assert made.kind == "Mul"
    assert made.place is block.ops[0].place
    assert isinstance(made.inputs[1], Const)


def test_a_block_in_which_nothing_changes_is_the_same_object() -> None:
    block = record(lambda x: op.Exp(op.Sin(x)), "float32[N]")
    assert simplify(block) is block
