"""Reversals of sequences of length 0: their lengths are raised to 1, which reverses nothing either."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.targets.faults.reversals import reverse_at_least_one
from tests.recording import kinds, record


def reversed_at(lengths: Any, x: Any) -> Any:
    """The first axis is time, the second the batch."""
    return op.ReverseSequence(x, lengths, time_axis=0, batch_axis=1)


def test_lengths_that_may_be_0_are_raised_before_the_operator() -> None:
    found = reverse_at_least_one(record(reversed_at, "int64[2]", "float32[4,2]"))
    *before, last = kinds(found)
    assert before
    assert last == "ReverseSequence"
    assert found.ops[-1].inputs[1] is not found.params[0]


def test_known_lengths_above_0_stay() -> None:
    block = record(lambda x: reversed_at(np.array([1, 3]), x), "float32[4,2]")
    assert reverse_at_least_one(block) is block


@pytest.mark.parametrize("lengths", [[0, 0], [0, 3], [4, 1]])
def test_a_sequence_is_reversed_up_to_its_length_and_one_of_none_stays(lengths: list[int]) -> None:
    x = np.arange(8.0).reshape(4, 2)
    wanted = x.copy()
    for k, n in enumerate(lengths):
        wanted[:n, k] = x[:n, k][::-1]
    found = ps.trace(reversed_at, ps.spec("int64", [2]), ps.spec("float64", [4, 2]))(np.array(lengths), x)
    np.testing.assert_array_equal(found, wanted)
