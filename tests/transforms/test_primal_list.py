"""A list of ops in the place of a block's: ops as they are, and the primals of splits with their own names."""

import numpy as np

from primsplit.ir import Block, Op, Type, Var
from primsplit.ir.dims import symbol
from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.transforms.primal_list import PrimalList
from tests.random_programs import run
from tests.recording import kinds, record, without_places

X, Y = np.array([0.5, 1.0, 2.0]), np.array([3.0, -1.0, 0.25])


def replaced(block: Block, kind: str, primal: Block) -> Block:
    """The block with the ops of one kind replaced by a primal."""
    made = PrimalList()
    for step in block.ops:
        if step.kind == kind:
            made.inline(step, primal)
        else:
            made.copy(step)
    found = Block(block.name, block.params, tuple(made.ops), tuple(map(made.value, block.results)))
    check_types(found)
    return found


def test_an_op_is_replaced_by_ops_that_compute_it_and_its_readers_stay() -> None:
    block = record(lambda x, y: op.Neg(op.Sub(op.Exp(x), y)), "float64[3]", "float64[3]")
    difference = record(lambda a, b: op.Add(a, op.Neg(b)), "float64[3]", "float64[3]")
    found = replaced(block, "Sub", difference)
    assert kinds(found) == ["Exp", "Neg", "Add", "Neg"]
    assert found.results == block.results
    np.testing.assert_allclose(run(found, [X, Y])[0], Y - np.exp(X))


def test_two_ops_are_replaced_by_one_primal_without_mixing_their_values() -> None:
    block = record(lambda x, y: op.Sub(op.Sub(x, y), op.Exp(x)), "float64[3]", "float64[3]")
    difference = record(lambda a, b: op.Add(a, op.Neg(b)), "float64[3]", "float64[3]")
    found = replaced(block, "Sub", difference)
    outputs = [v for step in found.ops for v in step.outputs]
    assert len(set(outputs)) == len(outputs) == 5
    np.testing.assert_allclose(run(found, [X, Y])[0], X - Y - np.exp(X))


def test_an_output_that_the_primal_hands_on_is_read_as_its_input() -> None:
    block = record(lambda x, y: (op.Mul(op.Identity(x), y), op.Identity(y)), "float64[3]", "float64[3]")
    found = replaced(block, "Identity", record(lambda a: a, "float64[3]"))
    assert kinds(found) == ["Mul"]
    assert found.ops[0].inputs == block.params
    assert found.results[1] is block.params[1]


def test_further_results_of_a_primal_are_found_by_their_names_there() -> None:
    block = record(lambda x: op.Tanh(x), "float64[3]")
    primal = record(lambda a: (op.Tanh(a), op.Exp(a)), "float64[3]")
    made = PrimalList()
    names, _ = made.inline(block.ops[0], primal)
    assert names[primal.results[0]] is block.results[0]
    assert names[primal.results[1]] is not primal.results[1]
    whole = Block("f", block.params, tuple(made.ops), (names[primal.results[1]],))
    np.testing.assert_allclose(run(whole, [X])[0], np.exp(X))


def test_ops_have_the_line_of_the_op_that_they_replace() -> None:
    block = record(lambda x: op.Tanh(x), "float64[3]")
    made = PrimalList()
    made.inline(block.ops[0], without_places(record(lambda a: op.Tanh(op.Identity(a)), "float64[3]")))
    assert [step.place for step in made.ops] == [block.ops[0].place] * 2


def test_a_size_that_a_primal_counts_again_is_that_of_the_op() -> None:
    block = record(lambda x: op.Exp(op.Cast(op.NonZero(x), to=np.float64)), "float32[3]")
    found = replaced(block, "NonZero", record(lambda a: op.NonZero(op.Identity(a)), "float32[3]"))
    assert found.ops[1].outputs[0].type == block.ops[0].outputs[0].type
    np.testing.assert_allclose(run(found, [np.array([0.0, 5.0, 1.0], np.float32)])[0], np.exp([[1.0, 2.0]]))


def test_a_size_of_the_operands_stays_where_the_result_was_declared_with_another() -> None:
    x, declared = Var(Type("float64", [symbol("N")])), Var(Type("float64", [3]))
    primal = record(lambda a: op.Neg(op.Neg(op.Neg(a))), "float64[N]")
    made = PrimalList()
    made.inline(Op("Neg", (x,), (declared,)), primal)
    assert [v.type.shape for step in made.ops for v in step.outputs][:2] == [(symbol("N"),)] * 2
