"""What both sides of an If do alike from some point on is recorded once, after it."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Block
from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.tracing.array import Array
from primsplit.tracing.branching.joining import emit_joined_if
from primsplit.tracing.hooks import HOOKS
from tests.random_programs import run
from tests.recording import kinds, record, sub_block


def test_a_step_whose_result_one_side_alone_reads_stays_in_the_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    """The If that chooses between that result and another value stands before what both sides do alike."""
    monkeypatch.setattr(HOOKS, "join_branches", lambda *_, **__: None)

    def f(x: Any) -> Any:
        b = np.sin(x[1]) if x[0] > 0 else np.cos(x[1])
        c, d = ps.cond(b > 0.2, lambda: (b, x[2]), lambda: (x[2], b * b))
        if x[0] > 0:
            d = np.tanh(x[1])
        return c + 2 * d

    for x in ([0.4, 0.7, 2.0], [-0.4, 0.7, 2.0], [0.4, -0.7, 2.0], [-0.4, 2.7, 2.0]):
        np.testing.assert_allclose(ps.trace(f, ps.spec("float64", [3]))(np.array(x)), f(np.array(x)), rtol=1e-14)


def joined(then: Any, otherwise: Any, *types: str) -> Block:
    """The block of a function of a flag and arrays that chooses between two sides."""

    def program(flag: Any, x: Any, y: Any) -> Any:
        def side(function: Any) -> Block:
            return sub_block(lambda: function(x, y), name="side")

        return tuple(map(Array, emit_joined_if(flag.value, side(then), side(otherwise))))

    return record(program, "bool", *types)


def check_chooses(block: Block, then: Any, otherwise: Any) -> None:
    """The block gives what NumPy's forms of the two sides do."""
    check_types(block)
    x, y = np.array([0.5, -1.0, 2.0]), np.array([1.5, 0.25, -0.5])
    for flag, side in ((True, then), (False, otherwise)):
        wanted = side(x, y)
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        for found, right in zip(run(block, [np.array(flag), x, y]), wanted, strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-14)


def behind(start: Any) -> Any:
    """A side that starts in its own way and goes on in the same one, at one line."""
    return lambda x, y: op.Tanh(op.Mul(start(x), y))


TYPES = ("float64[3]", "float64[3]")


def test_what_both_sides_end_with_comes_after_the_if() -> None:
    block = joined(behind(op.Exp), behind(op.Sin), *TYPES)
    assert kinds(block) == ["If", "Mul", "Tanh"]
    assert [kinds(side) for side in block.ops[0].blocks()] == [["Exp"], ["Sin"]]
    check_chooses(block, lambda x, y: np.tanh(np.exp(x) * y), lambda x, y: np.tanh(np.sin(x) * y))


def test_operands_in_another_order_and_other_attributes_are_no_common_step() -> None:
    def difference(is_turned: bool) -> Any:
        return lambda x, y: op.Sub(*((op.Exp(y), x) if is_turned else (x, op.Exp(y))))

    block = joined(difference(False), difference(True), *TYPES)
    check_chooses(block, lambda x, y: x - np.exp(y), lambda x, y: np.exp(y) - x)
    block = joined(lambda x, y: op.Elu(x, alpha=0.5), lambda x, y: op.Elu(x, alpha=0.25), *TYPES)
    assert kinds(block) == ["If"]


def test_a_constant_that_differs_comes_out_where_a_result_serves_as_well() -> None:
    def scaled(by: float) -> Any:
        return lambda x, y: op.Mul(op.Sin(x), by)

    block = joined(scaled(2.0), scaled(3.0), *TYPES)
    assert kinds(block) == ["Sin", "If", "Mul"] or kinds(block) == ["If", "Sin", "Mul"]
    check_chooses(block, lambda x, y: 2 * np.sin(x), lambda x, y: 3 * np.sin(x))

    def power(by: float) -> Any:
        return lambda x, y: op.Pow(op.Abs(x), by)

    block = joined(power(2.0), power(3.0), *TYPES)
    assert kinds(block)[-1] == "If"
    check_chooses(block, lambda x, y: np.abs(x) ** 2, lambda x, y: np.abs(x) ** 3)


def test_a_value_that_a_side_reads_too_is_returned_by_the_if() -> None:
    def both(start: Any) -> Any:
        def side(x: Any, y: Any) -> Any:
            s = start(x)
            return op.Neg(s), s

        return side

    block = joined(both(op.Exp), both(op.Sin), *TYPES)
    assert kinds(block) == ["If", "Neg"]
    check_chooses(block, lambda x, y: (-np.exp(x), np.exp(x)), lambda x, y: (-np.sin(x), np.sin(x)))


def test_sides_of_other_sizes_stay_in_the_if() -> None:
    def cut(count: int) -> Any:
        return lambda x, y: op.Neg(op.Slice(x, [0], [count], [0]))

    block = joined(cut(2), cut(1), *TYPES)
    assert kinds(block) == ["If"]
    check_chooses(block, lambda x, y: -x[:2], lambda x, y: -x[:1])


def test_equal_sides_leave_no_if() -> None:
    block = joined(behind(op.Exp), behind(op.Exp), *TYPES)
    assert "If" not in kinds(block)
    check_chooses(block, *[lambda x, y: np.tanh(np.exp(x) * y)] * 2)
