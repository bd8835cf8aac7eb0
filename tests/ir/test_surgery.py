"""Surgery on programs: references stay right, and what would be no program is refused."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Block, Const, Op, Type, Var, surgery, walk
from primsplit.ir.errors import PrimsplitError
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


def test_an_op_put_in_before_its_reader_leaves_every_reference_right() -> None:
    block, _, exp, _ = chain()
    negated = var()
    result = surgery.insert_before(block, exp, [Op("Neg", exp.inputs, (negated,))])
    assert [op.kind for op in result.ops] == ["Sin", "Neg", "Exp", "Add"]
    np.testing.assert_allclose(evaluate(result, [X])[0], np.exp(np.sin(X)) + np.sin(X))
    np.testing.assert_allclose(evaluate(block, [X])[0], np.exp(np.sin(X)) + np.sin(X))


def test_a_reader_can_be_bound_to_what_was_put_in() -> None:
    block, sin, exp, _ = chain()
    negated = var()
    put_in = surgery.insert_after(block, sin, [Op("Neg", sin.outputs, (negated,))])
    result = surgery.replace(put_in, exp, [Op("Exp", (negated,), exp.outputs)])
    np.testing.assert_allclose(evaluate(result, [X])[0], np.exp(-np.sin(X)) + np.sin(X))


def test_an_op_becomes_two_and_its_readers_read_the_second() -> None:
    block, _, exp, _ = chain()
    first, second = var(), var()
    two = [Op("Mul", (*exp.inputs, *exp.inputs), (first,)), Op("Neg", (first,), (second,))]
    result = surgery.replace(block, exp, two, {exp.outputs[0]: second})
    assert [op.kind for op in result.ops] == ["Sin", "Mul", "Neg", "Add"]
    np.testing.assert_allclose(evaluate(result, [X])[0], -(np.sin(X) ** 2) + np.sin(X))


def test_an_op_becomes_two_that_define_its_own_output() -> None:
    block, _, exp, _ = chain()
    middle = var()
    result = surgery.replace(block, exp, [Op("Neg", exp.inputs, (middle,)), Op("Cos", (middle,), exp.outputs)])
    np.testing.assert_allclose(evaluate(result, [X])[0], np.cos(np.sin(X)) + np.sin(X))


def test_a_deleted_op_hands_its_readers_to_another_value() -> None:
    block, sin, exp, _ = chain()
    result = surgery.delete(block, exp, {exp.outputs[0]: sin.outputs[0]})
    np.testing.assert_allclose(evaluate(result, [X])[0], 2 * np.sin(X))


def test_a_result_is_rebound_too() -> None:
    block, sin, _, add = chain()
    result = surgery.delete(block, add, {add.outputs[0]: Const(X)})
    assert evaluate(result, [X])[0].tolist() == X.tolist()
    assert surgery.delete(block, add, {add.outputs[0]: sin.outputs[0]}).results == sin.outputs


def test_an_op_that_is_still_read_cannot_be_deleted() -> None:
    block, _, exp, _ = chain()
    with pytest.raises(PrimsplitError, match=r"is still read, and Exp.*is gone"):
        surgery.delete(block, exp)


def test_a_substitute_must_have_the_type_of_what_it_stands_for() -> None:
    block, _, exp, _ = chain()
    with pytest.raises(PrimsplitError, match="float32"):
        surgery.delete(block, exp, {exp.outputs[0]: Const(X.astype(np.float32))})


def test_a_substitute_that_is_defined_later_is_refused() -> None:
    block, sin, _, add = chain()
    with pytest.raises(PrimsplitError, match="before it is defined"):
        surgery.delete(block, sin, {sin.outputs[0]: add.outputs[0]})


def test_an_op_that_defines_what_is_defined_already_is_refused() -> None:
    block, sin, exp, _ = chain()
    with pytest.raises(PrimsplitError, match="defined twice"):
        surgery.insert_before(block, exp, [Op("Neg", sin.inputs, sin.outputs)])


def test_an_op_of_another_program_is_refused() -> None:
    block, _, _, _ = chain()
    _, sin, _, _ = chain()
    with pytest.raises(PrimsplitError, match="this Sin is not in chain"):
        surgery.delete(block, sin)


def test_ops_inside_a_branch_are_reached_and_captures_are_rebound() -> None:
    x, condition, a, inner, other, result = (
        var("x"), var("c", Type("bool", [])), var("a"), var(), var(), var("r"),
    )  # fmt: skip
    sin = Op("Sin", (x,), (a,))
    negate = Op("Neg", (a,), (inner,))
    branches = {
        "then_branch": Block("then", (), (negate,), (inner,)),
        "else_branch": Block("else", (), (Op("Exp", (a,), (other,)),), (other,)),
    }
    choose = Op("If", (condition,), (result,), branches)
    block = Block("f", (x, condition), (sin, choose), (result,))
    cosine = surgery.replace(block, negate, [Op("Cos", (a,), (inner,))])
    np.testing.assert_allclose(evaluate(cosine, [X, True])[0], np.cos(np.sin(X)))
    without = surgery.delete(cosine, sin, {a: x})
    np.testing.assert_allclose(evaluate(without, [X, True])[0], np.cos(X))
    np.testing.assert_allclose(evaluate(without, [X, False])[0], np.exp(X))


def test_untouched_ops_stay_the_same_objects() -> None:
    block, sin, _, add = chain()
    result = surgery.insert_after(block, add, [])
    assert all(a is b for a, b in zip(result.ops, block.ops, strict=True))
    assert sin in list(walk(result))


def test_surgery_on_a_traced_program_exports_and_runs() -> None:
    program = ps.trace(lambda x: np.exp(np.sin(x)), ps.spec("float64", ["N"]))
    (sin, _) = program.block.ops
    program.block = surgery.replace(program.block, sin, [Op("Cos", sin.inputs, sin.outputs)])
    np.testing.assert_allclose(program(X), np.exp(np.cos(X)))
