"""Renaming and inlining: copies with fresh Vars that compute the same."""

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given, settings

from primsplit.ir import (
    NOWHERE,
    Block,
    Const,
    Op,
    Type,
    Var,
    check,
    inline,
    rename,
    rename_block,
    rename_reads,
    renamed,
    walk,
)
from primsplit.ir.dims import symbol
from primsplit.ir.errors import Place
from tests.random_programs import blocks

F32 = Type("float32", [symbol("N"), 3])


@settings(max_examples=50, deadline=None)
@given(blocks())
def test_a_copy_with_fresh_variables_is_equal_and_shares_none(block: Block) -> None:
    copy = rename_block(block, {})
    check(copy)
    assert copy == block
    ours = {v for o in walk(block) for v in o.outputs}
    assert not ours & {v for o in walk(copy) for v in o.outputs}


@settings(max_examples=50, deadline=None)
@given(blocks())
def test_an_inlined_block_computes_the_same(block: Block) -> None:
    ops: list[Op] = []
    params = [Var(p.type) for p in block.params]
    results = inline(block, params, ops)
    assert Block("g", tuple(params), tuple(ops), tuple(results)) == block


def test_renaming_reads_through_and_keeps_the_place_of_the_user() -> None:
    x, y = Var(F32, "x"), Var(F32, "y")
    made = Op("Sin", (x,), (Var(F32),), {}, None, "why")
    renaming: dict[Var, Any] = {x: y}
    copy = rename(made, renaming, remark="other")
    assert copy.inputs == (y,)
    assert copy.remark == "why"
    assert renaming[made.outputs[0]] is copy.outputs[0]


def test_ops_without_a_place_get_that_of_the_innermost_op_around_them() -> None:
    x, y, z = Var(F32, "x"), Var(F32), Var(F32)
    own, outer = Place("f.py", 3, "f"), Place("f.py", 9, "f")
    body = Block("g", (y,), (Op("Sin", (y,), (z,), {}, NOWHERE),), (z,))
    call = Op("call::g", (x,), (Var(F32),), {"body": body}, own)
    assert rename(call, {}, place=outer).attributes["body"].ops[0].place == own
    assert rename(replace(call, place=None), {}, place=outer).attributes["body"].ops[0].place == outer


def test_what_a_renaming_does_not_name_stays_itself() -> None:
    x, y = Var(F32, "x"), Var(F32, "y")
    one = Const(np.array(1, np.float32))
    assert renamed(x, {x: y}) is y
    assert renamed(y, {x: one}) is y
    assert renamed(x, {x: one}) is one
    assert renamed(one, {x: y}) is one
    assert renamed(None, {x: y}) is None


def test_an_op_reads_others_and_defines_the_same_also_in_its_blocks() -> None:
    x, y, z, test = Var(F32), Var(F32), Var(F32), Var(Type("bool", []))
    sin = Op("Sin", (x,), (z,))
    assert rename_reads(sin, {x: y}).inputs == (y,)
    assert rename_reads(sin, {x: y}).outputs == (z,)
    assert rename_reads(sin, {z: y}) is sin
    inner = Block("then_branch", (), (Op("Sin", (x,), (z,)),), (z,))
    choice = Op("If", (test,), (Var(F32),), {"then_branch": inner, "else_branch": inner})
    read = rename_reads(choice, {x: y})
    assert read.outputs == choice.outputs
    assert [block.ops[0].inputs for block in read.blocks()] == [(y,), (y,)]
