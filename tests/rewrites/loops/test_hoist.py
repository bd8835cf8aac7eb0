"""Ops of a body that read nothing of the step go in front of the loop, and random ones stay."""

from typing import Any

import numpy as np

import primsplit as ps
from primsplit import tracing
from primsplit.ops import op
from primsplit.rewrites.loops.hoist import hoist, is_movable, without_invariants
from primsplit.tracing.array import Array
from tests.random_programs import run
from tests.recording import kinds, record, sub_block


def test_ops_that_depend_on_a_parameter_stay_and_the_others_go() -> None:
    block = record(lambda x, w: op.Add(op.Mul(x, op.Exp(w)), op.Exp(op.Neg(w))), "float32[3]", "float32[3]")
    outside, inside = hoist(block.ops, block.params[:1])
    assert [step.kind for step in outside] == ["Exp", "Neg", "Exp"]
    assert [step.kind for step in inside] == ["Mul", "Add"]


def test_a_draw_and_what_depends_on_it_stay() -> None:
    block = record(lambda x, w: op.Add(x, op.Exp(op.RandomNormalLike(w))), "float32[3]", "float32[3]")
    outside, inside = hoist(block.ops, block.params[:1])
    assert outside == []
    assert len(inside) == 3


def test_an_op_with_blocks_is_movable_if_all_in_them_is() -> None:
    def chosen(draws: bool) -> Any:
        def program(x: Any) -> Any:
            then = sub_block(lambda: op.RandomNormalLike(x) if draws else op.Neg(x), name="then_branch")
            other = sub_block(lambda: op.Abs(x), name="else_branch")
            return op.If(op.Greater(x[0], 0.0), then_branch=then, else_branch=other, types=[x.type])[0]

        return record(program, "float32[3]").ops[-1]

    assert is_movable(chosen(draws=False))
    assert not is_movable(chosen(draws=True))


def test_what_two_ops_of_a_body_compute_alike_is_recorded_once_in_front() -> None:
    def program(w: Any) -> Any:
        body = sub_block(lambda x: op.Add(op.Mul(x, op.Exp(w)), op.Exp(w)), "float32[3]")
        inside = without_invariants(body)
        assert kinds(inside) == ["Mul", "Add"]
        return Array(tracing.inline(inside, [op.Neg(w).value])[0])

    block = record(program, "float32[3]")
    assert kinds(block) == ["Exp", "Neg", "Mul", "Add"]
    w = np.array([0.0, 1.0, -2.0], np.float32)
    np.testing.assert_allclose(run(block, [w])[0], (1 - w) * np.exp(w), rtol=1e-6)


def test_a_scan_computes_the_exponential_of_a_weight_once() -> None:
    def total(w: Any, rows: Any) -> Any:
        return ps.scan(lambda c, x: (c + x * np.exp(w), None), np.zeros(2), rows)[0]

    block = ps.trace(total, ps.spec("float64", [2]), ps.spec("float64", ["N", 2])).block
    (scan,) = (step for step in block.ops if step.kind == "Scan")
    assert "Exp" in kinds(block)
    assert kinds(scan.attributes["body"]) == ["Mul", "Add"]
