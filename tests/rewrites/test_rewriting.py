"""One walk replaces values, also in sub-blocks; the helpers read shapes, integers and axes off a block."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from primsplit.ir import Const, Op, Type, Value, Var
from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.rewrites.rewriting import Rewriter, drop_dead_code, integers, literal_shape, reading_again, reduced_axes
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import lift
from tests.random_programs import bits, run
from tests.recording import kinds, record, sub_block

X = np.array([0.5, -0.4, 0.3], np.float32)


class Doubled(Rewriter):
    """Exp(x) becomes Exp(x + x)."""

    kinds = frozenset({"Exp"})

    def visit(self, op_: Op) -> Op | None:
        """Record the sum beside an Exp."""
        if op_.kind != "Exp":
            return super().visit(op_)

        def outputs() -> list[Value]:
            x = Array(op_.inputs[0])
            return [lift(op.Exp(op.Add(x, x)))]

        self.replace_by(op_, outputs)
        return None


def with_a_branch(x: Any) -> Any:
    y = op.Exp(x)
    then = sub_block(lambda: op.Add(op.Exp(y), x), name="then_branch")
    other = sub_block(lambda: op.Neg(y), name="else_branch")
    (z,) = op.If(op.Greater(op.ReduceSum(x, keepdims=0), 0.0), then_branch=then, else_branch=other, types=[x.type])
    return op.Mul(z, y)


@pytest.mark.parametrize("sign", [1, -1])
def test_what_is_replaced_is_read_by_all_behind_it_also_in_branches(sign: int) -> None:
    after = Doubled().run(record(with_a_branch, "float32[3]"))
    check_types(after)
    x = sign * X
    y = np.exp(2 * x)
    wanted = (np.exp(2 * y) + x if x.sum() > 0 else -y) * y
    np.testing.assert_allclose(run(after, [x])[0], wanted, rtol=1e-5)
    (branch,) = (step for step in after.ops if step.kind == "If")
    assert [kinds(block) for block in branch.blocks()] == [["Add", "Exp", "Add"], ["Neg"]]


def test_what_a_rewrite_leaves_unread_is_dropped_and_a_block_that_it_leaves_alone_stays() -> None:
    class Forgetting(Rewriter):
        """Exp(x) becomes 1."""

        def visit(self, op_: Op) -> Op | None:
            done = op_.kind == "Exp" and self.replace(op_.outputs[0], Const(np.ones(3, np.float32)))
            return None if done else op_

    block = record(lambda x: op.Neg(op.Exp(op.Sin(x))), "float32[3]")
    assert kinds(Forgetting().run(block)) == ["Sin", "Neg"]
    assert kinds(Forgetting().run_and_drop(block)) == ["Neg"]
    other = record(lambda x: op.Neg(x), "float32[3]")
    unread = replace(other, ops=(*other.ops, *record(lambda x: op.Sin(x), "float32[3]").ops))
    assert Forgetting().run_and_drop(unread) is unread


def test_a_block_without_the_kinds_of_a_pass_is_not_walked() -> None:
    class Never(Doubled):
        def visit(self, op_: Op) -> Op | None:
            raise AssertionError(op_.kind)

    block = record(lambda x: op.Neg(x), "float32[3]")
    assert Never().run(block) is block


def test_a_value_is_replaced_by_one_of_its_type_alone() -> None:
    block = record(lambda x, y, z: op.Neg(x), "float32[N]", "float32[N]", "float32[M]")
    x, y, z = block.params
    rewriter = Rewriter()
    assert not rewriter.replace(x, z)
    assert rewriter.run(block) is block
    assert rewriter.replace(x, y)
    assert rewriter.run(block).ops[0].inputs == (y,)


def test_a_literal_shape_has_no_symbol() -> None:
    assert literal_shape(Type("float32", [2, 0, 1])) == (2, 0, 1)
    assert literal_shape(Type("float32", [])) == ()
    assert literal_shape(record(lambda x: x, "float32[2,N]").params[0].type) is None
    assert literal_shape(Type("float32", None)) is None


def test_integers_are_those_of_a_constant_vector() -> None:
    assert integers(Const(np.array([3, -1]))) == (3, -1)
    assert integers(Const(np.zeros(0, np.int64))) == ()
    assert integers(Const(np.array([0.5]))) is None
    assert integers(None) is None


@pytest.mark.parametrize(
    ("axes", "attributes", "wanted"),
    [
        ([0], {}, {0}),
        ([-1, 0], {}, {0, 2}),
        (None, {}, {0, 1, 2}),
        ([], {}, {0, 1, 2}),
        ([], {"noop_with_empty_axes": 1}, None),
        (None, {"noop_with_empty_axes": 1}, None),
        ([1], {"noop_with_empty_axes": 1}, {1}),
    ],
)
def test_axes_of_a_reduction_count_from_the_front(axes: Any, attributes: Any, wanted: Any) -> None:
    given = None if axes is None else np.array(axes, np.int64)
    block = record(lambda x: op.ReduceSum(x, given, **attributes), "float32[2,3,4]")
    assert reduced_axes(block.ops[-1], 3) == wanted


def test_axes_that_only_the_run_knows_are_not_known() -> None:
    block = record(lambda x, axes: op.ReduceSum(x, axes), "float32[2,3]", "int64[1]")
    assert reduced_axes(block.ops[-1], 2) is None


def test_an_op_reads_its_operands_again_as_other_values_of_the_same_bits() -> None:
    block = record(lambda x, y: op.Sub(x, y), "float32[3]", "float32[3]")
    x, y = block.params
    *made, last = reading_again(block.ops[0], [y])
    assert [step.kind for step in made] == ["Unsqueeze", "Squeeze"]
    assert last.inputs[0] is x
    assert last.inputs[1] is not y
    again = type(block)(block.name, block.params, (*made, last), block.results)
    check_types(again)
    assert bits(run(again, [X, X[::-1].copy()])) == bits([X - X[::-1]])


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
