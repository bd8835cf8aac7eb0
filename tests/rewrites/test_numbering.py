"""Equal values share a number and others do not, also the carries and the elements of loops."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Block
from primsplit.ops import op
from primsplit.rewrites.inline import inline_calls
from primsplit.rewrites.numbering import Numbering
from tests.recording import record

ROWS = ps.spec("float64", ["N", 2])


def numbers(block: Block) -> list[int]:
    """The numbers of a block's results."""
    numbering = Numbering()
    numbering.ops(block.ops)
    return [numbering.value(v) for v in block.results]


def test_equal_computations_share_a_number_whatever_the_order_of_a_sum() -> None:
    block = record(lambda x, y: (op.Add(x, op.Exp(y)), op.Add(op.Exp(y), x)), "float32[3]", "float32[3]")
    first, second = numbers(block)
    assert first == second


@pytest.mark.parametrize(
    "both",
    [
        lambda x, y: (op.Exp(x), op.Exp(y)),
        lambda x, y: (op.Sub(x, y), op.Sub(y, x)),
        lambda x, y: (op.Elu(x, alpha=0.5), op.Elu(x, alpha=0.25)),
        lambda x, y: (op.Add(x, np.float32(0.0)), op.Add(x, np.float32(-0.0))),
        lambda x, y: (op.RandomNormalLike(x, seed=1.0), op.RandomNormalLike(x, seed=1.0)),
        lambda x, y: tuple(op.Split(op.Concat(x, y, axis=0), [3, 3], axis=0, outputs=2)),
    ],
)
def test_other_inputs_attributes_outputs_and_draws_have_other_numbers(both: Any) -> None:
    first, second = numbers(record(lambda x, y: both(x, y), "float32[3]", "float32[3]"))
    assert first != second


def loops(*functions: Any) -> list[int]:
    """The numbers of scans of these steps over the same rows, one after the other."""

    def program(rows: Any) -> Any:
        return tuple(ps.scan(step, np.zeros(2), rows)[0] for step in functions)

    return numbers(inline_calls(ps.trace(program, ROWS).block))


def test_carries_that_start_and_step_alike_share_a_number() -> None:
    first, second = loops(lambda c, x: (np.tanh(c + x), None), lambda c, x: (np.tanh(x + c), c * 2.0))
    assert first == second


def test_carries_that_step_otherwise_do_not() -> None:
    first, second = loops(lambda c, x: (np.tanh(c + x), None), lambda c, x: (np.tanh(c - x), None))
    assert first != second


def products(start: Any, rows: Any) -> Any:
    return ps.scan(lambda c, x: (c * x, None), start, rows)[0]


@pytest.mark.parametrize(
    ("start", "steps", "are_equal"), [(1.0, 4, True), (2.0, 4, False), (1.0, 3, False)], ids=["same", "start", "steps"]
)
def test_carries_are_told_by_their_start_and_the_number_of_their_steps(
    start: float, steps: int, are_equal: bool
) -> None:
    def program(rows: Any) -> Any:
        return products(np.ones(2), rows[:4]), products(np.full(2, start), rows[:steps])

    first, second = numbers(inline_calls(ps.trace(program, ROWS).block))
    assert (first == second) == are_equal


def test_a_loop_until_a_condition_is_told_by_its_condition() -> None:
    def program(x: Any) -> Any:
        return tuple(
            ps.while_loop(lambda c, least=least: np.sum(c) > least, lambda c: c * 0.5, x) for least in (0.5, 0.5, 0.25)
        )

    first, second, third = numbers(inline_calls(ps.trace(program, np.ones(2)).block))
    assert first == second != third


def test_loops_run_together_if_they_have_a_carry_in_common() -> None:
    def program(rows: Any) -> Any:
        first = ps.scan(lambda c, x: ((c[0] * x, c[1] + x), None), (np.ones(2), np.zeros(2)), rows)[0]
        return (*first, products(np.ones(2), rows), products(np.full(2, 2.0), rows))

    one, other, unlike = Numbering().ops(inline_calls(ps.trace(program, ROWS).block).ops)
    assert len(one.carries) == 2
    assert one.runs(other)
    assert not one.runs(unlike)
