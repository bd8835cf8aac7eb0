"""A ConvTranspose of no windows is its bias."""

import numpy as np

import primsplit as ps
from primsplit.ops import op
from primsplit.passes.finish import finish

WEIGHTS = np.arange(12.0, dtype=np.float32).reshape(2, 2, 3)
BIAS = np.array([1.0, 2.0], np.float32)


def test_what_is_made_of_no_windows_is_the_bias() -> None:
    spread = ps.trace(lambda x: op.ConvTranspose(x, WEIGHTS, BIAS, strides=(2,)), ps.spec("float32", ["B", 2, "N"]))
    np.testing.assert_array_equal(spread(np.zeros((1, 2, 0), np.float32)), [[[1.0], [2.0]]])
    assert spread(np.ones((1, 2, 2), np.float32)).shape == (1, 2, 5)


def test_no_if_is_written_where_there_are_windows() -> None:
    spread = ps.trace(lambda x: op.ConvTranspose(x, WEIGHTS), ps.spec("float32", ["B", 2, 4]))
    assert [step.kind for step in finish(spread.block).ops] == ["ConvTranspose"]
