"""Operators without a rule of their own, run for one example after the other."""

import pytest

import primsplit as ps
from primsplit.ir import walk
from primsplit.ops import op
from tests.rules.row import Row
from tests.transforms.batching.agreement import check_batch
from tests.transforms.batching.rows import IMAGES, ZERO, rows_of


@pytest.mark.parametrize("row", rows_of("each"))
def test_a_batch_of_any_size_is_the_stack_of_its_examples(row: Row) -> None:
    check_batch(row)


def test_the_batch_is_a_loop_of_one_op_an_example() -> None:
    program = ps.trace(ps.vmap(lambda x: op.MatMulInteger(x, IMAGES[0, 0], ZERO, ZERO)), ps.spec("uint8", ["B", 2, 4]))
    (loop,) = (o for o in walk(program.block) if o.kind == "Loop")
    assert [o.kind for o in loop.attributes["body"].ops] == ["Gather", "MatMulInteger"]
