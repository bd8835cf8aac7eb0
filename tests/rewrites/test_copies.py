"""Copies removed: readers read what was copied."""

from typing import Any

from primsplit.ops import op
from primsplit.rewrites.copies import read_past_copies
from tests.recording import kinds, record, sub_block


def test_readers_of_a_copy_read_what_was_copied() -> None:
    block = record(lambda x: op.Exp(op.Identity(op.Identity(x))), "float32[3]")
    found = read_past_copies(block)
    assert kinds(found) == ["Exp"]
    assert found.ops[0].inputs == found.params


def test_a_copy_that_is_a_result_stays() -> None:
    block = record(lambda x: (op.Identity(x), op.Exp(op.Identity(x))), "float32[3]")
    found = read_past_copies(block)
    assert kinds(found) == ["Identity", "Exp"]
    assert found.ops[1].inputs == found.params


def test_copies_inside_of_branches_are_read_past_too() -> None:
    def f(x: Any, c: Any) -> Any:
        copy = op.Identity(x)
        branches = {n: sub_block(lambda: op.Neg(copy)) for n in ("then_branch", "else_branch")}
        return op.If(c, **branches, types=[x.type])[0]

    found = read_past_copies(record(f, "float32[3]", "bool"))
    assert kinds(found) == ["If"]
    assert [b.ops[0].inputs for b in found.ops[0].blocks()] == [found.params[:1]] * 2


def test_a_block_without_copies_is_itself() -> None:
    block = record(lambda x: op.Exp(x), "float32[3]")
    assert read_past_copies(block) is block
