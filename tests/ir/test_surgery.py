"""Rebinding the reads of programs: references stay right, and a substitute of another type is refused."""

import numpy as np
import pytest

from primsplit.ir import Block, Const, Op, Type, Var
from primsplit.ir.errors import PrimsplitError
from primsplit.ir.surgery import rebind
from primsplit.testing import evaluate

F64 = Type("float64", [3])
X = np.array([0.5, 1.0, 2.0])


def var(hint: str = "", type: Type = F64) -> Var:
    return Var(type, hint)


def chain() -> tuple[Block, Op, Op, Op]:
    """x -> sin -> exp -> (exp + sin)."""
    x, a, b, c = var("x"), var("a"), var("b"), var("c")
    sin, exp, add = Op("Sin", (x,), (a,)), Op("Exp", (a,), (b,)), Op("Add", (b, a), (c,))
    return Block("chain", (x,), (sin, exp, add), (c,)), sin, exp, add


def test_readers_read_the_substitute_and_the_op_that_defined_the_value_stays() -> None:
    block, sin, exp, _ = chain()
    result = rebind(block, {exp.outputs[0]: sin.outputs[0]})
    assert [op.kind for op in result.ops] == ["Sin", "Exp", "Add"]
    np.testing.assert_allclose(evaluate(result, [X])[0], 2 * np.sin(X))
    np.testing.assert_allclose(evaluate(block, [X])[0], np.exp(np.sin(X)) + np.sin(X))


def test_a_result_is_rebound_too() -> None:
    block, sin, _, add = chain()
    assert evaluate(rebind(block, {add.outputs[0]: Const(X)}), [X])[0].tolist() == X.tolist()
    assert rebind(block, {add.outputs[0]: sin.outputs[0]}).results == sin.outputs


def test_a_substitute_must_have_the_type_of_what_it_stands_for() -> None:
    block, _, exp, _ = chain()
    with pytest.raises(PrimsplitError, match="float32"):
        rebind(block, {exp.outputs[0]: Const(X.astype(np.float32))})


def test_captures_inside_a_branch_are_rebound() -> None:
    x, condition, a, inner, other, result = (
        var("x"), var("c", Type("bool", [])), var("a"), var(), var(), var("r"),
    )  # fmt: skip
    branches = {
        "then_branch": Block("then", (), (Op("Cos", (a,), (inner,)),), (inner,)),
        "else_branch": Block("else", (), (Op("Exp", (a,), (other,)),), (other,)),
    }
    ops = (Op("Sin", (x,), (a,)), Op("If", (condition,), (result,), branches))
    without = rebind(Block("f", (x, condition), ops, (result,)), {a: x})
    np.testing.assert_allclose(evaluate(without, [X, True])[0], np.cos(X))
    np.testing.assert_allclose(evaluate(without, [X, False])[0], np.exp(X))


def test_untouched_ops_stay_the_same_objects() -> None:
    block, _, exp, _ = chain()
    result = rebind(block, {exp.outputs[0]: exp.inputs[0]})
    assert [a is b for a, b in zip(result.ops, block.ops, strict=True)] == [True, True, False]
