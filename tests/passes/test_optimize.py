"""The passes together: the same bits before and after, fewer ops, and time in proportion to the program."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from primsplit.infer import check_types
from primsplit.ir import Block
from primsplit.passes import drop_dead_code, fold_constants, merge_common, optimize, simplify
from tests.random_programs import arguments, bits, blocks, run

PASSES = {"fold": fold_constants, "simplify": simplify, "cse": merge_common, "dead": drop_dead_code, "all": optimize}


@pytest.mark.parametrize("name", PASSES)
@settings(max_examples=40, deadline=None)
@given(block=blocks(), seed=st.integers(0, 99), rows=st.sampled_from([0, 1, 2, 4]))
def test_a_pass_keeps_every_bit_of_a_random_program(name: str, block: Block, seed: int, rows: int) -> None:
    after = PASSES[name](block)
    check_types(after)
    inputs = arguments(seed, rows)
    assert bits(run(after, inputs)) == bits(run(block, inputs))


@settings(max_examples=40, deadline=None)
@given(block=blocks())
def test_optimizing_twice_is_optimizing_once(block: Block) -> None:
    once = optimize(block)
    assert optimize(once) is once
