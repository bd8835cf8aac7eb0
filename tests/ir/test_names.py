"""Names of values in listings and files: unique, the user's own where there are any."""

import numpy as np
import pytest

from primsplit.ir import Block, Const, Op, Type, Var
from primsplit.ir.errors import SpecError
from primsplit.ir.names import NamedBlock, Names, kept_apart, name_captures, variables
from primsplit.ir.runtimes import OLDEST

F32 = Type("float32", [])


def var(hint: str = "") -> Var:
    """A scalar."""
    return Var(F32, hint)


def test_a_var_keeps_its_name_and_another_of_its_hint_gets_a_number() -> None:
    names, first = Names(), var("h")
    assert names.give(first) == "h"
    assert names.give(var("h")) == "h_1"
    assert names.give(var("h")) == "h_2"
    assert names.give(first) == "h"


def test_a_number_that_is_a_users_name_is_passed_over() -> None:
    names = Names(["h", "h_1"])
    assert names.give(var("h")) == "h_2"


def test_what_has_no_name_gets_the_letters_that_no_hint_uses() -> None:
    names = Names(["b"])
    names.learn(Block("f", (var("c"),), (), ()))
    assert [names.give(var()) for _ in range(3)] == ["a", "d", "e"]
    assert [names.give(var()) for _ in range(22)][-1] == "aa"


def test_a_cotangent_of_one_of_two_values_gets_a_letter() -> None:
    h, other, cotangent, clear = var("h"), var("h"), var("d_h"), var("d_x")
    names = Names()
    names.learn(Block("f", (h, other, var("x")), (Op("Neg", (h,), (cotangent,)), Op("Neg", (h,), (clear,))), ()))
    assert names.hint(cotangent) == ""
    assert names.give(cotangent) == "a"
    assert names.give(clear) == "d_x"


def test_repeated_names_are_numbered_and_none_takes_a_wanted_one() -> None:
    assert kept_apart(["x", "x", "x_1", "y", "x"]) == ["x", "x_2", "x_1", "y", "x_3"]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("Exp", "exp"),
        ("ReduceMax", "max"),
        ("call::ndtr", "ndtr"),
        ("com.x::Own", "own"),
        ("Not", "not_"),
        ("If", "if_"),
    ],
)
def test_a_capture_without_a_name_is_named_by_its_operator(kind: str, name: str) -> None:
    x, y, z = var(), var(), var()
    primal = Block("f", (x,), (Op(kind, (x,), (y,)), Op("Neg", (y,), (z,))), (z,))
    assert name_captures(primal, [x, y, z], ["in"], ["out"]) == {x: "in", z: "out", y: name}
    assert name_captures(primal, [y], ["in"], ["out"], taken=[name])[y] == f"{name}_1"


def test_variables_are_those_of_sub_blocks_too_before_the_outputs_of_their_op() -> None:
    x, inner, made, y = (var() for _ in range(4))
    body = Block("g", (inner,), (Op("Neg", (inner,), (made,)),), (made,))
    block = Block("f", (x,), (Op("If", (x,), (y,), {"then_branch": body}),), (y,))
    assert list(variables(block)) == [x, inner, made, y]


def test_a_file_keeps_the_numbers_of_weights_only_where_they_are_asked_for() -> None:
    named = NamedBlock(Block("f", (), (), ()), (), (), defaults={"w": Const(np.zeros(2))})
    assert named.on("cuda", "defaults").defaults == named.defaults
    assert named.on("cuda").defaults == {}
    assert (named.on("cuda").provider, named.on("cpu").runtime) == ("cuda", OLDEST)
    assert named.on("cpu", target="onnxruntime>=1.22").runtime != OLDEST
    with pytest.raises(SpecError, match="provider='tpu'"):
        named.on("tpu")  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="weights='frozen'"):
        named.on("cpu", "frozen")  # type: ignore[arg-type]


def test_what_an_operator_makes_in_a_file_is_named_by_it_and_by_the_named_value_that_it_comes_from() -> None:
    x, hidden, weight = var("params.x"), var("hidden"), Const(np.zeros(()), "layer.w", role="weight")
    logs, product, scaled, sine = (var() for _ in range(4))
    ops = [
        Op("Log", (x,), (logs,)),
        Op("Mul", (weight, logs), (product,)),
        Op("Tanh", (product,), (hidden,)),
        Op("ReduceSum", (hidden,), (scaled,)),
        Op("Sin", (Const(np.zeros(())),), (sine,)),
    ]
    block = Block("f", (x,), tuple(ops), (scaled,))
    names = Names()
    names.learn(block)
    names.learn_roots(block)
    made = [names.give_made(op.outputs[0], op.kind) for op in ops]
    assert made == ["log_x", "mul_w", "hidden", "sum_hidden", "sin"]


def test_the_root_of_a_branch_is_that_of_what_it_gives() -> None:
    test, x, made, chosen = Var(Type("bool", [])), var("x"), var(), var()
    body = Block("then", (), (Op("Exp", (x,), (made,)),), (made,))
    branch = Op("If", (test,), (chosen,), {"then_branch": body, "else_branch": body})
    block = Block("f", (test, x), (branch,), (chosen,))
    names = Names()
    names.learn_roots(block)
    assert names.give_made(chosen, "If") == "if_x"
