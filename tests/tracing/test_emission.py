"""Ops are appended with inferred types at the user's line; a block is called by recording its ops again."""

from typing import Any

import numpy as np
import pytest

from primsplit import tracing
from primsplit.ir import Const, Type, Var
from primsplit.ir.dims import symbol
from primsplit.ir.errors import PrimsplitError, ShapeError
from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.tracing.array import Array
from primsplit.tracing.emission import emit, emit_call, inline
from tests.random_programs import run
from tests.recording import kinds, record, sub_block


def test_an_op_has_the_inferred_type_and_the_users_line() -> None:
    block = record(
        lambda x: Array(emit("ReduceSum", [x.value, Const(np.array([0]))], {"keepdims": 0})[0]), "float32[N,3]"
    )
    (step,) = block.ops
    assert step.outputs[0].type == Type("float32", [3])
    assert step.place is not None
    assert step.place.filename == __file__


def test_sizes_that_are_literal_become_a_constant_and_others_do_not() -> None:
    block = record(lambda x: (op.Shape(x, start=1), op.Shape(x)), "float32[N,3]")
    literal, known = block.results
    assert isinstance(literal, Const)
    assert literal.numpy().tolist() == [3]
    assert isinstance(known, Var)
    assert known.sizes == (symbol("N"), 3)
    assert len(block.ops) == 1


def test_a_declared_type_may_say_more_and_nothing_else() -> None:
    def declared(shape: list[Any]) -> Any:
        return record(lambda x: Array(emit("NonZero", [x.value], types=[Type("int64", shape)])[0]), "float32[4]")

    assert declared([1, symbol("N")]).results[0].type == Type("int64", [1, symbol("N")])
    for shape in ([2, symbol("N")], [4]):
        with pytest.raises(ShapeError, match=r"NonZero gives .* is needed"):
            declared(shape)


def test_an_error_of_inference_has_the_users_line() -> None:
    with pytest.raises(PrimsplitError) as caught:
        record(lambda x: op.MatMul(x, x), "float32[2,3]")
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__


def test_nothing_is_emitted_outside_of_a_recording() -> None:
    with tracing.fresh_stack(), pytest.raises(PrimsplitError, match="nothing is being traced here"):
        emit("Neg", [Const(np.ones(2))])


def test_a_call_holds_its_program() -> None:
    body = record(lambda a, b: (op.Add(a, b), op.Neg(a)), "float32[3]", "float32[3]", name="pair")
    block = record(
        lambda x: tuple(map(Array, emit_call("pair", body, [x.value, x.value], {"inline": False}))), "float32[3]"
    )
    (call,) = block.ops
    assert call.kind == "call::pair"
    assert call.attributes == {"body": body, "inline": False}
    assert [v.type for v in call.outputs] == [Type("float32", [3])] * 2


def test_a_block_is_recorded_again_with_the_sizes_of_its_arguments() -> None:
    body = record(lambda a, b: op.MatMul(a, op.Exp(b)), "float64[N,M]", "float64[M,2]")

    def program(x: Any, y: Any) -> Any:
        return tuple(Array(inline(body, [v.value, y.value])[0]) for v in (x, op.Neg(x)))

    block = record(program, "float64[5,3]", "float64[3,2]")
    check_types(block)
    assert [r.type for r in block.results] == [Type("float64", [5, 2])] * 2
    assert len({v for step in block.ops for v in step.outputs}) == len(block.ops)
    x, y = np.random.default_rng(0).standard_normal((5, 3)), np.random.default_rng(1).standard_normal((3, 2))
    for found, sign in zip(run(block, [x, y]), (1, -1), strict=True):
        np.testing.assert_allclose(found, sign * x @ np.exp(y), rtol=1e-12)


def test_sizes_that_data_decide_are_others_at_each_use() -> None:
    body = record(lambda a: op.NonZero(a), "float32[N]")
    block = record(lambda x: tuple(Array(inline(body, [x.value])[0]) for _ in range(2)), "float32[4]")
    first, second = (r.type.shape for r in block.results)
    assert first is not None
    assert second is not None
    assert str(first[1]) != str(second[1])
    assert kinds(block) == ["NonZero", "NonZero"]


def test_a_vector_of_sizes_tells_the_sizes_of_what_is_made_by_it() -> None:
    body = record(lambda s: op.ConstantOfShape(s, value=np.zeros(1)), "int64[2]")
    block = record(lambda x: Array(inline(body, [op.Shape(x).value])[0]), "float64[N,3]")
    check_types(block)
    assert run(block, [np.ones((4, 3))])[0].shape == (4, 3)


def test_a_block_inside_of_another_is_closed_over_what_it_reads() -> None:
    def program(x: Any, flag: Any) -> Any:
        sides = [sub_block(lambda: op.Exp(x)), sub_block(lambda: op.Neg(x))]
        return op.If(flag, then_branch=sides[0], else_branch=sides[1], types=[x.type])[0]

    block = record(program, "float64[2]", "bool")
    assert block.ops[-1].outputs[0].type == Type("float64", [2])
    np.testing.assert_allclose(run(block, [np.array([0.0, 1.0]), np.array(True)])[0], np.exp([0.0, 1.0]))
