"""No array is made that is much larger than those of the file."""

import tracemalloc

import numpy as np
import pytest

from primsplit.audit.intervals.ranges import of_array
from primsplit.audit.intervals.sizes import MOST, within_limits
from primsplit.audit.intervals.walk import Walk
from primsplit.ir import Block, Const, Op, Type, Value, Var

ROW = Const(np.arange(3, dtype=np.float32))
LARGE = {
    "Expand": ([ROW, Const(np.array([2**33, 3]))], (0, 2)),
    "Tile": ([ROW, Const(np.array([2**33]))], (0, 2)),
    "Range": ([Const(np.array(k)) for k in (0, 2**40, 1)], (0, 2**40)),
    "Add": ([Const(np.linspace(0, 1, 2**13).reshape(s)) for s in ((-1, 1), (1, -1))], (0, 2)),
}


@pytest.mark.parametrize("kind", LARGE)
def test_a_result_that_is_much_larger_than_its_inputs_has_one_range(kind: str) -> None:
    inputs, (low, high) = LARGE[kind]
    assert len(inputs) > 1
    y = Var(Type(inputs[0].type.dtype, None))
    values: list[Value | None] = [*inputs]
    walk = Walk()
    tracemalloc.start()
    (found,) = walk.block(Block("f", (), (Op(kind, tuple(values), (y,)),), (y,)), [])
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 2**24
    assert found.low.ndim == 0
    assert found.low <= low
    assert found.high >= high - 1


def test_a_result_within_the_limit_keeps_a_range_for_each_element() -> None:
    given = [of_array(np.arange(3.0)), of_array(np.array([MOST // 8, 3]))]
    op = Op("Expand", (None, None), (Var(Type("float64", None)),))
    assert within_limits(op, given) == given
