"""Pieces of a Concat are read from its operands where they are whole operands."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from primsplit.ops import op
from primsplit.rewrites import simplify
from tests.recording import kinds, record
from tests.rewrites.rewrites.simplified import check_leaves, check_stays

FIRST = np.array(-2)

GOES: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "a row of joined rows": (
        lambda x: op.Gather(op.Concat(op.Unsqueeze(op.Abs(x), [0]), op.Unsqueeze(x, [0]), axis=0), FIRST, axis=0),
        ["Abs"],
    ),
    "a row of joined matrices": (
        lambda x: op.Gather(op.Concat(op.Abs(x), op.Neg(x), axis=0), np.array(5), axis=0), ["Neg", "Gather"]
    ),
    "slices of a join": (
        lambda x: op.Concat(
            op.Slice(op.Concat(x, op.Abs(x), axis=1), [-3], [99], [1]),
            op.Slice(op.Concat(x, op.Abs(x), x, axis=1), [3], [9], [-1]), axis=1,
        ),
        ["Abs", "Abs", "Concat", "Concat"],
    ),
    "a join split again": (
        lambda x: op.Concat(*op.Split(op.Concat(x, op.Abs(x), axis=-1), [3, 3], axis=1, outputs=2)[::-1], axis=0),
        ["Abs", "Concat"],
    ),
    "a join split in fewer parts": (
        lambda x: op.Mul(*op.Split(op.Concat(*op.Split(x, [1, 2, 1], axis=0, outputs=3), axis=0), [3, 1], outputs=2)),
        ["Split", "Concat", "Mul"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GOES)
def test_a_rewrite_leaves_these_ops_and_the_same_bits(name: str) -> None:
    check_leaves(*GOES[name], is_exact="where" not in name)


STAYS: dict[str, tuple[Callable[..., Any], str]] = {
    "an empty slice of a join": (lambda x: op.Slice(op.Concat(x, x, axis=0), [3], [3], [0]), "float32[3,2]"),
    "an element of a join of pieces of unknown size": (
        lambda x: op.Gather(op.Concat(x, x, axis=0), np.array(1), axis=0),
        "float32[N,3]",
    ),
    "a slice of a join that ends inside a piece": (
        lambda x: op.Slice(op.Concat(x, x, axis=0), [0], [4], [0]),
        "float32[3,2]",
    ),
    "a slice of a join along another axis": (
        lambda x: op.Slice(op.Concat(x, x, axis=0), [0], [3], [1]),
        "float32[3,4]",
    ),
    "a join split elsewhere": (lambda x: op.Split(op.Concat(x, x, axis=0), [1, 5], axis=0, outputs=2), "float32[3,2]"),
    "some elements of a join": (lambda x: op.Gather(op.Concat(x, x, axis=0), [1], axis=0), "float32[3,2]"),
}


@pytest.mark.parametrize("name", STAYS)
def test_what_might_change_a_bit_stays(name: str) -> None:
    check_stays(*STAYS[name])


def test_an_element_whose_number_only_the_run_knows_stays() -> None:
    block = record(lambda x, i: op.Gather(op.Concat(x, x, axis=0), i, axis=0), "float32[3,2]", "int64")
    assert kinds(simplify(block)) == ["Concat", "Gather"]
