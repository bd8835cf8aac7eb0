"""Cotangents of known value: ones of the result's shape in their place."""

import numpy as np

from primsplit.ir import Block, Const, Op, Type, Var, check
from primsplit.ir.dims import symbol
from primsplit.rewrites.seed import with_unit_seeds


def pulled(shape: list[object]) -> tuple[Block, Var, Var]:
    """x -> x, dy x and its seed."""
    type_ = Type("float64", shape)  # type: ignore[arg-type]
    x, seed, y, dx = Var(type_), Var(type_), Var(type_), Var(type_)
    ops = (Op("Exp", (x,), (y,)), Op("Mul", (seed, y), (dx,)))
    return Block("f", (x, seed), ops, (y, dx)), seed, y


def test_the_seed_of_a_scalar_is_the_number_1() -> None:
    block, seed, y = pulled([])
    made = with_unit_seeds(block, {seed: 0})
    one, other = made.ops[-1].inputs
    assert isinstance(one, Const)
    assert one.numpy() == 1.0
    assert other is y
    assert made.params == block.params[:1]


def test_ones_of_a_literal_shape_read_nothing() -> None:
    block, seed, _ = pulled([2, 3])
    made = with_unit_seeds(block, {seed: 0})
    check(made)
    filled = made.ops[1]
    assert filled.kind == "ConstantOfShape"
    (sizes,) = filled.inputs
    assert isinstance(sizes, Const)
    assert sizes.numpy().tolist() == [2, 3]
    np.testing.assert_array_equal(filled.attributes["value"], [1.0])


def test_ones_of_a_shape_of_the_run_have_that_of_the_result() -> None:
    block, seed, y = pulled([symbol("N")])
    made = with_unit_seeds(block, {seed: 0})
    check(made)
    assert [o.kind for o in made.ops] == ["Exp", "Shape", "ConstantOfShape", "Mul"]
    assert made.ops[1].inputs == (y,)


def test_a_seed_that_is_a_result_is_ones_too() -> None:
    block, seed, y = pulled([symbol("N")])
    made = with_unit_seeds(Block("f", block.params, block.ops[:1], (y, seed)), {seed: 0})
    check(made)
    assert made.ops[-1].kind == "ConstantOfShape"
    assert made.results == (y, made.ops[-1].outputs[0])


def test_an_op_that_reads_the_seed_alone_reads_ones() -> None:
    block, seed, _ = pulled([2, 3])
    turned = Var(seed.type)
    made = with_unit_seeds(
        Block("f", block.params, (*block.ops, Op("Neg", (seed,), (turned,))), (*block.results, turned)), {seed: 0}
    )
    check(made)
    assert made.ops[-1].kind == "Neg"
    assert made.ops[-1].inputs == made.ops[1].outputs
