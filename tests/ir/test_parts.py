"""A Split: kinds of captures, and the forward, backward and joint blocks that share its Vars."""

import numpy as np

from primsplit.ir import Block, Op, Type, Var, check
from primsplit.ir.parts import Split

F64 = Type("float64", [3])
X, Y, SHAPE, INNER, RESULT = Var(F64, "x"), Var(F64, "y"), Var(Type(np.int64, [1])), Var(F64), Var(F64)
COTANGENT, FIRST, SECOND, DX = Var(F64), Var(F64), Var(F64), Var(F64)
PRIMAL = Block(
    "f",
    (X, Y),
    (Op("Shape", (X,), (SHAPE,)), Op("Exp", (X,), (INNER,)), Op("Mul", (INNER, Y), (RESULT,))),
    (RESULT,),
)
PULLBACK = Block(
    "f.pullback",
    (SHAPE, INNER, Y, RESULT, COTANGENT),
    (
        Op("Mul", (COTANGENT, RESULT), (FIRST,)),
        Op("Mul", (FIRST, INNER), (SECOND,)),
        Op("Reshape", (SECOND, SHAPE), (DX,)),
    ),
    (DX,),
)
SPLIT = Split(PRIMAL, PULLBACK, (SHAPE, INNER, Y, RESULT), wrt=(0,), targets=(0,), of=(0,))


def test_a_capture_is_an_input_an_output_a_shape_or_between() -> None:
    assert SPLIT.kinds() == {SHAPE: "shape", INNER: "intermediate", Y: "input", RESULT: "output"}
    assert SPLIT.kind(Y) == "input"
    assert SPLIT.stored() == (SHAPE, INNER)
    assert Split(PRIMAL, PULLBACK, (), (0,), (0,), (0,)).kinds() == {}


def test_a_parameter_that_is_a_result_is_an_input() -> None:
    both = Split(Block("f", (X,), (), (X,)), PULLBACK, (X,), (0,), (0,), (0,))
    assert both.kinds() == {X: "input"}
    assert both.stored() == ()


def test_forward_returns_what_is_stored_and_backward_takes_the_captures() -> None:
    forward = SPLIT.forward
    assert (forward.name, forward.params, forward.ops) == ("f", (X, Y), PRIMAL.ops)
    assert forward.results == (RESULT, SHAPE, INNER)
    assert SPLIT.backward is PULLBACK
    assert SPLIT.cotangents == (COTANGENT,)


def test_joint_is_one_program_of_both() -> None:
    joint = SPLIT.joint()
    check(joint)
    assert joint.params == (X, Y, COTANGENT)
    assert joint.results == (RESULT, DX)
    assert joint.ops == (*PRIMAL.ops, *PULLBACK.ops)
