"""Carries that only sum a term of each step are found; a carry that a step uses otherwise is none."""

from collections.abc import Callable
from typing import Any

import pytest

from primsplit.ir import Block
from primsplit.ops import op
from primsplit.rewrites.loops.step_sums import Sum, summing_ops, sums_of
from tests.recording import record

Step = Callable[..., Any]


def sums(function: Step, *types: str, known: frozenset[str] = frozenset()) -> tuple[Block, list[Sum]]:
    """The sums of a body with one carry."""
    block = record(function, *types)
    return block, sums_of(block, 1, known)


@pytest.mark.parametrize(
    "step", [lambda c, x: op.Add(c, op.Exp(x)), lambda c, x: op.Add(op.Exp(x), c)], ids=["carry first", "term first"]
)
def test_a_carry_plus_a_term_is_a_sum_of_the_term(step: Step) -> None:
    block, (found,) = sums(lambda c, x: step(c, x), "float32[3]", "float32[3]")
    assert found.carry == 0
    assert found.sources == (block.ops[0].outputs[0],)
    assert [o.kind for o in summing_ops(block, [found])] == ["Add"]


def test_two_terms_that_are_added_one_after_the_other_are_both_summed() -> None:
    block, (found,) = sums(lambda c, x: op.Add(op.Add(c, x), op.Neg(x)), "float32[3]", "float32[3]")
    negated = next(o.outputs[0] for o in block.ops if o.kind == "Neg")
    assert found.sources == (block.params[1], negated)


NONE: dict[str, tuple[Step, str]] = {
    "a difference": (lambda c, x: op.Sub(c, x), "float32[3]"),
    "a product": (lambda c, x: op.Mul(c, x), "float32[3]"),
    "a carry that another op reads": (lambda c, x: op.Add(c, op.Mul(c, x)), "float32[3]"),
    "a carry that is stacked too": (lambda c, x: (op.Add(c, x), c), "float32[3]"),
    "a sum that is stacked too": (lambda c, x: (y := op.Add(c, x), y), "float32[3]"),
    "a term that is broadcast": (lambda c, x: op.Add(c, x), "float32[1]"),
    "a term that is added twice": (lambda c, x: op.Add(op.Add(c, x), x), "float32[3]"),
    "a carry that is doubled": (lambda c, x: op.Add(c, c), "float32[3]"),
}


@pytest.mark.parametrize("name", NONE)
def test_other_carries_are_no_sums(name: str) -> None:
    step, term = NONE[name]
    assert sums(lambda c, x: step(c, x), "float32[3]", term)[1] == []


def test_a_term_from_outside_of_the_step_is_no_term_of_it() -> None:
    block = record(lambda c, x, w: op.Add(c, w), "float32[3]", "float32[3]", "float32[3]")
    inside = Block(block.name, block.params[:2], block.ops, block.results)
    assert sums_of(inside, 1, frozenset()) == []


def product(c: Any, x: Any, y: Any) -> Any:
    return op.Add(c, op.MatMul(op.Transpose(x, perm=[1, 0]), y))


def test_a_product_over_the_rows_is_summed_by_its_factors() -> None:
    block, (found,) = sums(product, "float32[3,4]", "float32[2,3]", "float32[2,4]")
    assert found.sources == block.params[1:]
    assert sorted(o.kind for o in summing_ops(block, [found])) == ["Add", "MatMul", "Transpose"]


def test_a_product_whose_factor_is_read_elsewhere_keeps_that() -> None:
    block, (found,) = sums(
        lambda c, x, y: (op.Add(c, op.MatMul(t := op.Transpose(x, perm=[1, 0]), y)), t),
        *("float32[3,4]", "float32[2,3]", "float32[2,4]"),
    )
    assert found.terms[0].factors == block.params[1:]
    assert sorted(o.kind for o in summing_ops(block, [found])) == ["Add", "MatMul"]


WHOLE: dict[str, tuple[Step, tuple[str, str]]] = {
    "not transposed": (lambda c, x, y: op.Add(c, op.MatMul(x, y)), ("float32[3,2]", "float32[2,4]")),
    "three axes": (
        lambda c, x, y: op.Add(c, op.ReduceSum(op.MatMul(op.Transpose(x, perm=[0, 2, 1]), y), [0], keepdims=0)),
        ("float32[5,2,3]", "float32[5,2,4]"),
    ),
    "the product is stacked too": (
        lambda c, x, y: (op.Add(c, m := op.MatMul(op.Transpose(x, perm=[1, 0]), y)), m),
        ("float32[2,3]", "float32[2,4]"),
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_other_products_are_summed_whole(name: str) -> None:
    step, types = WHOLE[name]
    _, (found,) = sums(lambda c, x, y: step(c, x, y), "float32[3,4]", *types)
    assert [t.factors for t in found.terms] == [None]


def test_factors_have_sizes_that_are_known_outside_of_the_step() -> None:
    types = ("float32[3,4]", "float32[M,3]", "float32[M,4]")
    assert sums(product, *types)[1][0].terms[0].factors is None
    assert sums(product, *types, known=frozenset("M"))[1][0].terms[0].factors is not None
