"""A Pad that takes all of an axis away and pads it again gives the padding."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.targets.finish import finish

AMOUNTS = [(-1, 1), (-2, 3), (2, -2), (-3, 1)]


@pytest.mark.parametrize("amounts", AMOUNTS, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_what_is_taken_away_leaves_the_padding(amounts: tuple[int, int], dtype: str) -> None:
    before, after = amounts
    padded = ps.trace(lambda x: op.Pad(x, [0, before, 0, after], np.asarray(3, dtype)), ps.spec(dtype, ["B", "N"]))
    taken = max(-before, -after)
    for size in (taken, taken + 1, taken + 3):
        x = np.arange(1, 2 * size + 1).reshape(2, size).astype(dtype)
        kept = x[:, max(-before, 0) : size - max(-after, 0)]
        wanted = np.pad(kept, ((0, 0), (max(before, 0), max(after, 0))), constant_values=3)
        np.testing.assert_array_equal(padded(x), wanted)


def test_its_gradient_is_zero() -> None:
    def energy(x: Any) -> Any:
        return np.sum(op.Pad(x, [0, -1, 0, 2]) ** 2)

    value, gradient = ps.split(energy, ps.spec("float32", ["B", "N"])).joint()(np.ones((2, 1), np.float32))
    assert value == 0
    np.testing.assert_array_equal(gradient, np.zeros((2, 1)))


@pytest.mark.parametrize(("amounts", "size"), [((-1, 1), 2), ((1, 1), "N"), ((-1, -1), "N"), ((0, -1), "N")])
def test_no_if_is_written_where_the_axis_is_not_emptied_and_padded(amounts: tuple[int, int], size: Any) -> None:
    program = ps.trace(lambda x: op.Pad(x, [0, amounts[0], 0, amounts[1]]), ps.spec("float32", ["B", size]))
    assert [step.kind for step in finish(program.block).ops] == ["Pad"]
