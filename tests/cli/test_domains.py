"""Ranges of a program's integer inputs, as its operators imply them."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.cli.domains import integer_bounds
from primsplit.ops import op

TABLE = np.arange(40.0).reshape(10, 4)
INTS = ps.spec("int64", [3])


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda i: op.Gather(TABLE, i), (0, 9)),
        (lambda i: op.Gather(TABLE, i, axis=-1), (0, 3)),
        (lambda i: op.Gather(TABLE, op.Reshape(op.Cast(i, to=np.int32), [1, 3]), axis=1), (0, 3)),
        (lambda i: op.Add(op.Gather(TABLE, i), op.Gather(TABLE[:4], i)), (0, 3)),
        (lambda i: op.Gather(TABLE, op.Add(i, np.int64(1))), None),
        (lambda i: op.Add(i, i), None),
        (lambda i: op.TopK(TABLE[0], op.Slice(i, [0], [1]))[0], (1, 1)),
    ],
)
def test_integers_have_the_bounds_of_what_they_number(function: Any, wanted: Any) -> None:
    block = ps.trace(function, INTS).block
    assert integer_bounds(block) == [wanted]


def test_floats_have_no_bounds_and_each_input_its_own() -> None:
    block = ps.trace(lambda x, i, j: op.Gather(x, i) + op.Gather(TABLE[:, 0], j), np.ones(5), INTS, INTS).block
    assert integer_bounds(block) == [None, (0, 4), (0, 9)]


def test_the_classes_of_a_loss_are_those_of_its_scores() -> None:
    scores = ps.spec("float64", [3, 7])
    block = ps.trace(lambda s, i: op.SoftmaxCrossEntropyLoss(s, i, outputs=1), scores, INTS).block
    assert integer_bounds(block)[1] == (0, 6)


def test_a_size_that_only_the_run_knows_tells_nothing() -> None:
    assert integer_bounds(ps.trace(lambda x, i: op.Gather(x, i), ps.spec("float64", ["N"]), INTS).block)[1] is None
