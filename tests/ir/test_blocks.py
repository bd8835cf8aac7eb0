"""Ops and blocks: what they read, their sub-blocks, their equality up to names."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from primsplit.ir import (
    Block,
    Const,
    Op,
    Type,
    Var,
    free,
    own_symbols,
    readers,
    reads,
    walk,
)
from primsplit.ir.dims import symbol
from primsplit.ir.errors import Place
from primsplit.ops import op
from tests.recording import record, sub_block

N = symbol("N")


F32 = Type("float32", [N, 3])


def _branching(x: Any, c: Any) -> Any:
    y = op.Exp(x)
    bodies = [sub_block(lambda: op.Neg(y)), sub_block(lambda: op.Mul(x, x))]
    (z,) = op.If(c, then_branch=bodies[0], else_branch=bodies[1], types=[x.type])
    return z


def test_free_variables_are_found_through_sub_blocks_in_order_of_use() -> None:
    block = record(_branching, "float32[N]", "bool")
    branching = block.ops[1]
    exp, x, c = block.ops[0].outputs[0], *block.params
    assert [list(free(b)) for b in branching.blocks()] == [[exp], [x]]
    assert list(reads(branching)) == [c, exp, x]
    assert list(free(Block("rest", (), block.ops[1:], block.results))) == [c, exp, x]
    assert [o.kind for o in walk(block)] == ["Exp", "If", "Neg", "Mul"]


def test_a_result_that_is_defined_outside_is_free() -> None:
    x = Var(F32)
    assert list(free(Block("f", (), (), (x, Const(np.zeros(3)))))) == [x]


def test_each_reading_counts_and_a_sub_block_reads_for_its_op() -> None:
    block = record(_branching, "float32[N,3]", "bool")
    (x, c), (exp, branch) = block.params, block.ops
    assert readers(block.ops, (*block.results, x)) == {
        x: [exp, branch, None],
        c: [branch],
        exp.outputs[0]: [branch],
        branch.outputs[0]: [None],
    }
    square = record(lambda x: op.Mul(x, x), "float32[3]")
    assert readers(square.ops, ())[square.params[0]] == [*square.ops, *square.ops]


def test_an_op_beside_another_has_its_place_and_remark_and_its_own_attributes() -> None:
    x, y = Var(F32, "x"), Var(F32, "y")
    first = Op("Softmax", (x,), (y,), {"axis": 1}, Place("model.py", 3, "f"), "the weights")
    beside = first.beside("Exp", (x,), (Var(F32, "z"),))
    assert (beside.place, beside.remark, beside.kind, dict(beside.attributes)) == (
        first.place,
        "the weights",
        "Exp",
        {},
    )


def test_an_op_is_copied_only_where_a_sub_block_of_it_changes() -> None:
    exp, branch = record(_branching, "float32[N,3]", "bool").ops
    assert exp.with_blocks(lambda _: pytest.fail("it has no sub-block")) is exp
    assert branch.with_blocks(lambda b: b) is branch
    changed = branch.with_blocks(lambda b: replace(b, name="other"))
    assert [b.name for b in changed.blocks()] == ["other", "other"]
    assert (changed.inputs, changed.outputs, changed.place) == (branch.inputs, branch.outputs, branch.place)


DIFFERENT = [
    record(lambda x: op.Add(x, np.float32(0.0)), "float32[N]"),
    record(lambda x: op.Add(x, np.float32(-0.0)), "float32[N]"),
    record(lambda x: op.Sub(x, np.float32(0.0)), "float32[N]"),
    record(lambda x: op.Add(x, np.float32(0.0)), "float32[M]"),
    record(lambda x: op.Add(np.float32(0.0), x), "float32[N]"),
    record(lambda x: op.Add(x, x), "float32[N]"),
    record(lambda x: op.Elu(x, alpha=0.5), "float32[N]"),
    record(lambda x: op.Elu(x), "float32[N]"),
    record(lambda x: op.Elu(x, alpha=1.0), "float32[N]"),
    record(lambda x: (op.Elu(x), x), "float32[N]"),
    record(lambda x: x, "float32[N]"),
    record(lambda x, y: x, "float32[N]", "float32[N]"),
    record(lambda x, y: y, "float32[N]", "float32[N]"),
]


def test_blocks_are_equal_only_to_themselves_up_to_names() -> None:
    for i, a in enumerate(DIFFERENT):
        for j, b in enumerate(DIFFERENT):
            assert (a == b) == (i == j)


def test_symbols_that_a_block_introduces_are_its_own() -> None:
    block = record(lambda x: op.NonZero(x), "float32[N]")
    (made,) = own_symbols(block)
    assert made.startswith("nonzero")
