"""Blocks: free variables, copies, equality, and the check that a block is a program."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from primsplit.ir import (
    Block,
    Const,
    Op,
    Type,
    Var,
    check,
    free,
    inline,
    own_symbols,
    readers,
    reads,
    rename,
    rename_block,
    renamed,
    same_array,
    same_types,
    walk,
)
from primsplit.ir.dims import symbol
from primsplit.ir.errors import Place, PrimsplitError
from primsplit.ops import op
from tests.random_programs import blocks
from tests.recording import record, sub_block

N = symbol("N")
F32 = Type("float32", [N, 3])


def _branching(x: Any, c: Any) -> Any:
    y = op.Exp(x)
    bodies = [sub_block(lambda: op.Neg(y)), sub_block(lambda: op.Mul(x, x))]
    (z,) = op.If(c, then_branch=bodies[0], else_branch=bodies[1], types=[x.type])
    return z


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


@settings(max_examples=50, deadline=None)
@given(blocks())
def test_a_recorded_block_is_a_program_that_captures_nothing(block: Block) -> None:
    check(block)
    assert not free(block)


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


def test_renaming_reads_through_and_keeps_the_place_of_the_user() -> None:
    x, y = Var(F32, "x"), Var(F32, "y")
    made = Op("Sin", (x,), (Var(F32),), {}, None, "why")
    renaming: dict[Var, Any] = {x: y}
    copy = rename(made, renaming, remark="other")
    assert copy.inputs == (y,)
    assert copy.remark == "why"
    assert renaming[made.outputs[0]] is copy.outputs[0]


def test_what_a_renaming_does_not_name_stays_itself() -> None:
    x, y = Var(F32, "x"), Var(F32, "y")
    one = Const(np.array(1, np.float32))
    assert renamed(x, {x: y}) is y
    assert renamed(y, {x: one}) is y
    assert renamed(x, {x: one}) is one
    assert renamed(one, {x: y}) is one
    assert renamed(None, {x: y}) is None


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


def _sin(var: Var) -> Op:
    return Op("Sin", (var,), (Var(var.type),))


X = Var(F32, "x")
SIN = _sin(X)
BROKEN = {
    "is defined twice": Block("f", (X,), (SIN, Op("Cos", (X,), SIN.outputs)), ()),
    "is not defined": Block("f", (X,), (), (Var(F32),)),
    "before it is defined": Block("f", (X,), (Op("Cos", SIN.outputs, (Var(F32),)), SIN), ()),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_block_is_found(what: str) -> None:
    with pytest.raises(PrimsplitError, match=what):
        check(BROKEN[what])


def test_the_body_of_a_call_may_not_read_the_outside() -> None:
    body = Block("g", (), (), (X,))
    call = Op("call::g", (), (Var(F32),), {"body": body})
    with pytest.raises(PrimsplitError, match="is not defined"):
        check(Block("f", (X,), (call,), call.outputs))
    check(Block("f", (X,), (Op("If", (), (Var(F32),), {"then_branch": body}),), ()))


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


def test_arrays_are_equal_bit_by_bit() -> None:
    nan, other = np.float32(np.nan), np.array(0x7FC00001, np.uint32).view(np.float32)
    assert same_array(np.array([nan]), np.array([nan]))
    assert not same_array(np.asarray(nan), np.asarray(other))
    assert not same_array(np.zeros(1), -np.zeros(1))
    assert not same_array(np.zeros(2), np.zeros((2, 1)))
    assert same_array(np.array(["a" * 3], object), np.array(["aa" + "a"], object))


def test_types_are_the_same_only_where_that_is_proven() -> None:
    assert same_types(Type("float32", [N, 3]), Type("float32", [N, 3]))
    assert not same_types(Type("float32", [N, 3]), Type("float32", [symbol("M"), 3]))
    assert not same_types(Type("float32", [N]), Type("float64", [N]))
    assert not same_types(Type("float32", None), Type("float32", None))


def test_a_constant_does_not_change_when_its_array_is_written_to() -> None:
    array = np.zeros(3)
    const = Const(array)
    array[0] = 1
    assert const.numpy()[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        const.numpy()[0] = 2


def test_a_constant_does_not_change_when_what_its_array_shows_is_written_to() -> None:
    """A view that cannot be written to is no array that nobody writes to; one of bytes is."""
    whole = np.ones(4)
    view = whole[1:]
    view.flags.writeable = False
    constants = [Const(view), Const(view[:1]), Const(np.broadcast_to(whole[0], (3,))), Const(view.reshape(3, 1))]
    whole[:] = 5.0
    for constant in constants:
        np.testing.assert_array_equal(constant.numpy(), np.ones(constant.type.shape))
    fixed = np.frombuffer(b"\0" * 16)
    assert Const(fixed).numpy() is fixed


def test_bytes_and_ranks_of_types() -> None:
    assert str(F32.nbytes()) == "12*N"
    assert Type("bfloat16", [2, 3]).nbytes() == 12
    assert Type("float32", None).nbytes() is None
    assert Type("float32", None).rank is None
    assert str(Type("float32", [])) == "float32"


def test_symbols_that_a_block_introduces_are_its_own() -> None:
    block = record(lambda x: op.NonZero(x), "float32[N]")
    (made,) = own_symbols(block)
    assert made.startswith("nonzero")
