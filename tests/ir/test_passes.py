"""A pass by its name is imported when it runs, and groups of operators say which blocks it is for."""

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Block, Op, Type, Var
from primsplit.ir.dims.size import symbol
from primsplit.ir.passes import (
    array_of,
    dtype_among,
    groups,
    has_column,
    has_converted,
    has_each,
    has_open_size,
    imported,
    may_be_empty,
    one_of,
    ops_from,
    ops_inside_from,
    pass_named,
    reads_vector,
)


def test_a_pass_is_imported_when_it_first_runs() -> None:
    code = (
        "import sys, numpy as np, primsplit as ps; from primsplit.ir.passes import imported;"
        "run = imported('rewrites.log_sums.join_logarithms'); name = 'primsplit.rewrites.log_sums';"
        "block = ps.trace(np.sin, ps.spec('float64', [3])).block;"
        "print(name in sys.modules, run(block) is block, name in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "True"]


@pytest.mark.parametrize(
    ("kinds", "has"), [("Cos", None), ("", ops_from(2)), ("Sin", dtype_among("float32")), ("Sin", may_be_empty)]
)
def test_a_pass_is_not_imported_for_a_block_without_what_it_needs(kinds: str, has: Any) -> None:
    block = ps.trace(np.sin, ps.spec("float64", [3])).block
    assert imported("rewrites.none.there_is_none", kinds, has)(block) is block


def of_type(dtype: str, shape: Sequence[int | str] | None) -> Block:
    """A block that returns its parameter, in the branch of an If."""
    sizes = None if shape is None else [symbol(d) if isinstance(d, str) else d for d in shape]
    x = Var(Type(dtype, sizes))
    inner = Block("", (x,), (), (x,))
    flag = Var(Type(np.bool_, ()))
    return Block("", (flag,), (Op("If", (flag,), (), {"then_branch": inner}),), ())


def test_a_condition_sees_the_arrays_of_sub_blocks_too() -> None:
    assert array_of(24)(of_type("float64", [3]))
    assert not array_of(25)(of_type("float64", [3]))
    assert dtype_among("float16", "float64")(of_type("float64", [3]))
    assert not dtype_among("float16", "float32")(of_type("float64", [3]))


def test_an_array_of_unknown_size_may_be_large_or_empty() -> None:
    for shape in (["N", 3], None):
        assert array_of(10**9)(of_type("float64", shape))
        assert may_be_empty(of_type("float64", shape))
    assert may_be_empty(of_type("float64", [0, 3]))
    assert not may_be_empty(of_type("float64", [2, 3]))


def test_an_array_whose_last_axis_is_1_is_a_column_if_it_has_others() -> None:
    assert has_column(of_type("float64", ["N", 1]))
    assert not any(has_column(of_type("float64", shape)) for shape in ([1], [1, "N"], [1, 3], None))


def test_a_block_of_few_ops_is_left_out() -> None:
    block = ps.trace(lambda x: np.sin(np.cos(x)), np.ones(3)).block
    assert ops_from(2)(block)
    assert not ops_from(3)(block)


def stepped(block: Block) -> Block:
    """A block with one op, whose body is the block."""
    flag = Var(Type(np.bool_, ()))
    return Block("", (flag,), (Op("If", (flag,), (), {"then_branch": block}),), ())


def test_the_ops_of_sub_blocks_count_where_those_inside_are_asked_for() -> None:
    block = stepped(ps.trace(lambda x: np.sin(np.cos(x)), np.ones(3)).block)
    assert ops_inside_from(3)(block)
    assert not ops_inside_from(4)(block)
    assert ops_inside_from(1)(block)
    assert not ops_from(2)(block)


@pytest.mark.parametrize(
    ("left", "right", "holds"),
    [([3, 4], [4], True), ([4], [4, 3], True), ([3, 4], [4, 1], False), ([3, 4], None, False)],
)
def test_a_product_reads_a_vector_if_an_operand_has_one_axis(
    left: Sequence[int], right: Sequence[int] | None, holds: bool
) -> None:
    x, y, z = (Var(Type("float64", shape)) for shape in (left, right, None))
    block = stepped(Block("", (x, y), (Op("MatMul", (x, y), (z,)),), (z,)))
    assert reads_vector("MatMul")(block) is holds
    assert not reads_vector("Gemm")(block)


def test_a_constant_is_converted_where_the_trace_changed_its_dtype() -> None:
    matrix = np.linspace(0.0, 1.0, 16, dtype=np.float32).reshape(4, 4)
    assert has_converted(stepped(ps.trace(lambda x: x @ matrix, np.ones((2, 4))).block))
    assert not has_converted(stepped(ps.trace(lambda x: x @ matrix, np.ones((2, 4), np.float32)).block))


def test_one_of_two_conditions_is_enough() -> None:
    either = one_of("Div|Mod") | has_open_size
    assert either.says == "Div|Mod or size known to the run"
    assert either(ps.trace(lambda x: x / x, ps.spec("float32", [3])).block)
    assert either(ps.trace(np.sin, ps.spec("float32", ["N"])).block)
    assert either(of_type("float32", None))
    assert not either(ps.trace(np.sin, ps.spec("float32", [3])).block)


def test_a_name_that_no_module_has_is_an_error() -> None:
    with pytest.raises(AttributeError, match="join_logarithm"):
        pass_named("rewrites.log_sums.join_logarithm")


@pytest.mark.parametrize(
    ("kinds", "fits"),
    [
        ("", True), ("Log", True), ("Log Sin", False), ("Sin|Log", True), ("Reduce*", True), ("Log*", True),
        ("Scan|Reduce* Log", True), ("Arg*", False), ("log", False),
    ],
)  # fmt: skip
def test_a_block_fits_where_it_has_an_operator_of_each_group(kinds: str, fits: bool) -> None:
    block = ps.trace(lambda x: np.sum(np.log(x)), np.ones(3)).block
    assert has_each(block, groups(kinds)) is fits


def test_the_operators_of_branches_count() -> None:
    block = ps.trace(lambda x: ps.cond(x > 0, np.sin, np.cos, x), np.ones(())).block
    assert has_each(block, groups("If Sin Cos"))
    assert not has_each(block, groups("If Tan"))
