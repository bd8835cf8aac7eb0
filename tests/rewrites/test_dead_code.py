"""Dead code dropped: ops that no result depends on."""

from dataclasses import replace
from typing import Any

from primsplit.ir import Op, Var
from primsplit.ops import op
from primsplit.rewrites.dead_code import drop_dead_code
from tests.recording import kinds, record, sub_block


def test_ops_that_no_result_reads_are_dropped_with_what_only_they_read() -> None:
    def f(x: Any) -> Any:
        op.Exp(op.Sin(x))
        return op.Neg(x)

    assert kinds(drop_dead_code(record(f, "float32[3]"))) == ["Neg"]


def test_dead_ops_inside_of_a_branch_are_dropped_with_what_they_capture() -> None:
    def f(x: Any, c: Any) -> Any:
        sine = op.Sin(x)

        def side() -> Any:
            op.Exp(sine)
            return op.Neg(x)

        return op.If(c, then_branch=sub_block(side), else_branch=sub_block(side), types=[x.type])[0]

    found = drop_dead_code(record(f, "float32[3]", "bool"))
    assert kinds(found) == ["If"]
    assert [kinds(b) for b in found.ops[0].blocks()] == [["Neg"], ["Neg"]]


def test_the_body_of_a_call_stays_as_it_is() -> None:
    def f(x: Any) -> Any:
        op.Exp(x)
        return op.Neg(x)

    body = record(f, "float32[3]")
    block = record(lambda x: op.Cos(x), "float32[3]")
    result = Var(block.results[0].type)
    called = replace(block, ops=(Op("call::f", block.params, (result,), {"body": body}),), results=(result,))
    assert drop_dead_code(called) is called
    assert len(body.ops) == 2


def test_a_block_of_live_ops_is_itself() -> None:
    block = record(lambda x: op.Exp(op.Sin(x)), "float32[3]")
    assert drop_dead_code(block) is block
