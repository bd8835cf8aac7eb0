"""Common subexpressions: what is one computation, and what only looks like one."""

from typing import Any

import numpy as np

from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.rewrites import drop_dead_code, merge_common
from tests.recording import kinds, record, sub_block


def test_equal_ops_become_one_and_their_readers_equal() -> None:
    block = record(lambda x: op.Add(op.Exp(op.Sin(x)), op.Exp(op.Sin(x))), "float32[N]")
    assert kinds(merge_common(block)) == ["Sin", "Exp", "Add"]


def test_operands_of_a_sum_or_product_may_change_places_those_of_a_difference_not() -> None:
    block = record(lambda x, y: (x * y, y * x, x + y, y + x, x - y, y - x), "float32[N]", "float32[N]")
    assert kinds(merge_common(block)) == ["Mul", "Add", "Sub", "Sub"]


def test_the_larger_of_two_zeros_depends_on_the_order() -> None:
    block = record(lambda x, y: (op.Max(x, y), op.Max(y, x)), "float32[N]", "float32[N]")
    assert kinds(merge_common(block)) == ["Max", "Max"]


def test_zeros_of_both_signs_stay_apart_and_nans_are_told_by_their_bits() -> None:
    quiet, other = np.float32(np.nan), np.array(0x7FC00001, np.uint32).view(np.float32)
    numbers = (np.float32(0.0), np.float32(-0.0), quiet, other, quiet)
    block = record(lambda x: tuple(op.Add(x, n) for n in numbers), "float32[N]")
    assert kinds(merge_common(block)) == ["Add"] * 4


def test_random_operators_are_never_merged() -> None:
    def program(x: Any) -> Any:
        noise = [op.RandomUniformLike(x, seed=1.0), op.RandomUniformLike(x, seed=1.0)]
        return (*noise, op.Bernoulli(x), op.Bernoulli(x), op.Dropout(x), op.Dropout(x))

    block = record(program, "float32[N]")
    assert merge_common(block) is block


def test_attributes_and_dtypes_tell_ops_apart() -> None:
    block = record(
        lambda x: (op.ReduceSum(x, [0]), op.ReduceSum(x, [0], keepdims=0), op.Elu(x, alpha=0.0), op.Elu(x, alpha=-0.0)),
        "float32[N,1]",
    )
    assert merge_common(block) is block


def test_sizes_that_are_provably_equal_are_read_once() -> None:
    def program(x: Any) -> Any:
        y = op.Exp(x)
        rows = op.Gather(op.Shape(y), [0]), op.Shape(x, end=1)
        return rows[0], rows[1], op.Shape(y)

    after = drop_dead_code(merge_common(record(program, "float32[N,M]")))
    assert kinds(after) == ["Exp", "Shape", "Gather"]
    assert after.results[0] is after.results[1]


def test_sizes_of_two_symbols_stay_apart() -> None:
    block = record(lambda x, y: (op.Shape(x), op.Shape(y)), "float32[N]", "float32[M]")
    assert merge_common(block) is block


def test_a_branch_reads_what_is_computed_around_it_but_not_what_the_other_branch_computes() -> None:
    def program(x: Any) -> Any:
        outside = op.Sin(x)
        first = sub_block(lambda: op.Mul(op.Sin(x), op.Exp(x)), name="then_branch")
        second = sub_block(lambda: op.Add(op.Exp(x), op.Exp(x)), name="else_branch")
        condition = op.Greater(op.ReduceSum(outside, keepdims=0), np.float32(0))
        (y,) = op.If(condition, then_branch=first, else_branch=second, types=[x.type])
        return op.Add(y, op.Exp(x))

    after = merge_common(record(program, "float32[N]"))
    check_types(after)
    branch = after.ops[3]
    assert kinds(branch.attributes["then_branch"]) == ["Exp", "Mul"]
    assert kinds(branch.attributes["else_branch"]) == ["Exp", "Add"]
    assert kinds(after) == ["Sin", "ReduceSum", "Greater", "If", "Exp", "Add"]


def test_data_dependent_sizes_keep_two_selections_apart() -> None:
    block = record(lambda x: (op.NonZero(x), op.NonZero(x)), "float32[N]")
    assert merge_common(block) is block


def test_a_block_used_for_both_branches_is_handled_twice() -> None:
    def program(x: Any, c: Any) -> Any:
        both = sub_block(lambda: op.Add(op.Exp(x), op.Exp(x)))
        (y,) = op.If(c, then_branch=both, else_branch=both, types=[x.type])
        return y

    after = merge_common(record(program, "float32[N]", "bool"))
    check_types(after)
    assert [kinds(b) for b in after.ops[0].blocks()] == [["Exp", "Add"]] * 2
