"""Which values vary smoothly with some inputs, and which of those the results need."""

import numpy as np

from primsplit.ir import Const, Op, Type, Var
from primsplit.ops import op
from primsplit.rules.activity import active_vars, constants_behind, dead_ends, needed_vars, stops
from tests.recording import record

BLOCK = record(
    lambda x, y: (op.Mul(op.Exp(x), y), op.Cast(op.Floor(x), to=np.int64), op.Shape(x), op.Neg(y)),
    "float32[N]",
    "float32[N]",
)
X, Y = BLOCK.params
BY_KIND = {o.kind: o for o in BLOCK.ops}


def result(kind: str) -> Var:
    """The output of the op of this kind."""
    return BY_KIND[kind].outputs[0]


def test_a_value_is_active_where_a_gradient_flows_to_it() -> None:
    assert active_vars(BLOCK.ops, [X]) == {X, result("Exp"), result("Mul")}
    assert active_vars(BLOCK.ops, [Y]) == {Y, result("Mul"), result("Neg")}
    number = Var(Type("int64", []))
    assert active_vars([Op("Neg", (number,), (Var(Type("int64", [])),))], [number]) == set()


def test_gradients_stop_at_rounding_and_at_what_the_user_stops() -> None:
    assert stops(BY_KIND["Floor"])
    assert not stops(BY_KIND["Exp"])
    assert stops(Op("call::own", (X,), (Y,), {"stops": True}))
    assert not stops(Op("call::own", (X,), (Y,), {"stops": False}))


def test_a_dead_end_reads_more_than_the_shape_and_passes_nothing_on() -> None:
    assert [o.kind for o in dead_ends(BLOCK.ops, X)] == ["Floor"]
    assert dead_ends(BLOCK.ops, Y) == []


def test_the_constants_behind_values_are_those_that_they_vary_with() -> None:
    block = record(lambda x: op.Add(op.Mul(x, np.float32(3.0)), op.Floor(np.float32(1.5) * x)), "float32[3]")
    found = constants_behind(block.ops, [r for r in block.results if not isinstance(r, Const)])
    assert [c.numpy().tolist() for c in found] == [3.0]


def test_values_that_no_result_reads_are_not_needed() -> None:
    active = active_vars(BLOCK.ops, [X, Y])
    assert needed_vars(BLOCK.ops, active, [result("Mul")]) == {X, Y, result("Exp"), result("Mul")}
    assert needed_vars(BLOCK.ops, active, [result("Neg")]) == {Y, result("Neg")}
    assert needed_vars(BLOCK.ops, active, [result("Shape")]) == set()
