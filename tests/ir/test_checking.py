"""The check that a block is a program."""

import pytest
from hypothesis import given, settings

from primsplit.ir import (
    Block,
    Op,
    Type,
    Var,
    check,
    free,
)
from primsplit.ir.dims import symbol
from primsplit.ir.errors import PrimsplitError
from tests.random_programs import blocks

F32 = Type("float32", [symbol("N"), 3])


@settings(max_examples=50, deadline=None)
@given(blocks())
def test_a_recorded_block_is_a_program_that_captures_nothing(block: Block) -> None:
    check(block)
    assert not free(block)


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
