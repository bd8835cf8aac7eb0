"""Constants turned into parameters."""

import numpy as np
import pytest

from primsplit.ir import Block, Const, Op, Type, Var, free
from primsplit.ir.errors import SpecError
from primsplit.rewrites.promote import promote

F64 = Type("float64", [2])
X, Y, Z = Var(F64, "x"), Var(F64), Var(F64)


def test_constants_become_further_parameters_found_by_identity() -> None:
    one, same, other = Const(np.ones(2), "w"), Const(np.ones(2)), Const(np.zeros(2))
    block = Block("f", (X,), (Op("Add", (X, one), (Y,)), Op("Add", (Y, same), (Z,))), (Z, one))
    made = promote(block, [other, one])
    first, second = made.params[1:]
    assert (second.hint, second.type) == ("w", F64)
    assert made.ops[0].inputs == (X, second)
    assert made.ops[1].inputs == (Y, same)
    assert made.results == (Z, second)
    assert first not in {v for o in made.ops for v in o.inputs}


def test_arrays_of_ps_param_are_found_by_name() -> None:
    first, again = (Const(np.ones(2), "w", role="param") for _ in range(2))
    block = Block("f", (X,), (Op("Add", (X, first), (Y,)), Op("Add", (Y, again), (Z,))), (Z,))
    made = promote(block, [first])
    assert made.ops[0].inputs[1] is made.ops[1].inputs[1] is made.params[1]


def test_a_constant_in_a_branch_is_captured_and_in_a_call_an_argument() -> None:
    weight = Const(np.ones(2), "w")
    p, q = Var(F64), Var(F64)
    body = Block("g", (p,), (Op("Add", (p, weight), (q,)),), (q,))
    branch = Block("then", (), (Op("Add", (X, weight), (q,)),), (q,))
    called = promote(Block("f", (X,), (Op("call::g", (X,), (Y,), {"body": body}),), (Y,)), [weight])
    (call,) = called.ops
    assert call.inputs == called.params
    assert not free(call.attributes["body"])
    assert len(call.attributes["body"].params) == 2
    taken = promote(Block("f", (X,), (Op("If", (X,), (Y,), {"then_branch": branch}),), (Y,)), [weight])
    assert set(free(taken.ops[0].attributes["then_branch"])) == set(taken.params)


def test_a_call_with_a_rule_of_its_own_is_refused() -> None:
    weight = Const(np.ones(2), "w")
    body = Block("g", (), (), (weight,))
    with pytest.raises(SpecError, match="g has a rule of its own and reads the parameter w"):
        promote(Block("f", (X,), (Op("call::g", (), (Y,), {"body": body, "rule": object()}),), (Y,)), [weight])
