"""Closed under differentiation: what a rule records has derivative rules itself, so any order exists."""

from collections.abc import Iterator

import pytest

from primsplit.ir import Block, Var, is_call
from primsplit.ir.parts import Split
from primsplit.rewrites.inline import inline_calls
from primsplit.rules.table import RULES, status
from primsplit.transforms.tangents.pushforward import Pushforward, push_whole
from tests.rules.row import subject_of
from tests.rules.rows import ROWS, Row

FORMS = {"rule", "partials", "no_gradient", "through_body"}


def split_of(row: Row) -> Split:
    subject = subject_of(row)
    wrt = [i for i, array in enumerate(subject.point) if array.dtype.kind == "f"]
    return subject.split(wrt).split


def pushed_of(row: Row) -> Pushforward:
    """The tangent list of the operator: by its forward rule where it has one."""
    program = subject_of(row).program()
    floats = [i for i, t in enumerate(program.types) if t.is_float]
    return push_whole(program.block, floats, [i for i, r in enumerate(program.block.results) if r.type.is_float])


def kinds_of(block: Block) -> Iterator[str]:
    """The operators in a block; a call that has a rule of its own is not looked into."""
    for op in block.ops:
        if op.attributes.get("rule") is None:
            yield from [] if is_call(op) else [op.kind]
            for inner in op.blocks():
                yield from kinds_of(inner)


def assert_none_stops_a_cotangent(split: Split) -> None:
    """No cotangent passes through an operator without a gradient."""
    depends = set(split.cotangents)
    for op in inline_calls(split.pullback).ops:
        if any(isinstance(v, Var) and v in depends for v in op.inputs):
            is_float = any(v.type.is_float for v in op.outputs)
            stops = op.kind in RULES and RULES[op.kind].form == "no_gradient"
            assert not (is_float and stops), f"{op.kind} stops the cotangent"
            depends.update(op.outputs)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_the_operators_that_a_rule_records_have_rules_themselves_and_let_cotangents_through(row: Row) -> None:
    split = split_of(row)
    assert_none_stops_a_cotangent(split)
    recorded = {kind for block in (split.primal, split.pullback) for kind in kinds_of(block)}
    without = sorted(kind for kind in recorded if status(kind) not in FORMS)
    assert without == [], f"the rule of {row.kind} records {', '.join(without)}"


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_the_operators_of_a_tangent_list_have_rules_themselves(row: Row) -> None:
    pushed = pushed_of(row)
    recorded = {kind for block in (pushed.primal, pushed.tangent) for kind in kinds_of(block)}
    without = sorted(kind for kind in recorded if status(kind) not in FORMS)
    assert without == [], f"the tangent of {row.kind} is made of {', '.join(without)}"
