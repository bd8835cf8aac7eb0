"""The passes together: the same bits before and after, fewer ops, and time in proportion to the program."""

import functools
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from primsplit.ir import Block
from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.rewrites import drop_dead_code, fold_constants, merge_common, optimize, simplify
from tests.random_programs import arguments, bits, blocks, run
from tests.recording import record

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


@functools.cache
def _chain(length: int) -> Block:
    def f(x: Any) -> Any:
        for _ in range(length):
            x = op.Add(op.Mul(op.Sin(x), np.float32(0.5)), op.Neg(x))
        return x

    return record(f, "float32[N,3]")


@pytest.mark.parametrize("name", PASSES)
def test_time_is_in_proportion_to_the_number_of_ops(name: str) -> None:
    def seconds(length: int) -> float:
        block = _chain(length)
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            PASSES[name](block)
            best = min(best, time.process_time() - start)
        return best

    # Ten times the ops; quadratic time would be a hundred times as long.
    assert seconds(1000) < 60 * max(seconds(100), 0.002)
